/** The bounds on disks of storage networks: on what volumes say of them, and on how long they are waited for. */

export const remoteDiskLimits = {
  /** Portals of one iSCSI volume; each is a login. */
  portals: 16,
  /** Targets or ids of one Fibre Channel volume; the name of a directory has all of them. */
  worldWideNames: 14,
  /** The name of an iSCSI target or initiator; the protocol's own limit. */
  iscsiNameBytes: 223,
  /** One value of a secret for CHAP. */
  chapValueBytes: 255,
  /** A note of a disk on this machine. */
  noteBytes: 64 * 1024,
  /** One run of `iscsiadm` or `multipath`. */
  toolMs: 150_000,
  /** Bringing one disk here, all of its portals included. */
  attachMs: 600_000,
  /** From the login, or the scan, to the device. */
  deviceMs: 10_000,
  /** From the second path of a disk to its multipath device. */
  multipathMs: 10_000,
} as const;
