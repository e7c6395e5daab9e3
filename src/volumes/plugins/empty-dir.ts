/** The emptyDir plugin: a directory that lives as long as its pod. */
import { goQuote, type Pod, parseQuantity, quantityValue, type ResourceList } from '../../kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../contracts.js';
import { type EmptyDirectories, type EmptyDirMedium, emptyDirPluginName } from './empty-directories.js';
import { hugePageSize, isHugePagesMedium } from './huge-pages.js';
import { podMemoryLimitBytes, tmpfsSizeBytes } from './tmpfs-options.js';
import { fsGroupOf } from './volume-modes.js';
import { podVolumeDirectory } from './volume-paths.js';

export interface MemorySizes {
  /** The node's allocatable resources. */
  readonly nodeAllocatable: () => ResourceList;
  /** The limit of the pod's cgroup, if it differs from the spec. */
  readonly podMemoryLimit?: (pod: Pod) => bigint | undefined;
}

export interface EmptyDirOptions extends MemorySizes {
  readonly rootDir: string;
  readonly directories: EmptyDirectories;
  /** Whether pods may choose the mode of a directory. */
  readonly allowsModes?: boolean;
}

export function emptyDirVolumes(options: EmptyDirOptions): VolumePlugin {
  const { rootDir, directories, allowsModes = false } = options;
  const pathOf = (podUid: string, name: string): string =>
    podVolumeDirectory(rootDir, podUid, emptyDirPluginName, name);
  return {
    name: emptyDirPluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: false,
    accepts: (spec) => spec.kind === 'inline' && spec.volume.emptyDir !== undefined,
    innerName: ({ volume }) => volume.name,
    traits: () => ({ managed: true, readOnly: false, relabel: true }),
    hostPath: ({ volume }, podUid) => pathOf(podUid, volume.name),
    async setUp({ pod, spec, signal }) {
      const podUid = pod.metadata.uid;
      const { name } = spec.volume;
      await directories.setUp({
        podUid,
        markerName: name,
        path: pathOf(podUid, name),
        backing: emptyDirBacking(pod, spec, options),
        fsGroup: fsGroupOf(pod),
        mode: allowsModes ? spec.volume.emptyDir?.mode : undefined,
        signal,
      });
    },
    resize: ({ spec: { volume }, podUid, sizeBytes, signal }) =>
      directories.resize({ name: volume.name, path: pathOf(podUid, volume.name) }, sizeBytes, signal),
    tearDown: ({ podUid, innerName }) =>
      directories.tearDown({ podUid, markerName: innerName, path: pathOf(podUid, innerName) }),
  };
}

function emptyDirBacking(pod: Pod, { volume }: VolumeSpec, sizes: MemorySizes): EmptyDirMedium {
  const { medium = '', sizeLimit } = volume.emptyDir ?? {};
  if (medium === '') return { kind: 'disk' };
  if (medium === 'Memory') {
    const sizeLimitBytes = sizeLimit === undefined ? undefined : quantityValue(parseQuantity(sizeLimit));
    return memoryBacking(pod, sizeLimitBytes, sizes);
  }
  if (isHugePagesMedium(medium)) return { kind: 'huge-pages', pageSize: hugePageSize(medium, pod) };
  throw new Error(`unknown storage medium ${goQuote(medium)}`);
}

/** A tmpfs no larger than the node, the pod and the volume allow. */
export function memoryBacking(
  pod: Pod,
  sizeLimitBytes: bigint | undefined,
  sizes: MemorySizes,
): EmptyDirMedium {
  const { memory = '0' } = sizes.nodeAllocatable();
  return {
    kind: 'memory',
    sizeBytes: tmpfsSizeBytes({
      allocatableBytes: quantityValue(parseQuantity(memory)),
      podLimitBytes: (sizes.podMemoryLimit ?? podMemoryLimitBytes)(pod),
      sizeLimitBytes,
    }),
  };
}
