/** Every bound that a client of the HTTP servers meets. `docs/limits.md` shows them with what happens beyond. */

const KiB = 1024;
const MiB = 1024 * KiB;
const secondMs = 1000;

export interface ListenLimits {
  /** A connection that waits for its next request is closed after this. */
  readonly idleMs: number;
  /** From the connection's first byte, or its opening, to the end of the request's headers. */
  readonly headersMs: number;
  /** From the first byte to the end of the request's body. */
  readonly requestMs: number;
  /** Without a byte in either direction, so also for a client that does not read its answer. */
  readonly inactivityMs: number;
  /** Without the client taking a byte that waits for it, while an answer is streamed. */
  readonly stalledMs: number;
  readonly headersBytes: number;
  /** Headers of a request, which cost more than their bytes. */
  readonly headers: number;
  /** Of a request's path, as it was sent. */
  readonly pathChars: number;
  /** Of requests that are not whole yet, on all connections together. */
  readonly unreadBytes: number;
  /** Of a request's body, whether or not anybody reads it. */
  readonly bodyBytes: number;
  /** Requests of one connection that wait for their answers. Clients of this API send one after the other. */
  readonly pipelined: number;
  readonly connections: number;
  /** Connections of one address on which no request has been let in. */
  readonly strangersPerAddress: number;
  /** Answers without a foreseeable end: logs that are followed, exec, attach, port-forward. The others keep their room. */
  readonly sessions: number;
  /** What requests in flight get to end when the listener closes. */
  readonly closeGraceMs: number;
}

export const defaultLimits: ListenLimits = {
  idleMs: 90 * secondMs,
  headersMs: 10 * secondMs,
  requestMs: 30 * secondMs,
  // Longer than the runtime is given to answer a list.
  inactivityMs: 300 * secondMs,
  // People leave a log in a pager for long.
  stalledMs: 4 * 3600 * secondMs,
  headersBytes: MiB,
  headers: 1000,
  pathChars: 16 * KiB,
  unreadBytes: 64 * MiB,
  bodyBytes: 64 * KiB,
  pipelined: 8,
  connections: 256,
  strangersPerAddress: 128,
  sessions: 192,
  closeGraceMs: 2 * secondMs,
};

/** Where the kubelet's main port differs. */
export const mainLimits = {
  // Streams are connections that stay, and the API server opens one for each.
  connections: 1024,
  strangersPerAddress: 256,
  sessions: 768,
  // A command that is run, or a checkpoint that is written, may be silent for long before its answer.
  inactivityMs: 4 * 3600 * secondMs,
} as const satisfies Partial<ListenLimits>;

/** What the runtime's streaming server meets when a client is handed through to it, and the client at its end. */
export const upgradeProxyLimits = {
  /** Until the connection to the runtime is there. */
  dialMs: 30 * secondMs,
  /** Until the head of its answer is whole. */
  headMs: 30 * secondMs,
  headBytes: 64 * KiB,
  /** Until a refusal is whole; what has come by then is passed on. */
  refusalMs: 10 * secondMs,
  refusalBytes: MiB,
  /** What the one side gets to take its last bytes after the other has ended. */
  drainMs: 600 * secondMs,
  /** What the one side gets to end after the other has, and has taken all. */
  lingerMs: secondMs,
} as const;
