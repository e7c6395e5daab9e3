/** Every limit for clients of the HTTP servers. `docs/limits.md` shows them and what happens beyond. */

const KiB = 1024;
const MiB = 1024 * KiB;
const secondMs = 1000;

export interface ListenLimits {
  /** An idle connection is closed after this. */
  readonly idleMs: number;
  /** From the connection's first byte, or its opening, to the end of the request headers. */
  readonly headersMs: number;
  /** From the first byte to the end of the request body. */
  readonly requestMs: number;
  /** Without a byte in either direction, so also for a client that does not read its response. */
  readonly inactivityMs: number;
  /** Without the client reading a pending byte, while a response is streamed. */
  readonly stalledMs: number;
  readonly headersBytes: number;
  /** Headers of a request, which cost more than their bytes. */
  readonly headers: number;
  /** Length of a request's path, as sent. */
  readonly pathChars: number;
  /** Bytes of incomplete requests, on all connections together. */
  readonly unreadBytes: number;
  /** Size of a request's body, whether or not anything reads it. */
  readonly bodyBytes: number;
  /** Pending requests per connection. Clients of this API send one at a time. */
  readonly pipelined: number;
  readonly connections: number;
  /** Connections per address without an admitted request. */
  readonly strangersPerAddress: number;
  /** Open-ended responses: followed logs, exec, attach, port-forward. The rest is kept for others. */
  readonly sessions: number;
  /** How long in-flight requests get to finish when the listener closes. */
  readonly closeGraceMs: number;
}

export const defaultLimits: ListenLimits = {
  idleMs: 90 * secondMs,
  headersMs: 10 * secondMs,
  requestMs: 30 * secondMs,
  // Longer than the runtime's deadline for a list.
  inactivityMs: 300 * secondMs,
  // Users may leave a log in a pager for long.
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
  // Streams are long-lived connections, and the API server opens one for each.
  connections: 1024,
  strangersPerAddress: 256,
  sessions: 768,
  // A running command or checkpoint may be silent for long before its response.
  inactivityMs: 4 * 3600 * secondMs,
} as const satisfies Partial<ListenLimits>;

/**
 * Limits for the runtime's streaming server behind the upgrade proxy, and for the client at the end of a
 * session.
 */
export const upgradeProxyLimits = {
  /** Until connected to the runtime. */
  dialMs: 30 * secondMs,
  /** Until the response head is complete. */
  headMs: 30 * secondMs,
  headBytes: 64 * KiB,
  /** Until a refusal is complete; after that, the part received is passed on. */
  refusalMs: 10 * secondMs,
  refusalBytes: MiB,
  /** How long one side may take to read its last bytes after the other has ended. */
  drainMs: 600 * secondMs,
  /** How long one side may take to end after the other has, once it has read everything. */
  lingerMs: secondMs,
} as const;

/** Profiles of the agent itself; one is taken at a time. */
export const profileLimits = {
  /** How long a client may have CPU time or allocations sampled. */
  samplingMs: 300 * secondMs,
} as const;

/** Readers of the whole timeline: the page of a node. */
export const timelineLimits = {
  /** Entries that wait for a reader. */
  waitingEntries: 4096,
} as const;
