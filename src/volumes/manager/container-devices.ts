/** Turns a container's volumeDevices into devices for the runtime. */
import { isAbsolute } from 'node:path/posix';
import type { Device, Init } from '../../cri/index.js';
import { type AnyContainer, goQuote } from '../../kube/index.js';
import type { WantedMount } from './states.js';

export interface ContainerDevicesRequest {
  readonly container: AnyContainer;
  /** The block volume of this name, if the pod has its device. */
  readonly volume: (name: string) => WantedMount | undefined;
  /** The link to the pod's device; undefined if there is none. */
  readonly device: (volume: WantedMount) => Promise<string | undefined>;
}

/** In the order of the spec. Throws with the message of CreateContainerConfigError. */
export async function containerDevices({
  container,
  volume,
  device,
}: ContainerDevicesRequest): Promise<Init<Device>[]> {
  const devices: Init<Device>[] = [];
  for (const { name, devicePath: containerPath } of container.volumeDevices ?? []) {
    if (!isAbsolute(containerPath)) {
      throw new Error(`error DevicePath \`${containerPath}\` must be an absolute path`);
    }
    const wanted = volume(name);
    if (wanted === undefined) {
      throw new Error(
        `cannot find volume ${goQuote(name)} to pass into container ${goQuote(container.name)}`,
      );
    }
    const hostPath = await device(wanted);
    if (hostPath === undefined) continue;
    const isReadOnly = wanted.spec.kind === 'persistent' && wanted.spec.readOnly;
    devices.push({ containerPath, hostPath, permissions: isReadOnly ? 'r' : 'mrw' });
  }
  return devices;
}
