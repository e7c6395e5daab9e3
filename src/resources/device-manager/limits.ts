/** The bounds on device plugins: how many there may be, what they may say, and how long they may take. */

const KiB = 1024;

export const deviceLimits = {
  /** Resources that plugins may register. */
  resources: 256,
  /** Plugins of one resource that are connected at the same time. */
  endpointsPerResource: 8,
  /** Registrations that are being handled at the same time. */
  registrationsAtOnce: 32,
  /** A path that a socket can have. */
  endpointBytes: 107,
  /** Devices in one report. */
  devices: 10_000,
  deviceIdBytes: 512,
  healthChars: 64,
  numaNodesPerDevice: 16,
  /** Parts of the answer to one allocation. */
  envs: 512,
  mounts: 256,
  deviceNodes: 256,
  annotations: 256,
  cdiDevices: 256,
  /** A name, path or value in it. */
  textBytes: 32 * KiB,
  /** All of it together. */
  allocationBytes: 256 * KiB,
  /** Devices that a plugin names when it is asked for its preference. */
  preferredDevices: 10_000,
  /** Connecting to a plugin, and hearing its options. */
  connectMs: 10_000,
  connectRetryMs: 100,
  preferredMs: 30_000,
  allocateMs: 60_000,
  preStartMs: 30_000,
  /** How long the devices of a plugin that has gone are counted. */
  graceMs: 300_000,
  /** The shortest time between two reports of one plugin. */
  reportPauseMs: 20,
} as const;
