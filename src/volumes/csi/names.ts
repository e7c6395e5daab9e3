/** The names that CSI volumes have across pods, at their drivers, in the cluster and on disk. */
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import type { VolumeSpec } from '../contracts.js';

export const csiPluginName = 'kubernetes.io/csi';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** CSI's rule for the names of drivers; they are part of paths. */
const driverName = /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

export function isDriverName(name: string): boolean {
  return driverName.test(name);
}

/** A volume as its driver knows it. */
export interface DriverVolume {
  readonly driver: string;
  readonly handle: string;
}

/** `kubernetes.io/csi/<driver>^<handle>` */
export function deviceName({ driver, handle }: DriverVolume): string {
  return `${csiPluginName}/${driver}^${handle}`;
}

/** Undefined if it is no name of a device. */
export function parseDeviceName(uniqueName: string): DriverVolume | undefined {
  const prefix = `${csiPluginName}/`;
  const at = uniqueName.indexOf('^');
  if (!uniqueName.startsWith(prefix) || at < 0) return undefined;
  const driver = uniqueName.slice(prefix.length, at);
  return isDriverName(driver) ? { driver, handle: uniqueName.slice(at + 1) } : undefined;
}

/** The VolumeAttachment that the cluster makes for a volume on a node. */
export function attachmentName({ driver, handle }: DriverVolume, nodeName: string): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** The handle that an inline volume has at its driver: the same after a restart. */
export function inlineHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

export function csiVolumeOf(spec: VolumeSpec, podUid: string): DriverVolume {
  if (spec.kind === 'inline') {
    return { driver: spec.volume.csi?.driver ?? '', handle: inlineHandle(podUid, spec.volume.name) };
  }
  const { driver = '', volumeHandle: handle = '' } = spec.persistentVolume.spec.csi ?? {};
  return { driver, handle };
}

/** The directory of a driver's staged volumes. */
export function stagingRoot(rootDir: string): string {
  return join(rootDir, 'plugins', csiPluginName);
}

/** Holds `globalmount` and its metadata. */
export function stagingDirectory(rootDir: string, { driver, handle }: DriverVolume): string {
  return join(stagingRoot(rootDir), driver, sha256(handle));
}

export const stagedMount = 'globalmount';
export const publishedMount = 'mount';
