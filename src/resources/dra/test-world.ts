/** A node's dynamic resources in a test: a manager, simulated drivers and a simulated API, on virtual time. */
import { settle, VirtualClock } from '../../async/index.js';
import { DurableFiles, simulatedHost } from '../../host/index.js';
import type { Container, Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { type AllocatedDevice, resources } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { apiDynamicResources } from './api/index.js';
import { DraManager, type DraManagerOptions, draStateFile } from './manager.js';
import { createDraMetrics, registerClaimsInUse } from './metrics.js';
import { type DraPluginClaim, DraRegistration } from './registration.js';
import { openSimulatedDrivers, SimulatedDriver } from './simulated-driver.js';

export const rootDir = '/var/lib/kubelet';

export class DraWorld {
  readonly clock = new VirtualClock();
  readonly api = new SimulatedKubeApi({ clock: this.clock });
  readonly machine = simulatedHost();
  readonly timeline = new Timeline({ clock: this.clock });
  readonly sockets = new Map<string, SimulatedDriver>();
  readonly active = new Map<string, Pod>();
  readonly synced: string[] = [];
  readonly setAside: string[] = [];
  areSourcesReady = true;
  registry = new Registry();
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #node: { readonly manager: DraManager; readonly registration: DraRegistration } | undefined;

  get manager(): DraManager {
    if (this.#node === undefined) throw new Error('the node does not run');
    return this.#node.manager;
  }

  get registration(): DraRegistration {
    if (this.#node === undefined) throw new Error('the node does not run');
    return this.#node.registration;
  }

  /** Begins a run of the node on what earlier ones left. */
  async start(options: Partial<DraManagerOptions> = {}): Promise<void> {
    const { clock, timeline } = this;
    this.registry = new Registry();
    const store = new DurableFiles({
      files: this.machine.files,
      clock,
      observer: {
        setAside: ({ reason }) => this.setAside.push(reason),
        failing: () => undefined,
        recovered: () => undefined,
      },
    });
    const manager = new DraManager({
      clock,
      timeline,
      nodeName: 'n1',
      random: () => 0,
      metrics: createDraMetrics(this.registry),
      open: openSimulatedDrivers(this.sockets),
      api: apiDynamicResources(this.api, 'n1'),
      rules: { allowsSkipping: false, acceptsPodGroups: false },
      checkpoint: { rootDir, store },
      health: { isShown: true, showsMessages: true },
      allSourcesReady: () => this.areSourcesReady,
      mayUse: (uid) => this.active.has(uid),
      pods: () => [...this.active.values()],
      sync: (uids) => this.synced.push(...uids),
      ...options,
    });
    registerClaimsInUse(this.registry, () =>
      manager
        .claims()
        .filter(({ isPrepared }) => isPrepared)
        .map(({ drivers }) => [...drivers.keys()]),
    );
    await this.during(manager.start());
    this.#node = { manager, registration: new DraRegistration(manager.drivers) };
    this.#stop = new AbortController();
    this.#running = manager.run(this.#stop.signal).catch(() => undefined);
    await settle();
  }

  /** Ends a run as a crash does, as far as a test can tell: nothing more is done, and what is on disk stays. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.during(this.manager.stop());
    await this.#running;
    this.#node = undefined;
  }

  driver(name: string, endpoint = `/${name}.sock`): SimulatedDriver {
    const driver = new SimulatedDriver(this.clock, name);
    this.sockets.set(endpoint, driver);
    return driver;
  }

  async register(
    name: string,
    { endpoint = `/${name}.sock`, versions = ['v1.DRAPlugin'] } = {},
  ): Promise<DraPluginClaim> {
    const claim = { name, endpoint, versions };
    await this.registration.register(claim);
    await settle();
    return claim;
  }

  /** A claim that is allocated from these drivers and reserved for these pods. */
  async claim(
    name: string,
    drivers: readonly (string | AllocatedDevice)[],
    pods: readonly Pod[],
    owner?: Pod,
  ): Promise<string> {
    const results = drivers.map((driver) =>
      typeof driver === 'string' ? { request: 'r', driver, pool: 'pool', device: 'd' } : driver,
    );
    const { metadata } = await this.api.create(resources.resourceClaims, {
      metadata: {
        name,
        namespace: 'default',
        ...(owner === undefined
          ? {}
          : {
              ownerReferences: [
                {
                  apiVersion: 'v1',
                  kind: 'Pod',
                  name: owner.metadata.name,
                  uid: owner.metadata.uid,
                  controller: true,
                },
              ],
            }),
      },
      status: {
        allocation: { devices: { results } },
        reservedFor: pods.map(({ metadata: pod }) => ({ resource: 'pods', name: pod.name, uid: pod.uid })),
      },
    });
    return metadata.uid ?? '';
  }

  /** Awaits work while virtual time goes on. */
  async during<T>(work: Promise<T>, limitMs = 600_000): Promise<T> {
    let isDone = false;
    const settled = work.finally(() => {
      isDone = true;
    });
    settled.catch(() => undefined);
    await settle();
    for (let waitedMs = 0; waitedMs < limitMs && !isDone; waitedMs += 500) await this.clock.advance(500);
    return settled;
  }

  prepare(pod: Pod, signal: AbortSignal = new AbortController().signal): Promise<void> {
    this.active.set(pod.metadata.uid, pod);
    return this.during(this.manager.prepare(pod, signal));
  }

  unprepare(pod: Pod): Promise<void> {
    return this.during(this.manager.unprepare(pod, new AbortController().signal));
  }

  async cdi(pod: Pod, container: Container | undefined = pod.spec.containers[0]): Promise<readonly string[]> {
    if (container === undefined) return [];
    return this.during(this.manager.cdiDevices(pod, container, new AbortController().signal));
  }

  async stateFile(): Promise<string> {
    return new TextDecoder().decode(await this.machine.files.readFile(`${rootDir}/${draStateFile}`));
  }
}

/** A pod whose only container uses all its claims. */
export function claimPod(name: string, claims: readonly string[], change: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      containers: [
        { name: 'c', image: 'i', resources: { claims: claims.map((claim) => ({ name: claim })) } },
      ],
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
      ...change,
    },
  };
}
