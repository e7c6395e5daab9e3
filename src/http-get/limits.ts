/** Every bound that a container meets when it answers a probe or a hook. */

const KiB = 1024;

export const httpGetLimits = {
  /** Of an answer's body; the rest is not read. */
  bodyBytes: 10 * KiB,
  /** Of an answer's headers: what Go's client accepts; Node's own limit is far lower. */
  headersBytes: 1024 * KiB,
  /** Redirects that are followed, all on the same host. */
  redirects: 10,
  /** What one exchange holds in Node's HTTP/2. */
  sessionMegabytes: 2,
} as const;
