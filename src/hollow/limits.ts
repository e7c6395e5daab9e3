/** Every limit of a process with many hollow nodes. `docs/limits.md` shows them and what happens beyond. */

const KiB = 1024;
const MiB = 1024 * KiB;
const secondMs = 1000;

export const hollowLimits = {
  /** Nodes of one process. */
  nodes: 20_000,
  /** Worker threads. */
  threads: 64,
  /** Groups of nodes in one file of profiles. */
  profiles: 256,
  /** A file of profiles. */
  profileFileBytes: MiB,
  /** Changes of shared objects that wait for one node; beyond it the node reads all of them again. */
  waitingChanges: 4096,
  /** What is kept of each container's output. */
  logBytes: 16 * KiB,
  /** Nodes that start, or join again, at the same time. */
  startsAtOnce: 64,
  /** How long the end waits for the deletion of one Node object. */
  deleteMs: 30 * secondMs,
  /** Names in one request to a running fleet. */
  namesOfRequest: 20_000,
  /** A request to a running fleet. */
  requestBytes: 2 * MiB,
} as const;
