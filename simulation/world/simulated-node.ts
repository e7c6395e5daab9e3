/** What outlives the processes of a kubelet: the machine with its runtime and files, and the cluster's API. */
import { VirtualClock } from '../../src/async/index.js';
import type { SimulatedMachine } from '../../src/host/index.js';
import type { KubeObject } from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import type { Resource, UnpostedObject } from '../../src/kube-client/index.js';
import {
  type SimContainer,
  type SimObserver,
  SimRuntime,
  type SimSandbox,
} from '../../src/runtimes/sim/index.js';
import type { NodeDraft } from '../plan/step.js';
import { DevicePluginProcess } from './device-plugin.js';
import { Load } from './load.js';
import { machineFiles } from './machine-files.js';
import { Storage } from './storage.js';

/** Takes events and keeps none: a real API drops them after an hour, and they are not the node's. */
class EventSink extends SimulatedKubeApi {
  override async create<T extends KubeObject>(_: Resource<T>, object: UnpostedObject<T>): Promise<T> {
    // Nobody reads what a real server would have added.
    return object as unknown as T;
  }
}

/** The runtime as those see it who look at the machine without calling it. */
export class OpenRuntime extends SimRuntime {
  get allSandboxes(): readonly SimSandbox[] {
    return [...this.store.sandboxes.values()];
  }

  get allContainers(): readonly SimContainer[] {
    return [...this.store.containers.values()];
  }

  get runningContainers(): readonly SimContainer[] {
    return this.allContainers.filter(({ state }) => state.kind === 'running');
  }
}

export interface SimulatedNodeOptions {
  readonly seed: number;
  readonly draft: NodeDraft;
  readonly observerOf: (clock: VirtualClock) => SimObserver;
  /** Whether a container is one that the kubelet made. */
  readonly counts: (container: SimContainer) => boolean;
}

export class SimulatedNode {
  readonly clock: VirtualClock;
  readonly runtime: OpenRuntime;
  readonly files: SimulatedMachine;
  readonly api: SimulatedKubeApi;
  readonly events: EventSink;
  readonly devicePlugin: DevicePluginProcess | undefined;
  readonly storage: Storage | undefined;
  readonly load: Load | undefined;

  private constructor(
    clock: VirtualClock,
    files: SimulatedMachine,
    { seed, draft, observerOf, counts }: SimulatedNodeOptions,
  ) {
    this.clock = clock;
    this.files = files;
    this.runtime = new OpenRuntime({ clock, seed: String(seed), observer: observerOf(clock) });
    this.api = new SimulatedKubeApi({ clock, rememberedCalls: 0 });
    this.events = new EventSink({ clock, rememberedCalls: 0 });
    this.devicePlugin = draft.devices === true ? new DevicePluginProcess(clock) : undefined;
    this.storage = draft.csi === true ? new Storage(this, counts) : undefined;
    this.load = draft.eviction ? new Load(this.runtime, clock) : undefined;
  }

  static async create(options: SimulatedNodeOptions): Promise<SimulatedNode> {
    const clock = new VirtualClock(undefined, { settleTurns: 1 });
    const node = new SimulatedNode(clock, await machineFiles(), options);
    await node.storage?.begin();
    return node;
  }
}
