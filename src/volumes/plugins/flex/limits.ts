/** The bounds on drivers of flexVolume volumes and on what they say. */

const KiB = 1024;

export const flexLimits = {
  driverNameChars: 253,
  /** What a driver writes as its answer, and beside it. */
  outputBytes: 64 * KiB,
  /** What users see of a driver's words. */
  messageChars: 1024,
  /** All options of a volume, with its secret, which are one argument of the driver. */
  optionsBytes: 64 * KiB,
  /** The longest that one call of a driver may take. */
  callMs: 120_000,
  /** Drivers whose capabilities are kept. */
  knownDrivers: 100,
  noteBytes: 4 * KiB,
} as const;
