/** Where the pods of a soak come from: a directory of manifests, or a control plane. Both say what is wanted and what is shown. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod, PodList, PodManifest } from '../../src/kube/index.js';
import { claimCount, secretName, settingsName } from '../plan/shapes.js';
import { nodeName, type SoakAgent } from './agent.js';

export interface PodSource {
  /** The name under which the node and the runtime know a pod. */
  shownName(name: string): string;
  create(pod: PodManifest): Promise<void>;
  /** A new revision of the pod. */
  change(pod: PodManifest): Promise<void>;
  remove(name: string, force: boolean): Promise<void>;
  resize(name: string, cpuMillis: number): Promise<void>;
  /** Gives the ConfigMap and the Secret that pods use another content. */
  writeObjects(version: number): Promise<void>;
  /** What lasts: claims and volumes of the driver. */
  prepare(csiDriver: string): Promise<void>;
  /** The pods of the node with their statuses, as a user sees them. */
  pods(): Promise<Pod[]>;
}

const encode = (text: string): string => Buffer.from(text).toString('base64');

export function versionedObjects(version: number): object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: settingsName, namespace: 'default' },
      data: { version: `${version}\n` },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName, namespace: 'default' },
      data: { version: encode(`${version}\n`) },
    },
  ];
}

export function claimObjects(csiDriver: string, cluster: boolean): object[] {
  return Array.from({ length: claimCount }, (_, at) => {
    const name = `soak-${at}`;
    const shared = { accessModes: ['ReadWriteMany'], storageClassName: '' };
    const uid = cluster ? {} : { uid: `uid-${name}` };
    return [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `pv-${name}` },
        spec: {
          ...shared,
          capacity: { storage: '1Gi' },
          claimRef: { namespace: 'default', name, ...uid },
          persistentVolumeReclaimPolicy: 'Retain',
          csi: { driver: csiDriver, volumeHandle: `vol-${name}` },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace: 'default', ...uid },
        spec: { ...shared, volumeName: `pv-${name}`, resources: { requests: { storage: '1Gi' } } },
        ...(cluster ? {} : { status: { phase: 'Bound' } }),
      },
    ];
  }).flat();
}

/** Manifests and objects in directories of the agent. */
export class DirectorySource implements PodSource {
  readonly #agent: SoakAgent;

  constructor(agent: SoakAgent) {
    this.#agent = agent;
  }

  shownName(name: string): string {
    return `${name}-${nodeName}`;
  }

  create(pod: PodManifest): Promise<void> {
    return this.#put(this.#agent.manifestsDir, `${pod.metadata?.name}.json`, pod);
  }

  change(pod: PodManifest): Promise<void> {
    return this.create(pod);
  }

  /** Files know no force. */
  async remove(name: string): Promise<void> {
    await rm(join(this.#agent.manifestsDir, `${name}.json`), { force: true });
  }

  resize(name: string): Promise<void> {
    return Promise.reject(new Error(`pod ${name} comes from a file, and a file cannot be resized in place`));
  }

  async writeObjects(version: number): Promise<void> {
    for (const [at, object] of versionedObjects(version).entries()) {
      await this.#put(this.#agent.objectsDir, `object-${at}.json`, object);
    }
  }

  prepare(csiDriver: string): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: claimObjects(csiDriver, false) };
    return this.#put(this.#agent.objectsDir, 'claims.json', list);
  }

  async pods(): Promise<Pod[]> {
    const response = await fetch(`${this.#agent.readOnlyUrl}/pods`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(10_000),
    });
    const list: PodList = JSON.parse(await response.text());
    return list.items ?? [];
  }

  /** In one step: the agent never reads half of it. */
  async #put(dir: string, file: string, content: object): Promise<void> {
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, `.${file}`), JSON.stringify(content));
    await rename(join(dir, `.${file}`), join(dir, file));
  }
}
