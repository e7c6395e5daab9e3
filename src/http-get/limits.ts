/** Limits on what a container may send in response to a probe or a hook. */

const KiB = 1024;

export const httpGetLimits = {
  /** Response body; the rest is not read. */
  bodyBytes: 10 * KiB,
  /** Response headers: the limit of Go's client, far above Node's own. */
  headersBytes: 1024 * KiB,
  /** Redirects to follow, all on the same host. */
  redirects: 10,
  /** Memory of one exchange in Node's HTTP/2. */
  sessionMegabytes: 2,
  /** Host names of probes and hooks that wait to be looked up. */
  waitingLookups: 1_000,
} as const;
