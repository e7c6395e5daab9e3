/** Pods of a soak from a real control plane, whose connection to the agent can be cut while ours cannot. */
import type { Pod, PodManifest } from '../../src/kube/index.js';
import { ApiError, resources } from '../../src/kube-client/index.js';
import type { ControlPlane } from '../../test/env/index.js';
import { nodeName } from './agent.js';
import { claimObjects, type PodSource, versionedObjects } from './pod-source.js';

const namespace = 'default';

export class ClusterSource implements PodSource {
  readonly #plane: ControlPlane;

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  shownName(name: string): string {
    return name;
  }

  async create(pod: PodManifest): Promise<void> {
    await this.#plane.admin.create(resources.pods, { ...pod, spec: { ...pod.spec, nodeName } });
  }

  /** What of a pod may be changed in place: its labels and the images of its containers. */
  async change(pod: PodManifest): Promise<void> {
    const revision = String(pod.spec.containers[0]?.env?.find(({ name }) => name === 'REVISION')?.value);
    await this.#patch(pod.metadata?.name ?? '', { metadata: { labels: { revision } } });
  }

  async remove(name: string, force: boolean): Promise<void> {
    const grace = force ? { gracePeriodSeconds: 0 } : {};
    try {
      await this.#plane.admin.delete(resources.pods, { namespace, name }, grace);
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === 'NotFound')) throw error;
    }
  }

  async resize(name: string, cpuMillis: number): Promise<void> {
    const spec = {
      containers: [{ name: 'app', resources: { requests: { cpu: `${cpuMillis}m` } } }],
    };
    await this.#plane.kubectl(['patch', 'pod', name, '--subresource=resize', '-p', JSON.stringify({ spec })]);
  }

  async writeObjects(version: number): Promise<void> {
    await this.#plane.apply(...versionedObjects(version));
  }

  async prepare(csiDriver: string): Promise<void> {
    await this.#plane.apply(
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata: { name: csiDriver },
        spec: { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
      },
      ...claimObjects(csiDriver, true),
    );
  }

  async pods(): Promise<Pod[]> {
    const { items } = await this.#plane.admin.list(resources.pods, { namespace });
    return (items ?? []).filter(({ spec }) => spec.nodeName === nodeName);
  }

  async #patch(name: string, patch: object): Promise<void> {
    await this.#plane.kubectl(['patch', 'pod', name, '-p', JSON.stringify(patch)]);
  }
}
