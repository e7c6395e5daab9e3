/** Decides what the cluster is told of the health of volumes and of storage, from what drivers say. */
import type { PodVolumeHealth, VolumeHealthCondition } from '../../kube/index.js';
import type { CsiNode } from '../../kube-client/index.js';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeGetStorageHealthResponse,
  type NodeGetVolumeHealthResponse,
  StorageHealth_ErrorType as StorageStatus,
  type VolumeCapability,
  VolumeHealthStatus_HealthType as VolumeStatus,
} from './gen/csi.js';
import { csiLimits } from './limits.js';

export type DriverStorageHealth = NonNullable<NonNullable<CsiNode['status']>['storageHealth']>[number];
export type StorageHealthCondition = DriverStorageHealth['healthConditions'][number];

const volumeStatuses: Readonly<Partial<Record<number, VolumeHealthCondition['status']>>> = {
  [VolumeStatus.DEGRADED]: 'Degraded',
  [VolumeStatus.INACCESSIBLE]: 'Inaccessible',
  [VolumeStatus.DATA_LOSS]: 'DataLoss',
};

/** What a driver says of a volume; statuses that this node does not know are left out. */
export function volumeConditions({ volumeHealth }: NodeGetVolumeHealthResponse): VolumeHealthCondition[] {
  const conditions = (volumeHealth?.healthStatuses ?? []).flatMap(({ status, reason, message }) => {
    const known = volumeStatuses[status];
    return known === undefined ? [] : [{ status: known, ...bounded(reason, message) }];
  });
  return conditions.slice(0, csiLimits.healthConditions);
}

/** The pod's list with what a driver says now of some of its volumes; undefined if that is no news. */
export function withVolumeHealth(
  before: readonly PodVolumeHealth[],
  seen: ReadonlyMap<string, readonly VolumeHealthCondition[]>,
  now: string,
): PodVolumeHealth[] | undefined {
  const known = new Map(before.map((entry) => [entry.name, entry]));
  let isNews = false;
  for (const [name, conditions] of seen) {
    const last = known.get(name);
    if (isSameSet(last?.healthConditions ?? [], conditions, volumeKey)) continue;
    isNews = true;
    known.set(name, { name, healthConditions: [...conditions], lastTransitionTime: now });
  }
  return isNews ? [...known.values()] : undefined;
}

const volumeKey = ({ status, reason }: VolumeHealthCondition): string => JSON.stringify([status, reason]);

const storageStatuses: Readonly<Partial<Record<number, StorageHealthCondition['status']>>> = {
  [StorageStatus.STORAGE_DEGRADED]: 'StorageDegraded',
  [StorageStatus.STORAGE_UNREACHABLE]: 'StorageUnreachable',
};

/** Throws if the driver says too much, or what nobody can understand. */
export function storageConditions({ backendHealth }: NodeGetStorageHealthResponse): StorageHealthCondition[] {
  const limit = csiLimits.healthConditions;
  if (backendHealth.length > limit) {
    throw new Error(`NodeGetStorageHealth returned ${backendHealth.length} conditions, maximum is ${limit}`);
  }
  return backendHealth.flatMap(({ status, reason, message, volumeCapability }, index) => {
    const known = storageStatuses[status];
    if (known === undefined) return [];
    const concerned = volumeCapability === undefined ? {} : volumesConcerned(volumeCapability, index);
    return [{ status: known, ...bounded(reason, message), ...concerned }];
  });
}

const accessModes: Readonly<Partial<Record<number, string>>> = {
  [Mode.SINGLE_NODE_WRITER]: 'ReadWriteOnce',
  [Mode.SINGLE_NODE_MULTI_WRITER]: 'ReadWriteOnce',
  [Mode.SINGLE_NODE_SINGLE_WRITER]: 'ReadWriteOncePod',
  [Mode.SINGLE_NODE_READER_ONLY]: 'ReadOnlyMany',
  [Mode.MULTI_NODE_READER_ONLY]: 'ReadOnlyMany',
  [Mode.MULTI_NODE_SINGLE_WRITER]: 'ReadWriteMany',
  [Mode.MULTI_NODE_MULTI_WRITER]: 'ReadWriteMany',
};

/** Which volumes a condition is about. */
function volumesConcerned(
  { accessType, accessMode }: VolumeCapability,
  index: number,
): Pick<StorageHealthCondition, 'accessMode' | 'volumeMode'> {
  const invalid = (problem: string): Error =>
    new Error(`NodeGetStorageHealth condition ${index} has invalid volume capability: ${problem}`);
  if (accessType === undefined) throw invalid('it has no access type');
  const mode = accessModes[accessMode?.mode ?? Mode.UNKNOWN];
  if (mode === undefined) throw invalid('its access mode is not known');
  return { accessMode: mode, volumeMode: accessType.case === 'block' ? 'Block' : 'Filesystem' };
}

/** The list of all drivers with what one says now; undefined if that is no news. */
export function withStorageHealth(
  before: readonly DriverStorageHealth[],
  driver: string,
  conditions: readonly StorageHealthCondition[],
): DriverStorageHealth[] | undefined {
  const last = before.find(({ name }) => name === driver);
  if (isSameSet(last?.healthConditions ?? [], conditions, storageKey)) return undefined;
  const others = before.filter(({ name }) => name !== driver);
  return conditions.length === 0 ? others : [...others, { name: driver, healthConditions: [...conditions] }];
}

const storageKey = ({ status, reason, accessMode, volumeMode }: StorageHealthCondition): string =>
  JSON.stringify([status, reason, accessMode, volumeMode]);

function isSameSet<T>(one: readonly T[], other: readonly T[], keyOf: (item: T) => string): boolean {
  const keys = new Set(one.map(keyOf));
  const others = new Set(other.map(keyOf));
  return keys.size === others.size && [...keys].every((key) => others.has(key));
}

function bounded(reason: string, message: string): { reason: string; message: string } {
  const { healthReasonChars, healthMessageChars } = csiLimits;
  return { reason: reason.slice(0, healthReasonChars), message: message.slice(0, healthMessageChars) };
}
