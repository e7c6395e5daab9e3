/** Brings Fibre Channel disks to this machine: has its adapters look for them, and removes their devices. */
import { join } from 'node:path/posix';
import { exists, type Host, namesIn } from '../../../host/index.js';
import type { FCVolumeSource } from '../../../kube/index.js';
import { checkedWord, fileSystemType } from '../../../programs/index.js';
import type { VolumeSpec } from '../../contracts.js';
import { innerNameOf } from '../inner-name.js';
import type { DiskNetwork, RemoteVolume } from './disk-network.js';
import { fieldsOf, isFileName } from './disk-notes.js';
import { byPathDirectory } from './iscsi-disk.js';
import { remoteDiskLimits } from './limits.js';
import { ScsiDevices, type ScsiDevicesOptions } from './scsi-devices.js';
import { TargetTurns } from './target-turns.js';

const pluginName = 'kubernetes.io/fc';
const byIdDirectory = '/dev/disk/by-id';
const largestLun = 255;

/** A disk by its targets and its number there, or by ids of its own. */
export type FcDisk =
  | { readonly targetWWNs: readonly string[]; readonly lun: number }
  | { readonly wwids: readonly string[] };

export function fcNetwork(options: ScsiDevicesOptions): DiskNetwork<FcDisk> {
  const { host } = options;
  const devices = new ScsiDevices(options);
  /** One after another: a scan finds all disks, also one that is just being removed. */
  const turns = new TargetTurns();
  const paths = (disk: FcDisk): Promise<readonly string[]> =>
    'wwids' in disk
      ? devices.linked(byIdDirectory, (name) => isLinkOf(name, disk))
      : devices.linked(byPathDirectory, (name) => isLinkOf(name, disk));
  return {
    pluginName,
    accepts: (spec) => sourceOf(spec) !== undefined,
    volumeOf: fcVolumeOf,
    deviceName: fcDeviceName,
    globalName: fcGlobalName,
    revive: (value) => fcDisk(fieldsOf(value)),
    find: (disk) => devices.deviceOf(() => paths(disk)),
    rescan: async (disk) => devices.rescan(await paths(disk)),
    connect: (disk, _, signal) =>
      turns.take('', signal, async () => {
        if ((await paths(disk)).length === 0) await scan(host);
        await devices.untilThere(`the disk ${fcDeviceName(disk)}`, () => paths(disk), signal);
      }),
    disconnect: (disk) =>
      turns.take('', undefined, async () => {
        const found = await paths(disk);
        await devices.release(found);
        for (const device of found) await devices.remove(device);
      }),
  };
}

/** Has each adapter look for disks on all its channels, at all targets, with all numbers. */
async function scan(host: Host): Promise<void> {
  const adapters = await namesIn(host, '/sys/class/fc_host');
  if (adapters.length === 0) throw new Error('this machine has no Fibre Channel adapter');
  for (const adapter of adapters) {
    const path = join('/sys/class/scsi_host', adapter, 'scan');
    if (/^host[0-9]+$/.test(adapter) && (await exists(host.files, path)))
      await host.files.writeFile(path, '- - -\n');
  }
}

/** Throws with the field that makes no sense. */
export function fcVolumeOf(spec: VolumeSpec): RemoteVolume<FcDisk> {
  const source = sourceOf(spec);
  if (source === undefined) throw new Error('it is no Fibre Channel volume');
  if (!isFileName(innerNameOf(spec)))
    throw new Error('the name of the volume cannot be the name of a directory');
  return {
    disk: fcDisk({ ...source }),
    fsType: checkedWord(fileSystemType, 'fc.fsType', source.fsType || 'ext4'),
    readOnly: spec.kind === 'inline' ? (source.readOnly ?? false) : spec.readOnly,
  };
}

function fcDisk({ targetWWNs, lun, wwids }: Readonly<Record<string, unknown>>): FcDisk {
  const targets = names('fc.targetWWNs', targetWWNs, /^[0-9A-Fa-f]{16}$/);
  const ids = names('fc.wwids', wwids, /^[A-Za-z0-9_.:-]{1,128}$/);
  if (targets.length > 0 === ids.length > 0) throw new Error('fc must have either targetWWNs or wwids');
  if (ids.length > 0) return { wwids: ids };
  if (typeof lun !== 'number' || !Number.isInteger(lun) || lun < 0 || lun > largestLun) {
    throw new Error(`fc.lun must be between 0 and ${largestLun}`);
  }
  return { targetWWNs: targets, lun };
}

function names(field: string, value: unknown, form: RegExp): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length > remoteDiskLimits.worldWideNames) {
    throw new Error(`${field} has more than ${remoteDiskLimits.worldWideNames} entries`);
  }
  return list.map((name, index) => {
    if (typeof name === 'string' && form.test(name)) return name;
    throw new Error(`${field}[${index}] is no world wide name`);
  });
}

export function fcDeviceName(disk: FcDisk): string {
  return 'wwids' in disk ? `[${disk.wwids.join(' ')}]` : `[${disk.targetWWNs.join(' ')}]:${disk.lun}`;
}

export function fcGlobalName(disk: FcDisk): string {
  return 'wwids' in disk ? disk.wwids.join('-') : `${disk.targetWWNs.join('-')}-lun-${disk.lun}`;
}

/** Whether a link in `/dev/disk/by-path`, or of ids in `/dev/disk/by-id`, is one of the disk. */
export function isLinkOf(name: string, disk: FcDisk): boolean {
  if ('wwids' in disk) return disk.wwids.some((id) => name === `scsi-${id}`);
  return disk.targetWWNs.some((target) => {
    const way = `fc-0x${target.toLowerCase()}-lun-${disk.lun}`;
    const lower = name.toLowerCase();
    return lower === way || (lower.startsWith('pci-') && lower.endsWith(`-${way}`));
  });
}

function sourceOf(spec: VolumeSpec): FCVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.fc : spec.persistentVolume.spec.fc;
}
