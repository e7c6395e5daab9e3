/** Operations on block volumes: a pod gets a device, loses it, and the device itself is released. */
import { join } from 'node:path/posix';
import { type Host, removeTree } from '../../host/index.js';
import { goQuote } from '../../kube/index.js';
import { type DeviceMap, forgetDevice, mappedDevice, podsWithDevice, unmapDevice } from '../block/index.js';
import type { BlockVolumes, VolumePlugin } from '../contracts.js';
import { type MapOperation, runMap } from './map-operation.js';
import { type ActualDevice, type ActualMount, escapePluginName, type WantedMount } from './states.js';

export interface BlockOperationsOptions {
  readonly host: Host;
  readonly podDirectory: (uid: string) => string;
}

export interface MappedPaths {
  /** The directory of the binds of the device, one for each pod. */
  readonly globalMapPath: string;
  /** The directory of the pod's links to devices. */
  readonly volumeMapPath: string;
}

export class BlockOperations {
  readonly #options: BlockOperationsOptions;

  constructor(options: BlockOperationsOptions) {
    this.#options = options;
  }

  /** Rejects with FailedMount. */
  map(operation: Omit<MapOperation, 'host' | 'map'>, signal: AbortSignal): Promise<void> {
    const { wanted, plugin } = operation;
    return runMap({ ...operation, host: this.#options.host, map: this.#map(wanted, plugin.block) }, signal);
  }

  paths({ podUid, pluginName, innerName }: WantedMount, { block }: VolumePlugin): MappedPaths {
    return {
      globalMapPath: block?.mapDirectory(innerName) ?? '',
      volumeMapPath: join(this.#options.podDirectory(podUid), 'volumeDevices', escapePluginName(pluginName)),
    };
  }

  /** The link to the pod's device; undefined if there is none. */
  link(wanted: WantedMount, plugin: VolumePlugin): Promise<string | undefined> {
    return mappedDevice(this.#options.host, this.#map(wanted, blockOf(plugin)));
  }

  async unmap(mount: ActualMount, plugin: VolumePlugin): Promise<void> {
    const { host } = this.#options;
    const { podUid, innerName } = mount;
    const block = blockOf(plugin);
    const map = this.#map(mount, block);
    await unmapDevice(host, map);
    await block.unmapPodDevice({ podUid, innerName });
    await forgetDevice(host, map);
  }

  /** `onBegin` is called once the device may be half released. */
  async unmapDevice(device: ActualDevice, plugin: VolumePlugin, onBegin: () => void): Promise<void> {
    const { host } = this.#options;
    const { innerName, devicePath } = device;
    const block = blockOf(plugin);
    const mapDirectory = block.mapDirectory(innerName);
    const failed = `UnmapDevice failed for volume ${goQuote(innerName)} :`;
    const pods = await podsWithDevice(host, mapDirectory);
    if (pods.length > 0) {
      const name = goQuote(devicePath ?? mapDirectory);
      throw new Error(`${failed} the device ${name} is still referenced from other Pods [${pods.join(' ')}]`);
    }
    onBegin();
    await block.tearDownDevice(device);
    await removeTree(host, mapDirectory);
    if (devicePath !== undefined && (await host.blockDevices.isClaimed(devicePath))) {
      throw new Error(`${failed} the device is in use when it was no longer expected to be in use`);
    }
  }

  #map(
    { podUid, pluginName, innerName }: WantedMount | ActualMount,
    block: BlockVolumes | undefined,
  ): DeviceMap {
    const podDirectory = this.#options.podDirectory(podUid);
    return {
      podDirectory,
      link: join(podDirectory, 'volumeDevices', escapePluginName(pluginName), innerName),
      // A volume without a mapper is refused before anything is made.
      file: join(block?.mapDirectory(innerName) ?? podDirectory, podUid),
    };
  }
}

function blockOf({ block, name }: VolumePlugin): BlockVolumes {
  if (block === undefined) throw new Error(`volumes of ${name} cannot be block devices`);
  return block;
}
