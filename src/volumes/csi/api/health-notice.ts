/** Writes the health of volumes to the status of their pods, and that of storage to the status of the CSINode. */
import { BoundedMap, type Clock } from '../../../async/index.js';
import {
  formatTimestamp,
  type Pod,
  type PodVolumeHealth,
  type VolumeHealthCondition,
} from '../../../kube/index.js';
import { isApiError, type KubeApi, resources } from '../../../kube-client/index.js';
import { type StorageHealthCondition, withStorageHealth, withVolumeHealth } from '../health-decision.js';
import type { HealthNotice } from '../health-updates.js';

export interface ApiHealthNoticeOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly nodeName: string;
}

/** More pods than a node has. */
const maxPods = 1000;
const tries = 3;

export class ApiHealthNotice implements HealthNotice {
  readonly #options: ApiHealthNoticeOptions;
  /** What the API has of pods, by UID; read once, and then written by this node alone. */
  readonly #known = new BoundedMap<string, readonly PodVolumeHealth[]>({ maxEntries: maxPods });

  constructor(options: ApiHealthNoticeOptions) {
    this.#options = options;
  }

  async volumes(
    pod: Pod,
    seen: ReadonlyMap<string, readonly VolumeHealthCondition[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const before = this.#known.get(uid) ?? (await this.#read(pod, signal));
    if (before === undefined) return;
    const volumeHealth = withVolumeHealth(before, seen, formatTimestamp(clock.now()));
    this.#known.set(uid, before);
    if (volumeHealth === undefined) return;
    // A pod of the same name that came meanwhile has another UID, which the API refuses.
    const body = { metadata: { uid }, status: { volumeHealth } };
    await api.patch(
      resources.pods,
      { namespace, name },
      { type: 'merge', body },
      { subresource: 'status', signal },
    );
    this.#known.set(uid, volumeHealth);
  }

  /** Undefined if the pod is not there any more. */
  async #read(pod: Pod, signal: AbortSignal): Promise<readonly PodVolumeHealth[] | undefined> {
    const { namespace, name, uid } = pod.metadata;
    try {
      const found = await this.#options.api.get(resources.pods, { namespace, name }, { signal });
      return found.metadata.uid === uid ? (found.status?.volumeHealth ?? []) : undefined;
    } catch (error) {
      if (isApiError(error) && error.code === 404) return undefined;
      throw error;
    }
  }

  async storage(
    driver: string,
    conditions: readonly StorageHealthCondition[],
    signal: AbortSignal,
  ): Promise<void> {
    const { api, nodeName } = this.#options;
    for (let left = tries; ; left--) {
      const csiNode = await api.get(resources.csiNodes, { name: nodeName }, { signal });
      const storageHealth = withStorageHealth(csiNode.status?.storageHealth ?? [], driver, conditions);
      if (storageHealth === undefined) return;
      const object = { ...csiNode, status: { ...csiNode.status, storageHealth } };
      try {
        await api.update(resources.csiNodes, object, { subresource: 'status', signal });
        return;
      } catch (error) {
        // Another driver's entry came in between.
        if (left <= 1 || !isApiError(error) || error.code !== 409) throw error;
      }
    }
  }
}
