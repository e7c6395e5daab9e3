/** A machine with CSI drivers and volumes that outlives its kubelets, and kubelets on it that can die at any step. */
import { expect } from 'vitest';
import { SimulatedMachine } from '../../src/host/index.js';
import type { PersistentVolumeSpec, Pod, Volume } from '../../src/kube/index.js';
import type { KubeletCsiOptions, KubeletOptions } from '../../src/kubelet/options.js';
import { SimulatedCsiDriver, type SimulatedCsiDriverOptions } from './csi-driver.js';
import { CsiLine } from './csi-line.js';
import { Machine } from './machine.js';
import { minute, type Node, second } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import type { Cut } from './runtime-line.js';
import { Outside, objectsOf, rootDir, startVolumeNode, type VolumeNode } from './volume-node.js';

/** Where a kubelet dies: at a change of files or mounts, or at a call of a driver. */
export type CsiDeath =
  | { readonly kind: 'host'; readonly change: number; readonly when: 'before' | 'after' }
  | ({ readonly kind: 'call' } & Cut);

export interface CsiWorldOptions {
  readonly driver?: Partial<SimulatedCsiDriverOptions>;
  /** What a cluster says of drivers and volumes. */
  readonly cluster?: KubeletCsiOptions;
  readonly kubelet?: Partial<KubeletOptions>;
}

export class CsiWorld {
  readonly machine = new Machine();
  readonly files = new SimulatedMachine();
  readonly objects = objectsOf(this.machine);
  readonly driver: SimulatedCsiDriver;
  readonly outside = new Outside(this.files);
  readonly #volumes = new Map<string, Partial<PersistentVolumeSpec>>();

  readonly #cluster: KubeletCsiOptions;
  readonly #kubelet: Partial<KubeletOptions>;

  constructor({ driver, cluster = {}, kubelet = {} }: CsiWorldOptions = {}) {
    this.#cluster = cluster;
    this.#kubelet = kubelet;
    this.driver = new SimulatedCsiDriver({
      clock: this.machine.time,
      machine: this.files,
      rootDir,
      usersOf: (path) => this.machine.usersOf(path),
      ...driver,
    });
  }

  /** A PersistentVolume `pv-<name>` with the handle `vol-<name>`, and the claim of the name that is bound to it. */
  volume(name: string, spec: Partial<PersistentVolumeSpec> = {}): void {
    this.#volumes.set(name, spec);
    const all = [...this.#volumes];
    this.objects.set('test', {
      persistentVolumes: all.map(([claim, more]) => ({
        metadata: { name: `pv-${claim}` },
        spec: {
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: '1Gi' },
          claimRef: { namespace: 'default', name: claim, uid: `uid-${claim}` },
          csi: { driver: this.driver.name, volumeHandle: `vol-${claim}` },
          ...more,
        },
      })),
      persistentVolumeClaims: all.map(([claim, more]) => ({
        metadata: { name: claim, namespace: 'default', uid: `uid-${claim}` },
        spec: { accessModes: more.accessModes ?? ['ReadWriteOnce'], volumeName: `pv-${claim}` },
        status: { phase: 'Bound' },
      })),
    });
  }

  async start(death?: CsiDeath): Promise<CsiNode> {
    const parts: { on?: VolumeNode } = {};
    const line = new CsiLine({
      drivers: [this.driver],
      ...(death?.kind === 'call' ? { cutAt: death } : {}),
      onCut: () => {
        parts.on?.node.line.cut();
        parts.on?.host.inject({ at: () => true, when: 'before', effect: { kind: 'die' } });
      },
    });
    const { call, openPluginSocket } = line;
    const on = await startVolumeNode({
      machine: this.machine,
      files: this.files,
      objects: this.objects,
      kubelet: { ...this.#kubelet, csi: { ...this.#cluster, call }, openPluginSocket },
      ...(death?.kind === 'host' ? { death } : {}),
    });
    parts.on = on;
    if (line.isCut) on.node.line.cut();
    return new CsiNode(this, on, line);
  }

  /** The machine starts anew: mounts and processes are gone, files are there. */
  async reboot(): Promise<void> {
    this.driver.kill();
    this.machine.reboot();
    this.files.reboot();
    await this.driver.start();
  }

  /** What is left of volumes on the machine; empty at rest. */
  async remains(): Promise<string[]> {
    const staged = `${rootDir}/plugins/kubernetes.io/csi/${this.driver.name}`;
    return [
      ...[...(await this.driver.volumes.mounted())].flatMap(([id, paths]) =>
        paths.map((path) => `${id} at ${path}`),
      ),
      ...(await this.outside.mounts()),
      ...(await this.outside.names(staged)).map((name) => `staged ${name}`),
      ...(await this.outside.pods()).map((name) => `pod ${name}`),
    ];
  }
}

/** A kubelet on such a machine. */
export class CsiNode {
  constructor(
    readonly world: CsiWorld,
    readonly on: VolumeNode,
    readonly line: CsiLine,
  ) {}

  get node(): Node {
    return this.on.node;
  }

  get hasDied(): boolean {
    return this.on.host.dead || this.line.isCut;
  }

  /** Ends the kubelet as `kill -9` does. */
  async crash(): Promise<void> {
    this.line.cut();
    await this.on.crash();
  }

  /** Waits until the pod is ready, and holds that its container saw what is in the volume. */
  async untilRuns(name: string, file: string, limitMs = 10 * minute): Promise<void> {
    await this.node.untilReady(name, limitMs);
    const seen = [...(this.on.created.get(`${name}/app`)?.values() ?? [])];
    // A container that an earlier kubelet started was looked at then.
    if (seen.length > 0) expect(seen, `${name} sees its volume`).toContainEqual([file]);
  }

  /** Deletes a pod as a user does, and waits until it is gone. */
  async end(name: string, limitMs = 10 * minute): Promise<void> {
    this.node.delete(name, 1);
    await this.node.untilStopped(name, limitMs);
    this.node.drop(name);
  }

  /** Holds that the machine comes to rest with nothing left, and that nobody broke the protocol. */
  async untilNothingIsLeft(limitMs = 10 * minute): Promise<void> {
    const { world, node } = this;
    for (let waitedMs = 0; (await world.remains()).length > 0 && waitedMs < limitMs; waitedMs += 5 * second) {
      await node.advance(5 * second);
    }
    expect(await world.remains(), node.describe()).toEqual([]);
    expect(world.driver.volumes.violations).toEqual([]);
  }
}

const mountsIt = (name: string): PodShape => ({
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name, mountPath: '/v' }] }],
  graceSeconds: 1,
});

/** A pod that uses a claim. */
export function claimPod(name: string, claimName: string, shape: PodShape = {}): Pod {
  const volumes: Volume[] = [{ name: 'data', persistentVolumeClaim: { claimName } }];
  return apiPod(name, { ...mountsIt('data'), ...shape, spec: { ...shape.spec, volumes } });
}

/** A pod with an inline volume. */
export function inlinePod(name: string, driver: string, shape: PodShape = {}): Pod {
  const volumes: Volume[] = [{ name: 'inline', csi: { driver } }];
  return apiPod(name, { ...mountsIt('inline'), ...shape, spec: { ...shape.spec, volumes } });
}
