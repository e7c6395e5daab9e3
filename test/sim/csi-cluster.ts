/** A volume manager with claims of a simulated API, on a simulated machine with a CSI driver; it can die and start again. */
import { settle, VirtualClock } from '../../src/async/index.js';
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
  PersistentVolumeSpec,
  Pod,
  VolumeSource,
} from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import { Registry } from '../../src/metrics/index.js';
import { ApiClaims } from '../../src/pods/objects/cluster/index.js';
import { Timeline, type TimelineEntry } from '../../src/timeline/index.js';
import { apiCsiObjects } from '../../src/volumes/csi/api/index.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import {
  CsiDrivers,
  CsiRegistration,
  createCsiMetrics,
  createVolumeMetrics,
  csiVolumes,
  type DriverPolicy,
  VolumeManager,
} from '../../src/volumes/index.js';
import { SimulatedCsiDriver } from './csi-driver.js';
import { CsiLine } from './csi-line.js';

const namespace = 'ns';
const rootDir = '/var/lib/kubelet';

export class CsiCluster {
  readonly clock = new VirtualClock();
  readonly machine = new SimulatedMachine();
  readonly api = new SimulatedKubeApi({ clock: this.clock });
  readonly registry = new Registry();
  readonly driver: SimulatedCsiDriver;
  readonly entries: TimelineEntry[] = [];
  readonly drivers = new CsiDrivers();
  /** By UID. */
  readonly pods = new Map<string, Pod>();
  policy: DriverPolicy = { ...policyWithoutObject, exists: true, attachRequired: false };
  manager: VolumeManager;
  #line: CsiLine;
  readonly #metrics = { csi: createCsiMetrics(this.registry), volumes: createVolumeMetrics(this.registry) };

  /** Whether its machine has SELinux, and mounts which volumes with labels. */
  seLinux: 'all modes' | 'one pod' | undefined;
  readonly #claimed: { name: string; endpoint: string; versions: string[] };

  private constructor(driver: string, seLinux: CsiCluster['seLinux']) {
    this.seLinux = seLinux;
    const { clock, machine } = this;
    this.driver = new SimulatedCsiDriver({ clock, machine, rootDir, name: driver });
    this.#line = new CsiLine({ drivers: [this.driver] });
    this.#claimed = { name: driver, endpoint: this.driver.endpoint, versions: ['1.0.0'] };
    this.manager = this.#newManager();
  }

  static async start(driver = 'd.test', seLinux?: CsiCluster['seLinux']): Promise<CsiCluster> {
    const cluster = new CsiCluster(driver, seLinux);
    cluster.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
    const host = simulatedHost({ machine: cluster.machine });
    await host.files.mkdir(rootDir, { recursive: true });
    await cluster.driver.start();
    await cluster.manager.start();
    await cluster.register();
    return cluster;
  }

