/** Remembers the resources last applied to each container, since the runtime does not report them all. */
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import {
  formatResourceCheckpoint,
  memoryVolumeLimits,
  type Pod,
  type PodResourceEntry,
  parseResourceCheckpoint,
  type ResourceRequirements,
} from '../../kube/index.js';
import {
  amountsOf,
  changedResources,
  mixedResources,
  type ResizedResource,
  type ResourceAmounts,
  wantedResources,
} from './decide-resize.js';
import { requirementsInForce } from './rebuild-actuated.js';

export interface ActuatedResourcesOptions {
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
  /** Whether volumes in memory are resized, too; default no. */
  readonly hasVolumes?: boolean;
}

/** What a volume has of which nothing is known: any size is another. */
const unknownLimit = '0';

/** Entries are few and small; all are in one file. */
export class ActuatedResources {
  readonly #options: ActuatedResourcesOptions;
  readonly #file: DurableState | undefined;
  #entries = new Map<string, PodResourceEntry>();
  /** Whether pods may be running whose entries are lost. */
  #isLost = false;

  constructor(options: ActuatedResourcesOptions) {
    this.#options = options;
    const { checkpoint } = options;
    if (checkpoint === undefined) return;
    this.#file = new DurableState(checkpoint.store, pathBelow(checkpoint.rootDir), () =>
      formatResourceCheckpoint(this.#entries),
    );
  }

  /** A corrupt file is set aside, and `podGoesOn` reconstructs its content. */
  async start(): Promise<void> {
    const { checkpoint } = this.#options;
    if (checkpoint === undefined) return;
    const found = await checkpoint.store.read(pathBelow(checkpoint.rootDir), parseResourceCheckpoint);
    if (found.kind === 'found') this.#entries = found.value;
    this.#isLost = found.kind === 'set aside';
  }

  /** Whether anything is known of the pod. */
  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  requirements(uid: string, name: string): ResourceRequirements {
    return this.#entries.get(uid)?.ContainerResources?.[name] ?? {};
  }

  /** With the pod-level limits that were applied where the container has none of its own. */
  container(uid: string, name: string): ResourceAmounts {
    const own = amountsOf(this.requirements(uid, name));
    const pod = this.pod(uid);
    const filled = (resource: ResizedResource): ResourceAmounts[ResizedResource] => ({
      request: own[resource].request,
      limit: own[resource].limit === 0 ? pod[resource].limit : own[resource].limit,
    });
    return { cpu: filled('cpu'), memory: filled('memory') };
  }

  podRequirements(uid: string): ResourceRequirements | undefined {
    return this.#entries.get(uid)?.PodLevelResources;
  }

  /** The pod-level resources. */
  pod(uid: string): ResourceAmounts {
    return amountsOf(this.#entries.get(uid)?.PodLevelResources);
  }

  /** The pod-level resources; undefined when none were recorded. */
  recordedPod(uid: string): ResourceAmounts | undefined {
    const recorded = this.#entries.get(uid)?.PodLevelResources;
    return recorded === undefined ? undefined : amountsOf(recorded);
  }

  /** The size limit of a volume in memory; undefined where volumes are not resized, or it is not known. */
  volumeLimit(uid: string, volume: string): string | undefined {
    const limits = this.#entries.get(uid)?.EmptyDirVolumeLimits;
    const isFollowed = this.#options.hasVolumes === true && limits !== undefined;
    return isFollowed && Object.hasOwn(limits, volume) ? limits[volume] : undefined;
  }

  setVolumeLimit(uid: string, volume: string, limit: string): void {
    if (this.#options.hasVolumes !== true || this.volumeLimit(uid, volume) === limit) return;
    const entry = this.#entries.get(uid);
    const EmptyDirVolumeLimits = { ...entry?.EmptyDirVolumeLimits, [volume]: limit };
    this.#entries.set(uid, { ...entry, EmptyDirVolumeLimits });
    this.#file?.changed();
  }

  /** An earlier agent may not have followed volumes; they have the size that they were mounted with. */
  #volumesBegin(pod: Pod, limitOf = (limit: string): string => limit): void {
    const { uid } = pod.metadata;
    for (const [name, limit] of memoryVolumeLimits(pod)) {
      if (this.volumeLimit(uid, name) === undefined) this.setVolumeLimit(uid, name, limitOf(limit));
    }
  }

  /** A new pod starts with what it requests, so that its first start is no resize. */
  podBegins(pod: Pod): void {
    const { uid } = pod.metadata;
    if (!this.#entries.has(uid)) {
      this.#entries.set(uid, {});
      for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        this.setContainer(uid, container.name, wantedResources(pod, container));
      }
      if (pod.spec.resources !== undefined) this.setPod(uid, pod.spec.resources);
    }
    this.#volumesBegin(pod);
  }

