/** Every limit of the page's own server. `docs/limits.md` shows them and what happens beyond. */

const secondMs = 1000;

export const pageLimits = {
  /** Browsers that are let in; each has a cookie and a key. */
  browsers: 16,
  /** Addresses that were printed and not opened yet. */
  openAddresses: 8,
  /** Of a request that lets a browser in. */
  loginBytes: 4096,
  /** Until the node has sent the headers of its answer. */
  answerMs: 60 * secondMs,
  /** Connections of browsers; a browser opens six, and one more for each terminal. */
  connections: 128,
  /** Followed streams and terminals. */
  streams: 96,
} as const;