  async register(): Promise<void> {
    const registration = new CsiRegistration(this.#client());
    await registration.register(this.#claimed, new AbortController().signal);
    await settle();
  }

  deregister(): void {
    this.drivers.remove(this.driver.name, this.#claimed);
  }

  /** The kubelet dies as with kill -9; the next one knows what is on disk and in the API. */
  async restart(): Promise<void> {
    this.#line.cut();
    const old = this.manager;
    const stopped = old.stop();
    await settle();
    await stopped;
    this.#line = new CsiLine({ drivers: [this.driver] });
    this.deregister();
    this.manager = this.#newManager();
    await this.manager.start();
    await this.register();
  }

  /** Cuts the kubelet off from the driver and the API after the next call of the method. */
  dieAfter(path: string): void {
    const { call } = this.#line;
    const line = this.#line;
    let isCut = false;
    Object.assign(line, {
      call: async (...given: Parameters<typeof call>) => {
        const answer = await call(...given);
        if (given[1].path.endsWith(path) && !isCut) {
          isCut = true;
          line.cut();
          this.api.setReachable(false);
        }
        return answer;
      },
    });
  }

  /** A claim of 1Gi that is bound to a PersistentVolume. */
  async claim(
    name: string,
    spec: Partial<PersistentVolumeSpec> = {},
    status: PersistentVolumeClaimStatus = {},
    annotations: Record<string, string> = {},
  ): Promise<void> {
    const accessModes = spec.accessModes ?? ['ReadWriteOnce'];
    const isCsi = !Object.keys(spec).some((key) => key.endsWith('Store') || key.endsWith('Disk'));
    const claim = await this.api.create(resources.persistentVolumeClaims, {
      metadata: { name, namespace, annotations },
      spec: { accessModes, volumeName: `pv-${name}`, resources: { requests: { storage: '2Gi' } } },
      status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
    });
    await this.api.create(resources.persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        accessModes,
        capacity: { storage: '1Gi' },
        claimRef: { namespace, name, uid: claim.metadata.uid ?? '' },
        ...(isCsi ? { csi: { driver: this.driver.name, volumeHandle: `vol-${name}` } } : {}),
        ...spec,
      },
    });
  }

  /** What a controller writes when it has expanded the storage; without a state, as older ones do. */
  async grow(name: string, size: string, state = 'NodeResizePending'): Promise<void> {
    await this.api.patch(
      resources.persistentVolumes,
      { name: `pv-${name}` },
      { type: 'merge', body: { spec: { capacity: { storage: size } } } },
    );
    if (state !== '') {
      await this.status(name, {
        allocatedResources: { storage: size },
        allocatedResourceStatuses: { storage: state },
      });
    }
  }

  async status(name: string, status: object): Promise<void> {
    await this.api.patch(
      resources.persistentVolumeClaims,
      { namespace, name },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
  }

  async request(name: string, size: string): Promise<void> {
    const body = { spec: { resources: { requests: { storage: size } } } };
    await this.api.patch(resources.persistentVolumeClaims, { namespace, name }, { type: 'merge', body });
  }

  async read(name: string): Promise<PersistentVolumeClaim> {
    return this.api.get(resources.persistentVolumeClaims, { namespace, name });
  }

  /** The size, the state and the conditions of a claim, in one line. */
  async told(name: string): Promise<string> {
    const { status = {} } = await this.read(name);
    const state = status.allocatedResourceStatuses?.storage ?? '-';
    const conditions = (status.conditions ?? []).map(({ type, message = '' }) => `${type}: ${message}`);
    return [status.capacity?.storage, state, ...conditions].join(' ');
  }

  /** Statuses that the node has written. */
  get writes(): number {
    const isWrite = ({ verb, resource }: SimulatedKubeApi['calls'][number]): boolean =>
      verb === 'patch' && resource === 'persistentvolumeclaims';
    return this.api.calls.filter(isWrite).length;
  }

  pod(uid: string, claimName: string, { readOnly = false } = {}): Pod {
    return this.podWith(uid, { persistentVolumeClaim: { claimName, readOnly } });
  }

  podWith(uid: string, source: VolumeSource): Pod {
    const pod: Pod = {
      metadata: { uid, name: `pod-${uid}`, namespace },
      spec: {
        nodeName: 'node-1',
        containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/v' }] }],
        volumes: [{ name: 'data', ...source }],
      },
    };
    this.pods.set(uid, pod);
    return pod;
  }

  /** One sync of the pod, as far as volumes go: `mounted`, or why not. */
  async sync(pod: Pod): Promise<string> {
    const signal = new AbortController().signal;
    let outcome: string | undefined;
    const wait = this.manager.waitForMounts(pod, signal).then(
      () => {
        outcome = 'mounted';
      },
      (error: unknown) => {
        outcome = String(error);
      },
    );
    await this.clock.advanceUntil(() => outcome !== undefined);
    await wait;
    await settle();
    return outcome ?? '';
  }

  async end(pod: Pod): Promise<void> {
    this.pods.delete(pod.metadata.uid);
    this.manager.podsChanged();
    let isDone = false;
    void this.manager.waitForUnmounts(pod, new AbortController().signal).then(() => {
      isDone = true;
    });
    await this.clock.advanceUntil(() => isDone);
    await settle();
  }

  /** Reason and text of the events of an object's kind. */
  events(kind: 'pod' | 'claim' = 'pod'): string[] {
    return this.entries.flatMap(({ event, message }) => {
      const isClaim = event?.claim !== undefined;
      return event === undefined || isClaim !== (kind === 'claim') ? [] : [`${event.reason} ${message}`];
    });
  }

  #client() {
    const call: CsiLine['call'] = (...given) => this.#line.call(...given);
    return { clock: this.clock, drivers: this.drivers, call, metrics: this.#metrics.csi };
  }

  #newManager(): VolumeManager {
    const { clock, api } = this;
    const timeline = new Timeline({ clock });
    timeline.subscribe((entry) => this.entries.push(entry));
    const host = simulatedHost({ machine: this.machine });
    const csi = csiVolumes({
      host,
      clock,
      rootDir,
      nodeName: 'node-1',
      client: this.#client(),
      policies: { synced: async () => {}, get: () => this.policy },
      objects: apiCsiObjects(api),
      controllerAttaches: true,
    });
    const manager = new VolumeManager({
      clock,
      timeline,
      host,
      rootDir,
      plugins: [csi],
      pods: {
        allSourcesReady: () => true,
        isConfigured: (uid) => this.pods.has(uid),
        isRuntimeGone: (uid) => !this.pods.has(uid),
      },
      node: () => ({ name: 'node-1', labels: {} }),
      claims: new ApiClaims({ api }),
      supportsRecursiveReadOnly: () => false,
      isSelinuxEnabled: this.seLinux !== undefined,
      seLinuxMountsAllModes: this.seLinux === 'all modes',
      metrics: this.#metrics.volumes,
    });
    this.drivers.onReady(() => manager.driverReady('kubernetes.io/csi'));
    return manager;
  }
}
