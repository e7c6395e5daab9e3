/** The bounds on what drivers say of a node, and on what objects of the cluster say of volumes. */

const KiB = 1024;

export const csiLimits = {
  /** The id of the node at its driver. */
  nodeIdBytes: 256,
  /** All keys and values of a driver's topology. */
  topologyBytes: 4 * KiB,
  /** Node statuses, events and files on disk have the handle of a volume. */
  volumeHandleBytes: 4 * KiB,
  fsTypeChars: 128,
  /** Pods say it, and it becomes a part of a mount option. */
  seLinuxPartChars: 256,
  /** All mount options of a volume. */
  mountOptionsBytes: 4 * KiB,
  /** All attributes of a volume. */
  attributesBytes: 256 * KiB,
  /** Each is a request to the API server at every publish. */
  tokenRequests: 32,
  /** What a driver says of the health of one volume, or of its storage. */
  healthConditions: 16,
  healthReasonChars: 256,
  healthMessageChars: 1024,
} as const;
