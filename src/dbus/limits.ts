/** Every bound that the peer of a D-Bus connection meets: the bus, systemd, and whoever sends through the bus. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const dbusLimits = {
  /** Of a body that is read; the specification allows 128 MiB for a message. A longer one is skipped as it comes. */
  bodyBytes: MiB,
  /** Of the header fields of a message that is read. */
  headerBytes: 16 * KiB,
  /** Arrays, structs and variants in one another. */
  depth: 16,
  /** Of the text of an error; the rest is cut off. */
  errorTextBytes: 4 * KiB,
  /** Of a line while the peers agree on who the client is. */
  authLineBytes: 1 * KiB,
  /** Of such lines that the server sends. */
  authLines: 8,
  /** Connecting, authentication and the first call. */
  connectMs: 30_000,
  /** A reply, where the caller sets no other time. */
  callMs: 30_000,
  /** Calls that wait for their reply. */
  pendingCalls: 1024,
  /** Bytes for a peer that does not read. */
  unsentBytes: 4 * MiB,
  /** Calls of others to this side that are being answered. */
  incomingCalls: 64,
  /** Times that work is repeated because the connection was lost under it. */
  repeats: 7,
  /** Jobs of systemd that ended before the reply that names them. */
  rememberedJobs: 256,
} as const;
