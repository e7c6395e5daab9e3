/** The bounds on the peer of a streaming connection. `docs/limits.md` shows them and what happens beyond each. */

const KiB = 1024;
const MiB = 1024 * KiB;
const secondMs = 1000;

export const streamingLimits = {
  /** Concurrent sessions of one streaming server. */
  sessions: 512,
  /** Requests that wait for their client. */
  waitingRequests: 1000,
  /** How long a request waits for its client. */
  waitingRequestMs: 60 * secondMs,
  /** How long a client may take to open its streams, or the second stream of a pair. */
  creationMs: 30 * secondMs,
  /** How long a connection may be idle. */
  idleMs: 4 * 3600 * secondMs,
  /** How long the peer may take to read the last bytes of a closing connection. */
  closeDrainMs: 600 * secondMs,
  /** How long the peer may take to close its side after it has read everything. */
  closeLingerMs: 10 * secondMs,
  /** How much one stream or channel buffers for its reader before reading from the peer stops. */
  windowBytes: 256 * KiB,
  /** How much one stream or channel buffers for a peer that does not read. */
  unsentBytes: 64 * KiB,
  /** The longest error text for a client. */
  errorTextBytes: 4 * KiB,
  /** The longest text of a terminal size, which usually takes about thirty characters. */
  terminalSizeChars: 1024,
} as const;

/** The error text, cut to the length that a client may get. */
export function cutText(text: string): string {
  const limit = streamingLimits.errorTextBytes;
  if (Buffer.byteLength(text) <= limit) return text;
  return `${Buffer.from(text).toString('utf8', 0, limit - 4)}…`;
}

export const webSocketLimits = {
  /** The largest message, over all its fragments. */
  messageBytes: 32 * MiB,
  /** How much of a message is buffered before it is passed on. */
  messagePartBytes: 64 * KiB,
  /** The largest payload of a ping, pong or close (RFC 6455, section 5.5). */
  controlBytes: 125,
  /** Pings that wait for their pong while the peer does not read; the newest replaces the others (RFC 6455, section 5.5.3). */
  waitingPongs: 1,
  /** Ports of one port-forward; each takes two channels, and the highest channel is 127. */
  ports: 64,
} as const;

export const spdyLimits = {
  /** The largest control frame; 8 KiB is the least that an endpoint must accept (SPDY/3.1, section 2.2.1). */
  controlFrameBytes: 32 * KiB,
  /** The largest header block of a stream, inflated. */
  headerBlockBytes: 4 * KiB,
  /** Headers of one stream. */
  headers: 64,
  /** Open streams of a connection; each forwarded connection takes two. */
  streams: 1000,
  /** How much all streams of a connection buffer for their readers before reading from the peer stops. */
  heldBytes: 16 * MiB,
  /** Control frames that are queued while the peer does not read. */
  waitingReplies: 1000,
  /** Pairs of streams with only one open. */
  halfPairs: 256,
  /** The longest request id, by which a client pairs its streams. */
  requestIdChars: 64,
} as const;

/** The bounds on the server of a streaming client. */
export const streamingClientLimits = {
  /** The largest body of a response that is not an upgrade. */
  errorBodyBytes: 64 * KiB,
  /** The longest error text for one forwarded connection. */
  complaintBytes: 64 * KiB,
  /** The largest status of a command. */
  statusBytes: MiB,
  /** How long the server may take to answer the upgrade request. */
  upgradeMs: 60 * secondMs,
  /** How long the server may take to accept a stream. */
  replyMs: 30 * secondMs,
} as const;
