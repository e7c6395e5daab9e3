/** A volume manager with CSI volumes on this machine, a real driver, and a cluster that a test plays. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '../../src/async/index.js';
import { linuxHost } from '../../src/host/index.js';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
  Pod,
  PodSpec,
  Volume,
} from '../../src/kube/index.js';
import { Registry } from '../../src/metrics/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import type { CsiAttachment } from '../../src/volumes/csi/plugin.js';
import {
  CsiDrivers,
  CsiRegistration,
  callCsiByGrpc,
  createCsiMetrics,
  csiVolumes,
  type DriverPolicy,
  VolumeManager,
} from '../../src/volumes/index.js';
import { TestCsiDriver, type TestCsiDriverOptions } from '../env/csi-driver.js';
import { createTempDir, pollUntil, type TempDir } from '../env/index.js';

export class CsiTestNode {
  readonly driver: TestCsiDriver;
  readonly timeline = new Timeline();
  readonly drivers = new CsiDrivers();
  readonly client = {
    clock: systemClock,
    drivers: this.drivers,
    call: callCsiByGrpc,
    metrics: createCsiMetrics(new Registry()),
  };
  readonly registration = new CsiRegistration(this.client);
  /** Pods that are configured; their volumes are wanted. */
  readonly pods = new Map<string, Pod>();
  readonly volumes = new Map<string, PersistentVolume>();
  /** The claims of volumes that can grow, by their names. */
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly attached = new Set<string>();
  readonly secrets = new Map<string, Record<string, string>>();
  readonly attachments = new Map<string, CsiAttachment>();
  policy: DriverPolicy = { ...policyWithoutObject, exists: true, attachRequired: false };
  sourcesReady = true;
  manager: VolumeManager;
  #claim: { name: string; endpoint: string; versions: string[] } | undefined;

  private constructor(
    readonly temp: TempDir,
    readonly rootDir: string,
    options: Partial<TestCsiDriverOptions>,
  ) {
    this.driver = new TestCsiDriver({ rootDir, dataDir: path.join(temp.path, 'data'), ...options });
    this.manager = this.#newManager();
  }

  static async start(options: Partial<TestCsiDriverOptions> = {}): Promise<CsiTestNode> {
    const temp = await createTempDir('csi');
    const rootDir = path.join(temp.path, 'root');
    for (const dir of ['pods', 'plugins', 'plugins_registry']) {
      await mkdir(path.join(rootDir, dir), { recursive: true });
    }
    const node = new CsiTestNode(temp, rootDir, options);
    await node.driver.serve();
    await node.register();
    await node.manager.start();
    return node;
  }

  async register(): Promise<void> {
    this.#claim = { name: this.driver.name, endpoint: this.driver.endpoint, versions: ['1.0.0'] };
    await this.registration.register(this.#claim, new AbortController().signal);
  }

  async deregister(): Promise<void> {
    if (this.#claim !== undefined)
      await this.registration.deregister(this.#claim, new AbortController().signal);
  }

  /** A new manager that knows only what is on disk, as after a crash. */
  async restart(): Promise<void> {
    await this.manager.stop();
    this.manager = this.#newManager();
    await this.manager.start();
  }

  volume(name: string, spec: Partial<PersistentVolumeSpec> = {}, csi: object = {}): void {
    this.volumes.set(name, {
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        ...spec,
        csi: { driver: this.driver.name, volumeHandle: `vol-${name}`, ...csi },
      },
    });
  }

  /** What a controller says of a volume that it has enlarged; before that, of one of its first size. */
  grow(name: string, from: string, to: string): void {
    const volume = this.volumes.get(name);
    if (volume === undefined) throw new Error(`there is no volume ${name}`);
    this.volumes.set(name, { ...volume, spec: { ...volume.spec, capacity: { storage: to } } });
    const status = {
      phase: 'Bound',
      capacity: { storage: from },
      allocatedResources: { storage: to },
      ...(from === to ? {} : { allocatedResourceStatuses: { storage: 'NodeResizePending' } }),
    };
    const spec = { accessModes: volume.spec.accessModes ?? [], volumeName: name };
    this.claims.set(name, { metadata: { name, namespace: 'ns', uid: `uid-${name}` }, spec, status });
  }

  pod(uid: string, volume: Volume, spec: Partial<PodSpec> = {}): Pod {
    return {
      metadata: { uid, name: `pod-${uid}`, namespace: 'ns' },
      spec: {
        containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: volume.name, mountPath: '/v' }] }],
        volumes: [volume],
        ...spec,
      },
    };
  }

  /** A pod with a claim that is bound to the PersistentVolume of the same name. */
  claimPod(uid: string, claimName: string, spec: Partial<PodSpec> = {}, readOnly = false): Pod {
    return this.pod(uid, { name: 'data', persistentVolumeClaim: { claimName, readOnly } }, spec);
  }

  want(pod: Pod): void {
    this.pods.set(pod.metadata.uid, pod);
  }

  /** Resolves when the pod's volumes are mounted, or rejects with why not. */
  async run(pod: Pod, limitMs = 20_000): Promise<string> {
    this.want(pod);
    await this.manager.waitForMounts(pod, AbortSignal.timeout(limitMs));
    const dir = this.manager.volumeDirectory(pod, pod.spec.volumes?.[0]?.name ?? '');
    if (dir === undefined) throw new Error('the volume is not mounted');
    return dir;
  }

  async end(pod: Pod): Promise<void> {
    this.pods.delete(pod.metadata.uid);
    this.manager.podsChanged();
    await this.manager.waitForUnmounts(pod, AbortSignal.timeout(20_000));
  }

  /** Waits for the pod's event of a failed mount that has the text. */
  failure(pod: Pod, text: string): Promise<string> {
    return pollUntil(
      `an event with ${text}`,
      () =>
        this.timeline
          .ofPod(pod.metadata.uid)
          .find(({ what, message }) => what === 'event.FailedMount' && message.includes(text))?.message,
      { timeoutMs: 10_000, detail: () => this.#history(pod) },
    );
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    await pollUntil(what, () => holds() || undefined, {
      timeoutMs: 10_000,
      detail: () => this.driver.log().join('\n'),
    });
  }

  async stop(): Promise<void> {
    await this.manager.stop();
    await this.driver.stop();
    await this.temp.remove();
  }

  #history(pod: Pod): string {
    return this.timeline
      .ofPod(pod.metadata.uid)
      .map(({ what, message, error }) => `${what} ${message} ${error ?? ''}`)
      .join('\n');
  }

  #newManager(): VolumeManager {
    const host = linuxHost();
    const { rootDir, client, timeline } = this;
    const csi = csiVolumes({
      host,
      clock: systemClock,
      rootDir,
      nodeName: 'n',
      client,
      policies: { synced: async () => {}, get: () => this.policy },
      objects: {
        secret: async (namespace, name) => {
          const found = this.secrets.get(`${namespace}/${name}`);
          if (found === undefined) throw new Error(`secrets "${name}" not found`);
          const values = Object.entries(found).map(([key, text]) => [
            key,
            Buffer.from(text).toString('base64'),
          ]);
          return { metadata: {}, data: Object.fromEntries(values) };
        },
        attachment: async (name) => {
          const found = this.attachments.get(name);
          if (found === undefined) throw new Error(`volumeattachments "${name}" not found`);
          return found;
        },
      },
      tokens: {
        token: async () => 'token',
        issued: async ({ audience, pod }) => ({
          token: `${pod.metadata.name}-${audience ?? 'api'}`,
          expiresAtMs: Date.UTC(2030, 0, 1),
        }),
        forget: () => {},
      },
      controllerAttaches: true,
    });
    const manager = new VolumeManager({
      clock: systemClock,
      timeline,
      host,
      rootDir,
      plugins: [csi],
      pods: {
        allSourcesReady: () => this.sourcesReady,
        isConfigured: (uid) => this.pods.has(uid),
        isRuntimeGone: (uid) => !this.pods.has(uid),
      },
      node: () => ({ name: 'n', labels: {} }),
      claims: {
        resolve: async (_, { persistentVolumeClaim }) => {
          const persistentVolume = this.volumes.get(persistentVolumeClaim?.claimName ?? '');
          if (persistentVolume === undefined) throw new Error('there is no such claim');
          return {
            persistentVolume,
            readOnly: persistentVolumeClaim?.readOnly ?? false,
            extraGroup: undefined,
            claim: this.claims.get(persistentVolumeClaim?.claimName ?? ''),
          };
        },
        statuses: {
          read: async ({ name }) => {
            const claim = this.claims.get(name);
            if (claim === undefined) throw new Error(`persistentvolumeclaims "${name}" not found`);
            return claim;
          },
          write: async (claim, status) => {
            const written = { ...claim, status };
            this.claims.set(claim.metadata.name ?? '', written);
            return written;
          },
        },
      },
      supportsRecursiveReadOnly: () => false,
      isSelinuxEnabled: false,
      attachments: { attached: () => this.attached, read: async () => this.attached },
    });
    this.drivers.onReady(() => manager.driverReady('kubernetes.io/csi'));
    return manager;
  }
}
