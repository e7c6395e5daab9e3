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
import { machineFiles } from './machine-files.js';

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

export class SimulatedNode {
  readonly clock: VirtualClock;
  readonly runtime: OpenRuntime;
  readonly files: SimulatedMachine;
  readonly api: SimulatedKubeApi;
  readonly events: EventSink;

  private constructor(clock: VirtualClock, files: SimulatedMachine, seed: number, observer: SimObserver) {
    this.clock = clock;
    this.files = files;
    this.runtime = new OpenRuntime({ clock, seed: String(seed), observer });
    this.api = new SimulatedKubeApi({ clock, rememberedCalls: 0 });
    this.events = new EventSink({ clock, rememberedCalls: 0 });
  }

  static async create(
    seed: number,
    observerOf: (clock: VirtualClock) => SimObserver,
  ): Promise<SimulatedNode> {
    const clock = new VirtualClock(undefined, { settleTurns: 1 });
    return new SimulatedNode(clock, await machineFiles(), seed, observerOf(clock));
  }
}
