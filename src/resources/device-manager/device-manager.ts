/** Gives containers the devices of plugins, and remembers who holds which across restarts. */
import { join } from 'node:path/posix';
import { type Clock, errorText } from '../../async/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import {
  type AnyContainer,
  aggregateContainers,
  type Pod,
  quantityValue,
  type ResourceStatus,
} from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import {
  type AllocationOutcome,
  allocated,
  type HintProvider,
  type ResourceHints,
  type TopologyHint,
} from '../topology-manager/index.js';
import type { DeviceAdditions } from './added-devices.js';
import { type DeviceRecord, deviceCheckpointName, type OpenDevicePlugin } from './contracts.js';
import { DeviceAllocations } from './device-allocations.js';
import { formatDeviceCheckpoint, parseDeviceCheckpoint } from './device-checkpoint.js';
import { deviceHints, heldHints } from './device-hints.js';
import { DevicePlugins } from './device-plugins.js';
import { DeviceRecorder } from './device-recorder.js';
import { type DeviceHolder, DeviceRecords, reusableIds } from './device-records.js';
import type { DeviceManagerMetrics } from './metrics.js';
import { deviceLimitsOf } from './resource-name.js';
import { changedDevices, type ResourceState, shownHealth } from './resource-state.js';
import { type DeviceStartPorts, startAdditions } from './start-additions.js';

export interface DeviceManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly open: OpenDevicePlugin;
  /** Where the record of who holds what lies. Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly directory: string; readonly store: DurableFiles } | undefined;
  readonly metrics: DeviceManagerMetrics;
  /** How long a pod waits for a plugin that has not registered yet; 0: it is refused at once. */
  readonly waitMs: number;
  /** The ids of the machine's NUMA nodes, ascending; empty where nobody asks for hints. */
  readonly machineNodes: readonly number[];
  readonly allSourcesReady: () => boolean;
  readonly isActive: (podUid: string) => boolean;
  /** Pods whose status has to tell another health. */
  readonly sync: (podUids: readonly string[]) => void;
  /** What the node offers may have changed. */
  readonly onChange?: () => void;
}

export interface DeviceCapacity {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Resources that are counted no longer. */
  readonly removed: readonly string[];
}

export class DeviceManager implements HintProvider {
  readonly name = 'devices';
  readonly plugins: DevicePlugins;
  readonly #options: DeviceManagerOptions;
  readonly #recorder: DeviceRecorder;
  readonly #file: DurableState | undefined;
  readonly #records = new DeviceRecords();
  readonly #allocations: DeviceAllocations;
  readonly #starts: DeviceStartPorts;
  /** Containers that ran when the agent started, by pod and name. */
  #ranBefore: ReadonlySet<string> = new Set();
  /** Resources that are counted no longer, until a plugin offers them again. */
  readonly #removed = new Set<string>();

