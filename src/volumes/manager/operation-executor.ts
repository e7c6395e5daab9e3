/** Runs single volume operations and keeps the actual state true at every step. */
import { errorText } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import type { VolumeStep } from '../../timeline/index.js';
import { VolumeFailure, type VolumePlugin } from '../contracts.js';
import {
  type ExpansionEffect,
  type ExpansionPorts,
  expandInUse,
  expandMounted,
  VolumeSizes,
} from '../expansion/index.js';
import { cleanSubPaths } from '../subpath/index.js';
import { BlockOperations, type MappedPaths } from './block-operations.js';
import { FailedMount, type MountOperation, runMount } from './mount-operation.js';
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
  /** Absent where claims have no status; then nothing is expanded. */
  readonly expansion?: Omit<ExpansionPorts, 'sizes'> | undefined;
  /** Called when a pod has got a device. */
  readonly onMapped?: ((wanted: WantedMount, paths: MappedPaths) => void) | undefined;
  /** Called when a step of a volume's driver begins; not of routine refreshes. */
  readonly onStep?: ((volume: WantedMount | ActualMount, step: VolumeStep) => void) | undefined;
}

type SetUpOptions = Pick<MountOperation, 'plugin' | 'node' | 'actual' | 'onDevice' | 'onStep'>;
type SetUpOperation = Extract<PlannedOperation, { name: 'volume_mount' | 'map_volume' }>;