  /**
   * A pod without a record counts as having what it requests; else it would be resized for nothing. If the file
   * was lost, a resize may have been under way, so the runtime is asked what the pod has.
   */
  podGoesOn(pod: Pod, { containers }: Pick<ObservedPodStatus, 'containers'>): void {
    const { uid } = pod.metadata;
    const running = containers.filter(({ state }) => state === 'running');
    if (this.#entries.has(uid) || !this.#isLost || running.length === 0) {
      this.podBegins(pod);
      return;
    }
    this.#entries.set(uid, {});
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const wanted = wantedResources(pod, container);
      const observed = running.find(({ name }) => name === container.name)?.resources;
      this.setContainer(uid, container.name, requirementsInForce(wanted, observed));
    }
    if (pod.spec.resources !== undefined) this.setPod(uid, pod.spec.resources);
    // A resize of a volume to the size that it has changes nothing.
    this.#volumesBegin(pod, () => unknownLimit);
  }

  /** Records what a running container has accepted: exactly CPU and memory, 0 where unset. */
  setAccepted(uid: string, name: string, { requests, limits }: ResourceRequirements): void {
    const none = { cpu: '0', memory: '0' };
    this.setContainer(uid, name, { requests: { ...none, ...requests }, limits: { ...none, ...limits } });
  }

  /** Records one of the pod-level resources; the other stays. */
  setPodResource(uid: string, resources: ResourceRequirements, resource: ResizedResource): void {
    const current = this.#entries.get(uid)?.PodLevelResources ?? {};
    this.setPod(uid, mixedResources(current, resources, resource));
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    // A missing entry counts as no resources, and most containers request none.
    if (changedResources(amountsOf(resources), this.container(uid, name)).length === 0) return;
    const entry = this.#entries.get(uid);
    const ContainerResources = { ...entry?.ContainerResources, [name]: resources };
    this.#entries.set(uid, { ...entry, ContainerResources });
    this.#file?.changed();
  }

  setPod(uid: string, resources: ResourceRequirements): void {
    if (changedResources(amountsOf(resources), this.pod(uid)).length === 0) return;
    this.#entries.set(uid, { ...this.#entries.get(uid), PodLevelResources: resources });
    this.#file?.changed();
  }

  /** Forgets all other pods; does not write the file for that alone. */
  keepOnly(isKept: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKept(uid)) this.#entries.delete(uid);
  }

  /**
   * Resolves once all earlier changes are on disk; fails if they cannot be written. After a crash, a
   * container without an entry would be resized, or even restarted, for nothing.
   */
  async written(): Promise<void> {
    try {
      await this.#file?.written();
    } catch (error) {
      throw new Error(`could not record allocated resources: ${errorText(error)}`, { cause: error });
    }
  }

  /** Resolves when everything is written, or cannot be. */
  async stop(): Promise<void> {
    await this.#file?.stop();
  }
}

function pathBelow(rootDir: string): string {
  return join(rootDir, 'actuated_pods_state');
}