  constructor(options: DeviceManagerOptions) {
    this.#options = options;
    const { clock, open, checkpoint, sync } = options;
    this.#recorder = new DeviceRecorder(options.timeline);
    this.plugins = new DevicePlugins({
      clock,
      open,
      recorder: this.#recorder,
      onReport: (resource, before) => {
        const owners = this.#owners(resource, changedDevices(before, this.#table(resource)));
        if (owners.length > 0) sync(owners);
        this.#removed.delete(resource);
        this.#file?.changed();
      },
      onChange: (resource) => {
        this.#allocations.changed(resource);
        options.onChange?.();
      },
    });
    this.#allocations = new DeviceAllocations({
      ...options,
      recorder: this.#recorder,
      plugins: this.plugins,
      records: this.#records,
      ranBefore: (uid, name) => !options.allSourcesReady() && this.#ranBefore.has(`${uid}/${name}`),
      write: () => this.#write(),
    });
    const { plugins } = this;
    this.#starts = { ...options, plugins, records: this.#records, allocations: this.#allocations };
    if (checkpoint === undefined) return;
    this.#file = new DurableState(
      checkpoint.store,
      join(checkpoint.directory, deviceCheckpointName),
      () => this.checkpointText(),
      { directoryMode: 0o755 },
    );
  }

  /** Rejects if the disk cannot be read just now. `running`: what runs, as the runtime tells. */
  async start(running: readonly { readonly podUid: string; readonly name: string }[]): Promise<void> {
    const { checkpoint } = this.#options;
    this.#ranBefore = new Set(running.map(({ podUid, name }) => `${podUid}/${name}`));
    if (checkpoint === undefined) return;
    const { store, directory } = checkpoint;
    const read = await store.read(join(directory, deviceCheckpointName), parseDeviceCheckpoint);
    if (read.kind === 'set aside') this.#recorder.checkpointLost(read.reason);
    if (read.kind !== 'found') return;
    for (const { podUid, container, resource, record } of read.value.holders) {
      this.#records.set(podUid, container, resource, record);
    }
    this.plugins.remember(read.value.registered.keys());
  }

  async stop(): Promise<void> {
    await Promise.all([this.#allocations.stop(), this.plugins.stop()]);
    await this.#file?.stop();
  }

  containerHints(pod: Pod, container: AnyContainer): ResourceHints | undefined {
    const hints = new Map<string, readonly TopologyHint[] | undefined>();
    for (const [resource, count] of this.#demands(pod, container)) {
      const held = this.#records.ids(pod.metadata.uid, container.name, resource);
      const reusable = reusableIds(pod, container, resource, this.#records);
      hints.set(resource, this.#hints(resource, count, held, reusable));
    }
    return hints.size === 0 ? undefined : hints;
  }

  podHints(pod: Pod): ResourceHints | undefined {
    const hints = new Map<string, readonly TopologyHint[] | undefined>();
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const resources = new Set(containers.flatMap((one) => this.#demands(pod, one).map(([name]) => name)));
    if (resources.size === 0) return undefined;
    const totals = aggregateContainers(pod.spec, 'limits');
    for (const resource of [...resources].sort()) {
      const total = totals.get(resource);
      const held = new Set(
        containers.flatMap(({ name }) => [...this.#records.ids(pod.metadata.uid, name, resource)]),
      );
      const count = total === undefined ? 0 : Number(quantityValue(total));
      hints.set(resource, this.#hints(resource, count, held, new Set()));
    }
    return hints;
  }

  #hints(
    resource: string,
    count: number,
    held: ReadonlySet<string>,
    reusable: ReadonlySet<string>,
  ): readonly TopologyHint[] | undefined {
    const { machineNodes } = this.#options;
    const state = this.plugins.state(resource);
    const demand = { count, table: state?.table ?? new Map(), machineNodes };
    if (held.size > 0) return heldHints(held, demand);
    const inUse = this.#records.inUse(resource);
    const available = new Set([...(state?.healthy ?? [])].filter((id) => !inUse.has(id)));
    return deviceHints({ ...demand, available, reusable });
  }

  /** Never waits for a plugin: what takes its time goes on beside, and the pod is judged again when it has ended. */
  allocate(pod: Pod, container: AnyContainer, hint: TopologyHint): AllocationOutcome {
    for (const [resource, count] of this.#demands(pod, container)) {
      const outcome = this.#allocations.allocate({ pod, container, resource, count, hint }, true);
      if (outcome.kind !== 'allocated') return outcome;
    }
    return allocated;
  }

  async #write(): Promise<void> {
    this.#file?.changed();
    try {
      await this.#file?.written();
    } catch (error) {
      throw new Error(`failed to write checkpoint file "${deviceCheckpointName}": ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  /** What a container gets when it is created; rejects with the reason why it cannot be. */
  additions(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<DeviceAdditions> {
    const wanted = this.#demands(pod, container).filter(([, count]) => count > 0);
    return startAdditions(this.#starts, { pod, container, wanted }, signal);
  }

  /** What the node offers; forgets the resources of plugins that stayed away too long. */
  capacity(): DeviceCapacity {
    const expired = this.plugins.expire();
    for (const resource of expired) this.#removed.add(resource);
    if (expired.length > 0) this.#file?.changed();
    const capacity: Record<string, string> = {};
    const allocatable: Record<string, string> = {};
    for (const [resource, { isKnown, healthy, unhealthy }] of this.plugins.states()) {
      if (!isKnown) continue;
      capacity[resource] = String(healthy.size + unhealthy.size);
      allocatable[resource] = String(healthy.size);
    }
    return { capacity, allocatable, removed: [...this.#removed].sort() };
  }

  /** How many devices of each resource are in use; undefined for a pod that holds none. */
  inUse(podUid: string): ReadonlyMap<string, number> | undefined {
    if (!this.#records.has(podUid)) return undefined;
    return this.#records.heldCounts();
  }

  /** Whether any resource of plugins is known, or held. */
  get hasDevices(): boolean {
    return this.plugins.states().length > 0 || !this.#records.isEmpty;
  }

  /** What a container holds, by resource in the order of names. */
  ofContainer(podUid: string, container: string): readonly (readonly [string, DeviceRecord])[] {
    return this.#records.ofContainer(podUid, container);
  }

  /** Who holds what, for those who report it. */
  holders(): readonly DeviceHolder[] {
    return [...this.#records.holders()];
  }

  /** Healthy and other devices by resource, for those who report them. */
  resources(): readonly (readonly [string, ResourceState])[] {
    return this.plugins.states();
  }

  /** For the status of a pod; undefined if the container has no devices. */
  health(podUid: string, container: string): ResourceStatus[] | undefined {
    const records = this.#records.ofContainer(podUid, container);
    if (records.length === 0) return undefined;
    return records.map(([name]) => ({
      name,
      resources: [...this.#records.ids(podUid, container, name)]
        .sort()
        .map((id) => ({ resourceID: id, health: shownHealth(this.#table(name), id) })),
    }));
  }

  /** Takes back what no active pod holds. The file follows with the next change, as the reference kubelet's does. */
  keepOnly(isKept: (podUid: string) => boolean): void {
    for (const freed of this.#records.keepOnly(isKept)) this.#recorder.freed(freed);
    this.#allocations.keepOnly(isKept);
  }

  /** What the file says. */
  checkpointText(): string {
    const registered = this.plugins
      .states()
      .filter(([, { isKnown }]) => isKnown)
      .map(([resource, { healthy }]): [string, string[]] => [resource, [...healthy].sort()]);
    return formatDeviceCheckpoint({ holders: [...this.#records.holders()], registered: new Map(registered) });
  }

  /** Limits of resources that plugins offer, or that somebody holds. */
  #demands(pod: Pod, container: AnyContainer): readonly (readonly [string, number])[] {
    return deviceLimitsOf(pod, container).filter(
      ([resource]) => this.plugins.state(resource)?.isKnown === true || this.#records.isHeld(resource),
    );
  }

  #table(resource: string): ResourceState['table'] {
    return this.plugins.state(resource)?.table ?? new Map();
  }

  #owners(resource: string, ids: readonly string[]): readonly string[] {
    if (ids.length === 0) return [];
    const changed = new Set(ids);
    const owners = new Set<string>();
    for (const { podUid, container, resource: of } of this.#records.holders()) {
      if (of !== resource) continue;
      const held = this.#records.ids(podUid, container, resource);
      if ([...held].some((id) => changed.has(id))) owners.add(podUid);
    }
    return [...owners];
  }
}
