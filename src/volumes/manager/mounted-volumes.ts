/** What others see of a pod's mounted volumes: mounts and devices of containers, paths, figures and groups. */
import type { Device, Init, Mount } from '../../cri/index.js';
import type { Host } from '../../host/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { ObservedVolume, VolumeFigures } from '../contracts.js';
import { prepareSubPath } from '../subpath/index.js';
import { containerDevices } from './container-devices.js';
import {
  type ContainerMountsRequest,
  containerMounts,
  type MountedVolume,
  type VolumeMountContext,
} from './container-mounts.js';
import type { OperationExecutor } from './operation-executor.js';
import type { DesiredState } from './states.js';

export interface MountedVolumesOptions {
  readonly host: Host;
  readonly desired: DesiredState;
  readonly operator: Pick<OperationExecutor, 'actual' | 'isMounted' | 'plugin' | 'mappedDevice'>;
  readonly podDirectory: (uid: string) => string;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
  readonly isSelinuxEnabled: boolean;
  readonly onSubPathFailed: (pod: Pod, container: string, mount: string, error: unknown) => void;
}

export class MountedVolumes {
  readonly #options: MountedVolumesOptions;

  constructor(options: MountedVolumesOptions) {
    this.#options = options;
  }

  /** The mounts of a container, which may use only volumes known to be mounted. */
  mounts(
    pod: Pod,
    container: AnyContainer,
    surroundings: VolumeMountContext,
  ): Promise<readonly Init<Mount>[]> {
    const { supportsRecursiveReadOnly, isSelinuxEnabled } = this.#options;
    return containerMounts({
      pod,
      container,
      surroundings,
      supportsRecursiveReadOnly,
      isSelinuxEnabled,
      volume: (name) => this.#find(pod, name),
      bindSubPath: (bind) => this.#bindSubPath(pod, container, bind),
    });
  }

  /** The devices of a container: block volumes, which must be known to be mapped. */
  devices(pod: Pod, container: AnyContainer): Promise<readonly Init<Device>[]> {
    return containerDevices({
      container,
      volume: (name) => {
        const wanted = this.#find(pod, name)?.wanted;
        return wanted?.mode === 'Block' ? wanted : undefined;
      },
      device: (wanted) => this.#options.operator.mappedDevice(wanted),
    });
  }

  /** The path of a pod's volume on the machine; undefined while it is not mounted, and for block volumes. */
  directory(pod: Pod, volumeName: string): string | undefined {
    const volume = this.#find(pod, volumeName);
    if (volume?.wanted.mode === 'Block') return undefined;
    return volume?.plugin.hostPath(volume.wanted.spec, volume.wanted.podUid);
  }

  /** The driver of a mounted volume, if it has one. */
  driver(pod: Pod, volumeName: string): string | undefined {
    return this.#find(pod, volumeName)?.wanted.driver;
  }

  async resize(pod: Pod, volumeName: string, sizeBytes: bigint, signal?: AbortSignal): Promise<void> {
    const volume = this.#find(pod, volumeName);
    if (volume === undefined) throw new Error(`volume ${volumeName} is not yet mounted; deferring resize`);
    const { spec, podUid } = volume.wanted;
    if (volume.plugin.resize === undefined) {
      throw new Error(`volumes of ${volume.plugin.name} have no size that a pod can change`);
    }
    await volume.plugin.resize({ spec, podUid, sizeBytes, signal });
  }

  /** How full a mounted volume is, by its driver; undefined if no driver tells. */
  async measure(pod: Pod, volumeName: string, signal: AbortSignal): Promise<VolumeFigures | undefined> {
    const volume = this.#find(pod, volumeName);
    return volume?.plugin.measure?.(volume.wanted.spec, volume.wanted.podUid, signal);
  }

  /** The volumes of drivers that are or may be mounted, with the way to ask for their health. */
  observed(): ObservedVolume[] {
    const { desired, operator } = this.#options;
    const observed: ObservedVolume[] = [];
    for (const [key, { pod, podUid, spec, volumeNames, pluginName }] of desired) {
      const plugin = operator.plugin({ pluginName });
      if (plugin.health === undefined || spec.kind !== 'persistent' || !operator.actual.mounts.has(key))
        continue;
      const ask: ObservedVolume['ask'] = async (signal) => plugin.health?.(spec, podUid, signal);
      observed.push({ pod, names: volumeNames, ask });
    }
    return observed;
  }

  /** Groups that the pod's persistent volumes require. */
  groups(pod: Pod): readonly number[] {
    const own = pod.spec.securityContext?.supplementalGroups ?? [];
    const groups = new Set<number>();
    for (const { podUid, extraGroup } of this.#options.desired.values()) {
      if (podUid !== pod.metadata.uid || extraGroup === undefined) continue;
      if (!own.includes(extraGroup)) groups.add(extraGroup);
    }
    return [...groups];
  }

  #find(pod: Pod, name: string): MountedVolume | undefined {
    for (const wanted of this.#options.desired.values()) {
      if (wanted.podUid !== pod.metadata.uid || !wanted.volumeNames.includes(name)) continue;
      if (!this.#options.operator.isMounted(wanted)) return undefined;
      return { wanted, plugin: this.#options.operator.plugin(wanted) };
    }
    return undefined;
  }

  async #bindSubPath(
    pod: Pod,
    container: AnyContainer,
    { volume, volumePath, subPath, mountIndex, mount }: Parameters<ContainerMountsRequest['bindSubPath']>[0],
  ): Promise<string> {
    try {
      return await prepareSubPath({
        host: this.#options.host,
        podDirectory: this.#options.podDirectory(pod.metadata.uid),
        innerVolumeName: volume.wanted.innerName,
        containerName: container.name,
        mountIndex,
        volumePath,
        subPath,
        volumeMountName: mount.name,
      });
    } catch (error) {
      this.#options.onSubPathFailed(pod, container.name, mount.name, error);
      throw error;
    }
  }
}