export class OperationExecutor {
  readonly #options: VolumeOperatorOptions;
  readonly #plugins: ReadonlyMap<string, VolumePlugin>;
  readonly #mounts = new Map<string, ActualMount>();
  readonly #devices = new Map<string, ActualDevice>();
  /** Volumes whose content may have changed since their last set-up began. */
  readonly #stale = new Set<string>();
  readonly #block: BlockOperations;
  readonly sizes = new VolumeSizes();
  readonly actual: ActualState = { mounts: this.#mounts, devices: this.#devices, sizes: this.sizes };

  constructor(options: VolumeOperatorOptions) {
    this.#options = options;
    this.#plugins = new Map(options.plugins.map((plugin) => [plugin.name, plugin]));
    this.#block = new BlockOperations(options);
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

  /** `later`: nothing could be done yet, which is no failure. */
  async run(operation: PlannedOperation, signal: AbortSignal): Promise<ExpansionEffect> {
    if (operation.name === 'volume_fs_resize') return this.#resize(operation, signal);
    await this.#runToEnd(operation, signal);
    return 'done';
  }

  #runToEnd(
    operation: Exclude<PlannedOperation, { name: 'volume_fs_resize' }>,
    signal: AbortSignal,
  ): Promise<void> {
    switch (operation.name) {
      case 'volume_mount':
        return this.#mount(operation, signal);
      case 'volume_unmount':
        return this.#unmount(operation.mount);
      case 'unmount_device':
        return this.#unmountDevice(operation.device);
      case 'map_volume':
        return this.#map(operation, signal);
      case 'unmap_volume':
        return this.#unmap(operation.mount);
      case 'unmap_device':
        return this.#unmapDevice(operation.device);
    }
  }

  /** The link to the pod's device; undefined if there is none. */
  mappedDevice(wanted: WantedMount): Promise<string | undefined> {
    return this.#block.link(wanted, this.plugin(wanted));
  }

  #mount({ wanted, isRemount, isRoutine }: SetUpOperation, signal: AbortSignal): Promise<void> {
    return this.#setUp(wanted, isRoutine, async (options) => {
      await runMount({ ...options, wanted, isRemount }, signal);
      await this.#expandMounted(wanted, signal, 'MountVolume.Setup failed while expanding volume');
    });
  }

  async #map({ wanted, isRemount, isRoutine }: SetUpOperation, signal: AbortSignal): Promise<void> {
    await this.#setUp(wanted, isRoutine, async (options) => {
      await this.#block.map({ ...options, wanted, isRemount }, signal);
      this.#options.onMapped?.(wanted, this.#block.paths(wanted, options.plugin));
      const step = 'MapVolume.MarkVolumeAsMounted failed while expanding volume';
      await this.#expandMounted(wanted, signal, step);
    });
  }

  /** Runs a set-up, and keeps what it leaves. */
  async #setUp(
    wanted: WantedMount,
    isRoutine: boolean,
    work: (options: SetUpOptions) => Promise<void>,
  ): Promise<void> {
    const key = mountKey(wanted);
    this.#stale.delete(key);
    try {
      const onDevice = (device: ActualDevice): void => void this.#devices.set(device.uniqueName, device);
      const onStep = (step: VolumeStep): void => {
        if (!isRoutine) this.#options.onStep?.(wanted, step);
      };
      const node = this.#options.node();
      await work({ plugin: this.plugin(wanted), node, actual: this.actual, onDevice, onStep });
    } catch (error) {
      const left = afterFailedMount(this.#mounts.get(key), wanted, failureClass(error));
      if (left === undefined) this.#mounts.delete(key);
      else this.#mounts.set(key, left);
      throw error;
    }
    this.#mounts.set(key, afterMount(wanted, this.#stale.has(key)));
  }

  async #expandMounted(wanted: WantedMount, signal: AbortSignal, step: string): Promise<void> {
    const { expansion } = this.#options;
    const { spec, size, innerName } = wanted;
    if (expansion === undefined || size === undefined || spec.kind !== 'persistent') return;
    // As both were read together; only then the claim is worth another question.
    if (size.claimBytes >= size.volumeBytes) return;
    const ports = { ...expansion, sizes: this.sizes };
    const subject = { ...wanted, spec, claim: size.claim };
    await expandMounted(ports, this.plugin(wanted), subject, signal).catch((error: unknown) => {
      const failure = new VolumeFailure('uncertain', errorText(error), { cause: error });
      const reason = wanted.mode === 'Block' ? 'FailedMapVolume' : 'FailedMount';
      throw new FailedMount(step, innerName, failure, reason);
    });
  }

  async #resize(
    { wanted, size }: Extract<PlannedOperation, { name: 'volume_fs_resize' }>,
    signal: AbortSignal,
  ): Promise<ExpansionEffect> {
    const { expansion } = this.#options;
    const { spec } = wanted;
    if (expansion === undefined || spec.kind !== 'persistent') return 'later';
    const ports = { ...expansion, sizes: this.sizes };
    return expandInUse(ports, this.plugin(wanted), { ...wanted, spec, claim: size.claim }, signal);
  }

  async #unmount(mount: ActualMount): Promise<void> {
    const { host, podDirectory } = this.#options;
    const { podUid, innerName } = mount;
    try {
      await cleanSubPaths({ host, podDirectory: podDirectory(podUid), innerVolumeName: innerName });
      this.#options.onStep?.(mount, 'unpublish');
      await this.plugin(mount).tearDown({ podUid, innerName });
    } catch (error) {
      this.#mounts.set(mountKey(mount), afterFailedUnmount(mount));
      throw error;
    }
    this.#mounts.delete(mountKey(mount));
    this.#forgetSize(mount.uniqueName);
  }

  async #unmountDevice(device: ActualDevice): Promise<void> {
    try {
      await this.plugin(device).devices?.unmountDevice(device);
    } catch (error) {
      this.#devices.set(device.uniqueName, { ...device, state: 'uncertain' });
      throw error;
    }
    this.#devices.delete(device.uniqueName);
    this.#forgetSize(device.uniqueName);
  }

  async #unmap(mount: ActualMount): Promise<void> {
    const key = mountKey(mount);
    this.#mounts.set(key, afterFailedUnmount(mount));
    this.#options.onStep?.(mount, 'unpublish');
    await this.#block.unmap(mount, this.plugin(mount));
    this.#mounts.delete(key);
    this.#forgetSize(mount.uniqueName);
  }

  async #unmapDevice(device: ActualDevice): Promise<void> {
    await this.#block.unmapDevice(device, this.plugin(device), () => {
      this.#devices.set(device.uniqueName, { ...device, state: 'uncertain' });
    });
    this.#devices.delete(device.uniqueName);
    this.#forgetSize(device.uniqueName);
  }

  #forgetSize(uniqueName: string): void {
    if (this.#devices.has(uniqueName)) return;
    for (const mount of this.#mounts.values()) if (mount.uniqueName === uniqueName) return;
    this.sizes.forget(uniqueName);
  }
}
