/** Decides whether a pod uses more local storage than it may. */
import {
  formatQuantity,
  isCriticalPod,
  isSidecar,
  type Pod,
  parseQuantity,
  podLimits,
  type Quantity,
  quantityValue,
} from '../../kube/index.js';
import type { PodStatsSummary } from '../stats/index.js';
import type { FileSystemLayout } from './layout.js';

export type LocalStorageLabel = 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';

export interface LocalStorageExcess {
  /** Under which it is counted. */
  readonly label: LocalStorageLabel;
  readonly message: string;
  readonly usedBytes: number;
  readonly limitBytes: number;
}

const resource = 'ephemeral-storage';

/** Whether the pod has a limit of local storage to be held to; all others need not be measured for it. */
export function hasLocalStorageLimit(pod: Pod): boolean {
  if (isCriticalPod(pod)) return false;
  const { volumes = [], containers, initContainers = [] } = pod.spec;
  return (
    volumes.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    podLimits(pod).has(resource) ||
    [...containers, ...initContainers].some(({ resources }) => resources?.limits?.[resource] !== undefined)
  );
}

export interface LocalStorageRules extends Pick<FileSystemLayout, 'dedicated'> {
  /** Whether volumes in memory may be resized: then the kernel alone holds them to their size. Default no. */
  readonly resizesMemoryVolumes?: boolean | undefined;
}

/** The first limit that the pod has passed; critical pods may pass theirs. */
export function localStorageExcess(
  pod: Pod,
  stats: PodStatsSummary,
  rules: LocalStorageRules,
): LocalStorageExcess | undefined {
  if (isCriticalPod(pod)) return undefined;
  return emptyDirExcess(pod, stats, rules) ?? podExcess(pod, stats) ?? containerExcess(pod, stats, rules);
}

function emptyDirExcess(
  pod: Pod,
  stats: PodStatsSummary,
  { resizesMemoryVolumes = false }: LocalStorageRules,
): LocalStorageExcess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    // While such a volume shrinks, its limit is below its size.
    if (resizesMemoryVolumes && emptyDir?.medium === 'Memory') continue;
    const limit = limitOrNone(emptyDir?.sizeLimit);
    if (limit === undefined) continue;
    const used = stats.volume?.find((volume) => volume.name === name)?.usedBytes;
    const excess = over(used, limit, 'emptydirfs.limit', (text) => {
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${text}". `;
    });
    if (excess !== undefined) return excess;
  }
  return undefined;
}

function podExcess(pod: Pod, stats: PodStatsSummary): LocalStorageExcess | undefined {
  const limit = podLimits(pod).get(resource);
  if (limit === undefined) return undefined;
  const used = stats[resource]?.usedBytes;
  return over(used, limit, 'ephemeralpodfs.limit', (text) => {
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${text}. `;
  });
}

function containerExcess(
  { spec }: Pod,
  stats: PodStatsSummary,
  { dedicated }: Pick<FileSystemLayout, 'dedicated'>,
): LocalStorageExcess | undefined {
  const lasting = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const limits = new Map(lasting.map(({ name, resources }) => [name, resources?.limits?.[resource]]));
  for (const { name, logs, rootfs } of stats.containers) {
    const limit = limitOrNone(limits.get(name));
    if (limit === undefined) continue;
    const used = (logs?.usedBytes ?? 0) + (dedicated ? 0 : (rootfs?.usedBytes ?? 0));
    const excess = over(used, limit, 'ephemeralcontainerfs.limit', (text) => {
      return `Container ${name} exceeded its local ephemeral storage limit "${text}". `;
    });
    if (excess !== undefined) return excess;
  }
  return undefined;
}

/**
 * What is no quantity limits nothing: one pod must not keep the others from being held to their limits. A limit of zero is
 * none, except that of all containers together.
 */
function limitOrNone(text: string | undefined): Quantity | undefined {
  if (text === undefined) return undefined;
  try {
    const limit = parseQuantity(text);
    return quantityValue(limit) <= 0n ? undefined : limit;
  } catch {
    return undefined;
  }
}

function over(
  usedBytes: number | undefined,
  limit: Quantity,
  label: LocalStorageLabel,
  message: (limit: string) => string,
): LocalStorageExcess | undefined {
  const limitBytes = Number(quantityValue(limit));
  if (usedBytes === undefined || usedBytes <= limitBytes) return undefined;
  return { label, message: message(formatQuantity(limit)), usedBytes, limitBytes };
}
