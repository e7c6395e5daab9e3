/** Every bound that the peer of a gRPC connection meets: a server as ours, and a client as that of a socket we serve. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** What the agent takes of a server, such as the container runtime. */
export const grpcClientLimits = {
  /** Of a message, in both directions. */
  messageBytes: 16 * MiB,
  /** Of a frame's payload: what we may be sent without asking for more (RFC 9113, section 4.2). */
  frameBytes: 16 * KiB,
  /** Of the headers of an answer, compressed, with some bytes for each frame that they come in. */
  headerBlockBytes: 64 * KiB,
  /** What a stream of messages holds before it is read. */
  streamWindowBytes: MiB,
  /** Answers to pings and settings that wait for a server that does not read. */
  waitingAnswers: 1000,
  /** Calls that wait because the server takes no more at a time. */
  waitingCalls: 10_000,
} as const;

/** What a socket that we serve takes of its clients. */
export const grpcServerLimits = {
  connections: 64,
  /** Calls under way on one connection. */
  calls: 1000,
  /** From the beginning of a call to the end of its request. */
  requestMs: 30_000,
  /** What a connection holds in Node's HTTP/2 besides messages. */
  sessionMegabytes: 10,
} as const;
