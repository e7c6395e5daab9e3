/** Turns a container's volumeMounts into mounts for the runtime. */
import { isAbsolute } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { type Init, type Mount, MountPropagation } from '../../cri/index.js';
import {
  type Container,
  type EphemeralContainer,
  goQuote,
  type Pod,
  type VolumeMount,
} from '../../kube/index.js';
import type { VolumePlugin } from '../contracts.js';
import { subPathProblem } from '../subpath/index.js';
import type { WantedMount } from './states.js';

/** What only the builder of the container's config knows. */
export interface VolumeMountContext {
  /** The mount's subPath with variables expanded; empty for none. Throws with a message for users. */
  readonly subPath: (mount: VolumeMount) => string;
  /** The resolved image of an image volume, by volume name. */
  readonly imageOf: (volumeName: string) => string | undefined;
  /** Empty for the runtime's default. */
  readonly runtimeHandler: string;
}

export interface MountedVolume {
  readonly wanted: WantedMount;
  readonly plugin: VolumePlugin;
}

export interface ContainerMountsRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly surroundings: VolumeMountContext;
  /** The volume of this name, if it is mounted. */
  readonly volume: (name: string) => MountedVolume | undefined;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
  readonly isSelinuxEnabled: boolean;
  /** Binds a part of a volume to its own path and returns that path. */
  readonly bindSubPath: (bind: {
    readonly volume: MountedVolume;
    readonly volumePath: string;
    readonly subPath: string;
    readonly mountIndex: number;
    readonly mount: VolumeMount;
  }) => Promise<string>;
}

/** In the order of the spec. Throws with the message of CreateContainerConfigError. */
export async function containerMounts(request: ContainerMountsRequest): Promise<Init<Mount>[]> {
  const mounts: Init<Mount>[] = [];
  for (const [index, mount] of (request.container.volumeMounts ?? []).entries()) {
    mounts.push(await containerMount(request, mount, index));
  }
  return mounts;
}

async function containerMount(
  request: ContainerMountsRequest,
  mount: VolumeMount,
  mountIndex: number,
): Promise<Init<Mount>> {
  const { surroundings, container, supportsRecursiveReadOnly } = request;
  const volume = request.volume(mount.name);
  if (volume === undefined) throw missingVolume(mount, container.name);
  const { wanted, plugin } = volume;
  const traits = plugin.traits(wanted.spec);
  const common = {
    containerPath: isAbsolute(mount.mountPath) ? mount.mountPath : `/${mount.mountPath}`,
    readonly: mount.readOnly === true || traits.readOnly,
    propagation: mountPropagation(mount.mountPropagation),
    ...(mount.bindMountOptions === undefined ? {} : { mountOptions: mount.bindMountOptions }),
    recursiveReadOnly: recursiveReadOnly(mount, supportsRecursiveReadOnly(surroundings.runtimeHandler)),
    // A mount with a label gives it to all files.
    selinuxRelabel:
      traits.managed && traits.relabel && request.isSelinuxEnabled && (wanted.seLinuxLabel ?? '') === '',
  };
  const subPath = surroundings.subPath(mount);
  const problem = subPath === '' ? undefined : subPathProblem(subPath);
  if (problem !== undefined) throw new Error(problem);
  const volumePath = plugin.hostPath(wanted.spec, wanted.podUid);
  if (volumePath === undefined) return { ...common, ...imageMount(request, mount, volume, subPath) };
  const hostPath =
    subPath === ''
      ? volumePath
      : await request.bindSubPath({ volume, volumePath, subPath, mountIndex, mount });
  return { ...common, hostPath };
}

function imageMount(
  { pod, container, surroundings }: ContainerMountsRequest,
  mount: VolumeMount,
  { wanted }: MountedVolume,
  subPath: string,
): Init<Mount> {
  const image = surroundings.imageOf(mount.name);
  if (image === undefined) throw missingVolume(mount, container.name);
  return {
    image: {
      image,
      userSpecifiedImage: wanted.spec.volume.image?.reference ?? '',
      runtimeHandler: surroundings.runtimeHandler,
      annotations: { ...pod.metadata.annotations },
    },
    imageSubPath: subPath,
  };
}

function missingVolume({ name }: VolumeMount, container: string): Error {
  return new Error(`cannot find volume ${goQuote(name)} to mount into container ${goQuote(container)}`);
}

export function mountPropagation(mode: string | undefined): MountPropagation {
  switch (mode) {
    case undefined:
    case 'None':
      return MountPropagation.PROPAGATION_PRIVATE;
    case 'HostToContainer':
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case 'Bidirectional':
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw new Error(`invalid MountPropagation mode: ${goQuote(mode)}`);
  }
}

/** Whether mounts below a read-only mount are read-only, too. */
export function recursiveReadOnly(mount: VolumeMount, isSupported: boolean): boolean {
  try {
    return resolveRecursiveReadOnly(mount, isSupported);
  } catch (error) {
    throw new Error(`failed to resolve recursive read-only mode: ${errorText(error)}`, { cause: error });
  }
}

function resolveRecursiveReadOnly(
  { name, readOnly, recursiveReadOnly: mode, mountPropagation: propagation }: VolumeMount,
  isSupported: boolean,
): boolean {
  if (mode === undefined || mode === 'Disabled') return false;
  const asked = `volume ${goQuote(name)} requested recursive read-only mode, but it is`;
  if (readOnly !== true) throw new Error(`${asked} not read-only`);
  if (propagation !== undefined && propagation !== 'None') {
    throw new Error(`${asked} not compatible with propagation ${goQuote(propagation)}`);
  }
  if (mode === 'IfPossible') return isSupported;
  if (mode !== 'Enabled') throw new Error(`unknown recursive read-only mode ${goQuote(mode)}`);
  if (!isSupported) throw new Error(`${asked} not supported by the runtime`);
  return true;
}
