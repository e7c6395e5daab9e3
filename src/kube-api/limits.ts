/** Bounds of the API of one node: what clients may make it store and keep. `docs/limits.md` tells of each. */

export const kubeApiLimits = {
  objectsPerKind: 20_000,
  objectBytes: 1536 * 1024,
  waitingCreations: 1_000,
  creationWaitMs: 1_000,
  keptEvents: 5_000,
  eventLifeMs: 3_600_000,
  eventSweepMs: 30_000,
  unknownFieldsTold: 100,
  updatersPerObject: 10,
  appliersPerObject: 50,
} as const;
