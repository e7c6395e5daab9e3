/** A disk behind an iSCSI target: what a volume says of it, and the names that follow. */
import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '../../../kube/index.js';
import { checkedWord, fileSystemType } from '../../../programs/index.js';
import type { VolumeSpec } from '../../contracts.js';
import { innerNameOf } from '../inner-name.js';
import type { RemoteVolume } from './disk-network.js';
import { fieldsOf, isFileName } from './disk-notes.js';
import {
  type IscsiInterface,
  type IscsiName,
  type IscsiPortal,
  iscsiInterface,
  iscsiName,
  portalOf,
} from './iscsi-words.js';
import { remoteDiskLimits } from './limits.js';

export const iscsiPluginName = 'kubernetes.io/iscsi';

export interface IscsiDisk {
  readonly volumeName: string;
  /** As the volume has it; part of the name across pods. */
  readonly targetPortal: string;
  /** All of them, each once, that of the target first. */
  readonly portals: readonly IscsiPortal[];
  readonly iqn: IscsiName;
  readonly lun: number;
  /** The interface that the volume names. */
  readonly givenInterface: IscsiInterface;
  /** The interface that is used: a copy of the given one if the volume has its own name of the initiator. */
  readonly interfaceName: IscsiInterface;
  readonly initiatorName: IscsiName | undefined;
  readonly chapDiscovery: boolean;
  readonly chapSession: boolean;
}

/** The largest number of a disk that the API allows. */
const largestLun = 255;

export function iscsiSource(spec: VolumeSpec): ISCSIVolumeSource | ISCSIPersistentVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.iscsi : spec.persistentVolume.spec.iscsi;
}

/** Throws with the field that makes no sense. */
export function iscsiVolumeOf(spec: VolumeSpec): RemoteVolume<IscsiDisk> {
  const source = iscsiSource(spec);
  if (source === undefined) throw new Error('it is no iSCSI volume');
  const { chapAuthDiscovery = false, chapAuthSession = false, secretRef } = source;
  const disk = iscsiDisk({
    volumeName: innerNameOf(spec),
    targetPortal: source.targetPortal,
    portals: source.portals ?? [],
    iqn: source.iqn,
    lun: source.lun,
    givenInterface: source.iscsiInterface || 'default',
    initiatorName: source.initiatorName || undefined,
    chapDiscovery: chapAuthDiscovery,
    chapSession: chapAuthSession,
  });
  if ((disk.chapDiscovery || disk.chapSession) && !secretRef?.name) {
    throw new Error('iscsi.secretRef must name a secret, as the volume asks for CHAP');
  }
  const namespace = secretRef !== undefined && 'namespace' in secretRef ? secretRef.namespace : undefined;
  const name = secretRef?.name;
  return {
    disk,
    fsType: checkedWord(fileSystemType, 'iscsi.fsType', source.fsType || 'ext4'),
    readOnly: spec.kind === 'inline' ? (source.readOnly ?? false) : spec.readOnly,
    secretRef:
      name && (disk.chapDiscovery || disk.chapSession)
        ? { name, namespace: namespace || undefined }
        : undefined,
  };
}

interface IscsiFields {
  readonly volumeName: unknown;
  readonly targetPortal: unknown;
  readonly portals: unknown;
  readonly iqn: unknown;
  readonly lun: unknown;
  readonly givenInterface: unknown;
  readonly initiatorName: unknown;
  readonly chapDiscovery: unknown;
  readonly chapSession: unknown;
}

