/** The bounds on the peer of a gRPC connection: a server that the agent calls, and a client of a socket that it serves. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** The bounds on a server that the agent calls, such as the container runtime. */
export const grpcClientLimits = {
  /** The largest message, in both directions. */
  messageBytes: 16 * MiB,
  /** The largest payload of a frame: the initial SETTINGS_MAX_FRAME_SIZE (RFC 9113, section 6.5.2). */
  frameBytes: 16 * KiB,
  /** The largest header block of a response, compressed, plus a fixed cost for each of its frames. */
  headerBlockBytes: 64 * KiB,
  /** How much of a response a stream buffers before the caller reads it. */
  streamWindowBytes: MiB,
  /** Acknowledgements of PING and SETTINGS that are queued while the server does not read. */
  waitingReplies: 1000,
  /** Calls that wait because the server accepts no more concurrent streams. */
  waitingCalls: 10_000,
} as const;

/** The bounds on the clients of a socket that the agent serves. */
export const grpcServerLimits = {
  connections: 64,
  /** Concurrent calls on one connection. */
  calls: 1000,
  /** How long a client may take to send its request. */
  requestMs: 30_000,
  /** How much memory Node's HTTP/2 uses for one connection, without messages. */
  sessionMegabytes: 10,
} as const;
