/** Every bound that the other end of a streaming connection meets. `docs/limits.md` shows them with what happens beyond. */

const KiB = 1024;
const MiB = 1024 * KiB;
const secondMs = 1000;

export const streamingLimits = {
  /** Sessions of one streaming server at a time. */
  sessions: 512,
  /** Requests that wait for their client, of which each may come once. */
  waitingRequests: 1000,
  /** How long a request waits for its client. */
  waitingRequestMs: 60 * secondMs,
  /** How long a client may take to open its streams, or the other half of a pair of streams. */
  creationMs: 30 * secondMs,
  /** Nothing came or went for so long. */
  idleMs: 4 * 3600 * secondMs,
  /** How long the peer may take to read the last bytes of a connection that ends. */
  closeDrainMs: 600 * secondMs,
  /** How long the peer may take to close its side after it has read all. */
  closeLingerMs: 10 * secondMs,
  /** What one stream or channel holds for its reader before nothing more is read for it. */
  windowBytes: 256 * KiB,
  /** What one stream or channel holds for a peer that does not read. */
  unsentBytes: 64 * KiB,
  /** Of the text that tells a client why something failed. */
  errorTextBytes: 4 * KiB,
  /** Of a terminal's size, which takes some thirty characters. */
  terminalSizeChars: 1024,
} as const;

/** A failure in as many words as a peer is told. */
export function cutText(text: string): string {
  const limit = streamingLimits.errorTextBytes;
  if (Buffer.byteLength(text) <= limit) return text;
  return `${Buffer.from(text).toString('utf8', 0, limit - 4)}…`;
}

export const webSocketLimits = {
  /** Of a message, in however many fragments. */
  messageBytes: 32 * MiB,
  /** What is collected of a message before it is handed on; all that a fragment can add to. */
  messagePartBytes: 64 * KiB,
  /** Of a ping, pong or close (RFC 6455, 5.5). */
  controlBytes: 125,
  /** Pings that wait for their pong while the peer reads nothing: the newest replaces the others (RFC 6455, 5.5.3). */
  waitingPongs: 1,
  /** Ports of one port-forward: the numbers of channels end at 127. */
  ports: 64,
} as const;

export const spdyLimits = {
  /** Of a control frame. */
  controlFrameBytes: 32 * KiB,
  /** Of the headers of one stream, inflated. */
  headerBlockBytes: 4 * KiB,
  /** Headers of one stream. */
  headers: 64,
  /** Open streams of a connection; a forwarded connection takes two. */
  streams: 1000,
  /** What all streams of a connection hold for their readers before nothing more is read from it. */
  heldBytes: 16 * MiB,
  /** Answers to pings, openings and the like that wait for a peer that does not read. */
  waitingAnswers: 1000,
  /** Pairs of streams of which one has come. */
  halfPairs: 256,
  /** Of the id that a client pairs its streams by. */
  requestIdChars: 64,
} as const;

/** What a client takes of a server's words. */
export const streamingClientLimits = {
  /** Of an answer that is no upgrade. */
  errorBodyBytes: 64 * KiB,
  /** Of the server's words about one forwarded connection. */
  complaintBytes: 64 * KiB,
  /** Of how a command ended. */
  statusBytes: MiB,
  /** From the dial to the end of the answer to the upgrade. */
  upgradeMs: 60 * secondMs,
  /** How long the server may take to accept a stream. */
  replyMs: 30 * secondMs,
} as const;
