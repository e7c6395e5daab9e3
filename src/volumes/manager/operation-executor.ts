/** Runs single volume operations and keeps the actual state true at every step. */
import type { Host } from '../../host/index.js';
import type { VolumePlugin } from '../contracts.js';
import { cleanSubPaths } from '../subpath/index.js';
import { runMount } from './mount-operation.js';
import type { NodeIdentity } from './node-affinity.js';
import { afterFailedMount, afterFailedUnmount, afterMount, failureClass } from './outcome.js';
import type { PlannedOperation } from './plan.js';
import {
  type ActualDevice,
  type ActualMount,
  type ActualState,
  mountKey,
  type WantedMount,
} from './states.js';

export interface VolumeOperatorOptions {
  readonly host: Host;
  readonly plugins: readonly VolumePlugin[];
  readonly node: () => NodeIdentity;
  readonly podDirectory: (uid: string) => string;
}

export class OperationExecutor {
  readonly #options: VolumeOperatorOptions;
  readonly #plugins: ReadonlyMap<string, VolumePlugin>;
  readonly #mounts = new Map<string, ActualMount>();
  readonly #devices = new Map<string, ActualDevice>();
  /** Volumes whose content may have changed since their last set-up began. */
  readonly #stale = new Set<string>();
  readonly actual: ActualState = { mounts: this.#mounts, devices: this.#devices };

  constructor(options: VolumeOperatorOptions) {
    this.#options = options;
    this.#plugins = new Map(options.plugins.map((plugin) => [plugin.name, plugin]));
  }

  /** Adopts what an earlier run left as possibly mounted. */
  adopt(mounts: readonly ActualMount[], devices: readonly ActualDevice[]): void {
    for (const mount of mounts) this.#mounts.set(mountKey(mount), mount);
    for (const device of devices) this.#devices.set(device.uniqueName, device);
  }

  plugin({ pluginName }: { readonly pluginName: string }): VolumePlugin {
    const plugin = this.#plugins.get(pluginName);
    if (plugin === undefined) throw new Error(`there is no volume plugin ${pluginName}`);
    return plugin;
  }

  isMounted(wanted: WantedMount): boolean {
    return this.#mounts.get(mountKey(wanted))?.state === 'mounted';
  }

  /** The volume's content may have changed. A running set-up may have read the old content, so it is repeated. */
  markStale(wanted: WantedMount): void {
    if (!wanted.refreshes) return;
    const key = mountKey(wanted);
    this.#stale.add(key);
    const mount = this.#mounts.get(key);
    if (mount?.state === 'mounted') this.#mounts.set(key, { ...mount, remountRequired: true });
  }

  forget(wanted: WantedMount): void {
    this.#stale.delete(mountKey(wanted));
  }

  run(operation: PlannedOperation, signal: AbortSignal): Promise<void> {
    switch (operation.name) {
      case 'volume_mount':
        return this.#mount(operation.wanted, operation.isRemount, signal);
      case 'volume_unmount':
        return this.#unmount(operation.mount);
      case 'unmount_device':
        return this.#unmountDevice(operation.device);
    }
  }

  async #mount(wanted: WantedMount, isRemount: boolean, signal: AbortSignal): Promise<void> {
    const key = mountKey(wanted);
    this.#stale.delete(key);
    try {
      const onDevice = (device: ActualDevice): void => void this.#devices.set(device.uniqueName, device);
      const node = this.#options.node();
      await runMount(
        { wanted, plugin: this.plugin(wanted), isRemount, node, actual: this.actual, onDevice },
        signal,
      );
    } catch (error) {
      const left = afterFailedMount(this.#mounts.get(key), wanted, failureClass(error));
      if (left === undefined) this.#mounts.delete(key);
      else this.#mounts.set(key, left);
      throw error;
    }
    this.#mounts.set(key, afterMount(wanted, this.#stale.has(key)));
  }

  async #unmount(mount: ActualMount): Promise<void> {
    const { host, podDirectory } = this.#options;
    const { podUid, innerName } = mount;
    try {
      await cleanSubPaths({ host, podDirectory: podDirectory(podUid), innerVolumeName: innerName });
      await this.plugin(mount).tearDown({ podUid, innerName });
    } catch (error) {
      this.#mounts.set(mountKey(mount), afterFailedUnmount(mount));
      throw error;
    }
    this.#mounts.delete(mountKey(mount));
  }

  async #unmountDevice(device: ActualDevice): Promise<void> {
    try {
      await this.plugin(device).devices?.unmountDevice(device);
    } catch (error) {
      this.#devices.set(device.uniqueName, { ...device, state: 'uncertain' });
      throw error;
    }
    this.#devices.delete(device.uniqueName);
  }
}