function iscsiDisk(fields: IscsiFields): IscsiDisk {
  const { volumeName, lun } = fields;
  if (!isFileName(volumeName)) throw new Error('the name of the volume cannot be the name of a directory');
  if (typeof lun !== 'number' || !Number.isInteger(lun) || lun < 0 || lun > largestLun) {
    throw new Error(`iscsi.lun: ${shownNumber(lun)} must be between 0 and ${largestLun}`);
  }
  const targetPortal = textOf('iscsi.targetPortal', fields.targetPortal);
  const listed: readonly unknown[] = Array.isArray(fields.portals) ? fields.portals : [];
  if (listed.length > remoteDiskLimits.portals) {
    throw new Error(`iscsi.portals has more than ${remoteDiskLimits.portals} entries`);
  }
  const first = portalOf('iscsi.targetPortal', targetPortal);
  const rest = listed.map((portal, index) => {
    const field = `iscsi.portals[${index}]`;
    return portalOf(field, textOf(field, portal));
  });
  const givenInterface = checkedWord(
    iscsiInterface,
    'iscsi.iscsiInterface',
    textOf('iscsi.iscsiInterface', fields.givenInterface),
  );
  const field = 'iscsi.initiatorName';
  const initiatorName =
    fields.initiatorName === undefined
      ? undefined
      : checkedWord(iscsiName, field, textOf(field, fields.initiatorName));
  return {
    volumeName,
    targetPortal,
    portals: [...new Set([first, ...rest])],
    iqn: checkedWord(iscsiName, 'iscsi.iqn', textOf('iscsi.iqn', fields.iqn)),
    lun,
    givenInterface,
    interfaceName:
      initiatorName === undefined
        ? givenInterface
        : checkedWord(iscsiInterface, 'the interface of the volume', `${first}:${volumeName}`),
    initiatorName,
    chapDiscovery: fields.chapDiscovery === true,
    chapSession: fields.chapSession === true,
  };
}

/** From a note, whose content is checked like that of a volume. */
export function reviveIscsiDisk(value: unknown): IscsiDisk {
  const { volumeName, targetPortal, portals, iqn, lun, givenInterface, initiatorName, ...rest } =
    fieldsOf(value);
  const { chapDiscovery, chapSession } = rest;
  return iscsiDisk({
    volumeName,
    targetPortal,
    portals,
    iqn,
    lun,
    givenInterface,
    initiatorName,
    chapDiscovery,
    chapSession,
  });
}

export function iscsiDeviceName({ targetPortal, iqn, lun }: IscsiDisk): string {
  return `${targetPortal}:${iqn}:${lun}`;
}

export function iscsiGlobalName({ interfaceName, portals: [portal], iqn, lun }: IscsiDisk): string {
  return `iface-${interfaceName}/${portal}-${iqn}-lun-${lun}`;
}

/** What the reference kubelet keeps beside the mount, and needs to log out. It has no secret. */
export function iscsiRecord(disk: IscsiDisk): { readonly name: string; readonly text: string } {
  const content = {
    VolName: disk.volumeName,
    Portals: disk.portals,
    Iqn: disk.iqn,
    Lun: String(disk.lun),
    InitIface: disk.givenInterface,
    Iface: disk.interfaceName,
    InitiatorName: disk.initiatorName ?? '',
  };
  return { name: 'iscsi.json', text: `${JSON.stringify(content)}\n` };
}

export const byPathDirectory = '/dev/disk/by-path';

/** The number of the disk that a link in `/dev/disk/by-path` stands for, if it is one behind this portal. */
export function lunOfLink(name: string, portal: IscsiPortal, iqn: IscsiName): number | undefined {
  const end = name.lastIndexOf('-lun-');
  const digits = name.slice(end + '-lun-'.length);
  // A partition has another link, which ends in `-part1`.
  if (end < 0 || !/^[0-9]{1,5}$/.test(digits)) return undefined;
  const path = name.slice(0, end);
  // Links may have an IPv6 address without its brackets.
  const ways = [portal, portal.replaceAll(/[[\]]/g, '')].map((way) => `ip-${way}-iscsi-${iqn}`);
  const isIt = ways.some((way) => path === way || (path.startsWith('pci-') && path.endsWith(`-${way}`)));
  return isIt ? Number(digits) : undefined;
}

function textOf(field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error(`${field} is no text`);
}

function shownNumber(value: unknown): string {
  return typeof value === 'number' ? String(value) : 'it is no number and';
}
