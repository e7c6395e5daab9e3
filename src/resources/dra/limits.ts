/** The bounds on drivers of dynamic resources: what they may answer, and how long they may take. */

export const draLimits = {
  /** Endpoints of one driver; a rolling update has two. */
  endpoints: 8,
  /** Devices of one claim that one driver prepares. */
  devices: 4096,
  /** Requests that one device is for. */
  requestNames: 128,
  cdiDeviceIds: 128,
  /** Names of pools, devices, requests and shares. */
  nameChars: 253,
  cdiDeviceIdChars: 1024,
  /** The text of a driver's refusal. */
  errorChars: 4096,
  /** One call of NodePrepareResources or NodeUnprepareResources. */
  callMs: 45_000,
  /** Devices of one driver whose health is known. */
  healthDevices: 16_384,
  healthMessageBytes: 1024,
  /** The pause before a health stream is opened again. */
  healthRetryMs: 5_000,
  /** How long a driver may be away before its ResourceSlices are deleted. */
  awayMs: 30_000,
} as const;
