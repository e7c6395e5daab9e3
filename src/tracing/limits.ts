/** The bounds on traces: on what callers send, on what one span holds, and on what waits for the collector. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const traceLimits = {
  /** The longest `traceparent` and `tracestate` that are read. */
  stateChars: 512,
  /** The longest `baggage` that is passed on. */
  baggageChars: 8192,
  /** Attributes of a span, and of each of its events. */
  attributes: 64,
  /** Longer texts in a span are cut. */
  textChars: 1024,
  /** Events of a span. */
  events: 128,
  /** Links of a span. */
  links: 8,
  /** Spans that wait to be exported; what comes on top is dropped. */
  waitingSpans: 2048,
  /** What they take together. */
  waitingBytes: 8 * MiB,
  /** Spans of one export. */
  batchSpans: 512,
  /** What the spans of one export take, well below the 4 MiB that collectors accept. */
  batchBytes: MiB,
  /** A span waits at most this long before it is exported. */
  batchDelayMs: 5_000,
  /** How long one export may take. */
  exportMs: 10_000,
  /** Exports of the same spans before they are dropped. */
  exportTries: 5,
  /** How long a stopping agent waits for the last exports. */
  lastExportMs: 3_000,
  /** Pods whose start is traced; of more, the one traced for longest is given up. */
  tracedPods: 1024,
  /** Spans of one pod's start. */
  podSpans: 512,
  /** A pod that is not ready after this long has its trace closed. */
  podStartMs: 30 * 60_000,
} as const;
