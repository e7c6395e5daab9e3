/** A device manager with its file on a simulated machine, and plugins that come and go, for tests. */
import { settle, VirtualClock } from '../../async/index.js';
import { DurableFiles, type SimulatedHost, simulatedHost } from '../../host/index.js';
import type { Container, Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { DeviceManager, type DeviceManagerOptions } from './device-manager.js';
import { idsOf } from './device-records.js';
import { createDeviceManagerMetrics } from './metrics.js';
import { DeviceRegistration } from './registration.js';
import { TestPluginSockets, testDirectory } from './test-plugins.js';

export const resource = 'example.com/resource';

export interface TestDevicesOptions {
  readonly clock?: VirtualClock;
  readonly host?: SimulatedHost;
  readonly sockets?: TestPluginSockets;
  readonly waitMs?: number;
  readonly machineNodes?: readonly number[];
  readonly running?: readonly { readonly podUid: string; readonly name: string }[];
  readonly areSourcesReady?: boolean;
}

/** One life of the agent, as far as devices go. */
export class TestDevices {
  readonly manager: DeviceManager;
  readonly registration: DeviceRegistration;
  readonly clock: VirtualClock;
  readonly host: SimulatedHost;
  readonly sockets: TestPluginSockets;
  readonly timeline: Timeline;
  readonly metrics = createDeviceManagerMetrics();
  readonly synced: string[] = [];
  readonly active = new Set<string>();
  areSourcesReady: boolean;

  constructor({
    clock = new VirtualClock(),
    host = simulatedHost(),
    sockets = new TestPluginSockets(),
    waitMs = 0,
    machineNodes = [0, 1],
    areSourcesReady = true,
  }: TestDevicesOptions = {}) {
    this.clock = clock;
    this.host = host;
    this.sockets = sockets;
    this.timeline = new Timeline({ clock });
    this.areSourcesReady = areSourcesReady;
    const store = new DurableFiles({
      files: host.files,
      clock,
      observer: { setAside: () => {}, failing: () => {}, recovered: () => {} },
    });
    const options: DeviceManagerOptions = {
      clock,
      timeline: this.timeline,
      open: sockets.open,
      checkpoint: { directory: testDirectory, store },
      metrics: this.metrics,
      waitMs,
      machineNodes,
      allSourcesReady: () => this.areSourcesReady,
      isActive: (uid) => this.active.has(uid),
      sync: (uids) => void this.synced.push(...uids),
    };
    this.manager = new DeviceManager(options);
    this.registration = new DeviceRegistration({
      directory: testDirectory,
      host,
      serve: sockets.serve,
      plugins: this.manager.plugins,
      metrics: this.metrics,
    });
  }

  static async start(options: TestDevicesOptions = {}): Promise<TestDevices> {
    const devices = new TestDevices(options);
    await devices.manager.start(options.running ?? []);
    await devices.registration.start();
    return devices;
  }

  /** Until everything that does not wait for time has happened. */
  async settled(): Promise<void> {
    for (let i = 0; i < 10; i++) {
      await settle(8);
      await this.clock.advance(25);
    }
  }

  /** Judges the pod until it is admitted or refused; what it waits for happens by itself. Undefined: admitted. */
  async admit(pod: Pod): Promise<string | undefined> {
    const { uid } = pod.metadata;
    this.active.add(uid);
    for (;;) {
      if (this.areSourcesReady) this.manager.keepOnly((one) => this.active.has(one));
      const outcome = this.#allocateAll(pod);
      if (outcome.kind === 'allocated') return undefined;
      if (outcome.kind === 'refused') {
        this.active.delete(uid);
        return outcome.message;
      }
      await outcome.until;
    }
  }

  #allocateAll(pod: Pod): ReturnType<DeviceManager['allocate']> {
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const outcome = this.manager.allocate(pod, container, { mask: undefined, preferred: false });
      if (outcome.kind !== 'allocated') return outcome;
    }
    return { kind: 'allocated' };
  }

  /** `container: ids` of a pod. */
  held(uid: string): Record<string, readonly string[]> {
    return Object.fromEntries(
      this.manager
        .holders()
        .filter(({ podUid }) => podUid === uid)
        .map(({ container, record }) => [container, [...idsOf(record)].sort()]),
    );
  }

  /** `capacity/allocatable` of the resource. */
  offered(name = resource): string {
    const { capacity, allocatable } = this.manager.capacity();
    return `${capacity[name] ?? '-'}/${allocatable[name] ?? '-'}`;
  }
}

export function container(name: string, count: number, change: Partial<Container> = {}): Container {
  return { name, resources: { limits: { [resource]: String(count) } }, ...change };
}

export function devicePod(
  uid: string,
  containers: readonly Container[] = [container('app', 1)],
  initContainers: readonly Container[] = [],
): Pod {
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: {
      containers: [...containers],
      ...(initContainers.length === 0 ? {} : { initContainers: [...initContainers] }),
    },
  };
}
