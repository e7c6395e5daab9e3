/** Limits on manifests that a person names and that are followed as they change. */

export const followedFilesLimits = {
  /** Manifests of one directory. */
  filesOfDirectory: 10_000,
  /** All followed manifests together. */
  totalBytes: 64 << 20,
  /** Files and directories followed by notifications. */
  watchedPlaces: 256,
  /** From one full look to the next, in case a notification was missed. */
  checkPeriodMs: 2_000,
  /** The quiet after a notification before anything is read. */
  quietMs: 100,
  /** How long notifications without a pause put off a look. */
  longestUnquietMs: 1_000,
  /** A file written to this short a time ago is taken to be half-written. */
  settledMs: 250,
  /** How long a file that is written to again and again stays unread. */
  longestUnsettledMs: 5_000,
  /** A file must be missing for this long to count as removed. */
  removedAfterMs: 1_000,
  /** A look at all files takes at most this part of the time: one in so many. */
  restsPerLook: 20,
} as const;
