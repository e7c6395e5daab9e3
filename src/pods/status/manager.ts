/**
 * The source of truth for pod statuses: takes the results of syncs and probes, keeps them consistent, and
 * reports changes.
 */

import type { Clock } from '../../async/index.js';
import {
  type ContainerStatus,
  containerTypes,
  formatTimestamp,
  isStaticPod,
  type Pod,
  type PodStatus,
  runtimeContainerId,
  sharingWith,
} from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { createPodMetrics, type PodMetrics } from '../metrics.js';
import { newTerminations, statusTransitions } from './changes.js';
import { findCondition, timedConditionTypes, withCondition } from './condition-list.js';
import { containersReadyCondition, readyCondition } from './conditions.js';
import { statusEqual } from './equal.js';
import { normalizeStatus } from './normalize.js';
import { terminatedStatus } from './terminate.js';
import { illegalTransition } from './transitions.js';

export interface StatusManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** The desired pod of that UID. */
  readonly podOf: (uid: string) => Pod | undefined;
  /** The mirror of a static pod. */
  readonly mirrorOf?: (pod: Pod) => Pod | undefined;
  /** The static pod's UID for its mirror's UID; any other UID unchanged. */
  readonly translateUid?: (uid: string) => string;
  /** Default: metrics that nobody reads. */
  readonly metrics?: Pick<PodMetrics, 'terminatedContainers'>;
}

/** A status with what is needed to write it to the API. */
export interface VersionedStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Incremented with each accepted change. */
  readonly version: number;
  /** Wall-clock milliseconds of the first change. */
  readonly firstChangeMs: number;
  /** All containers are gone and all resources are released. */
  readonly isFinished: boolean;
  readonly status: PodStatus;
}

export type UpdateOutcome = 'accepted' | 'unchanged' | 'discarded';
export type StatusListener = (change: VersionedStatus) => void;

/** Returned statuses are shared and must not be changed. */
export class StatusManager {
  readonly #options: StatusManagerOptions;
  readonly #terminated: PodMetrics['terminatedContainers'];
  readonly #entries = new Map<string, VersionedStatus>();
  readonly #listeners = new Set<StatusListener>();

  constructor(options: StatusManagerOptions) {
    this.#options = options;
    this.#terminated = (options.metrics ?? createPodMetrics()).terminatedContainers;
  }

  /** The status of a pod, by its own UID or that of its mirror. */
  get(uid: string): PodStatus | undefined {
    return this.entry(uid)?.status;
  }

  entry(uid: string): VersionedStatus | undefined {
    return this.#entries.get(this.#options.translateUid?.(uid) ?? uid);
  }

  entries(): readonly VersionedStatus[] {
    return [...this.#entries.values()];
  }

  /** How often the pod's status changed; 0 when there is none. */
  version(uid: string): number {
    return this.entry(uid)?.version ?? 0;
  }

  /**
   * Takes a generated status. A pod that is being deleted always counts as changed, so that it is written.
   */
  set(pod: Pod, status: PodStatus): UpdateOutcome {
    const { generation, deletionTimestamp } = pod.metadata;
    return this.#update(
      pod,
      generation === undefined ? status : { ...status, observedGeneration: generation },
      {
        isForced: deletionTimestamp !== undefined,
        isFinished: false,
      },
    );
  }

  /** Takes a readiness probe result; ids are the runtime's or the API's. */
  setContainerReadiness(uid: string, containerId: string, isReady: boolean): UpdateOutcome {
    return this.#changeContainer(uid, containerId, (pod, status, container) => {
      if (container.ready === isReady) return undefined;
      const changed = withContainer(status, { ...container, ready: isReady });
      const statuses = [...(changed.initContainerStatuses ?? []), ...(changed.containerStatuses ?? [])];
      const { phase } = changed;
      const told = ofToldGeneration(pod, status);
      const ready = readyCondition(told, changed.conditions, statuses, phase);
      const containersReady = containersReadyCondition(told, statuses, phase);
      const conditions = withCondition(withCondition(changed.conditions, ready), containersReady);
      return { ...changed, conditions };
    });
  }

  /** Takes a startup probe result; ids are the runtime's or the API's. */
  setContainerStarted(uid: string, containerId: string, isStarted: boolean): UpdateOutcome {
    return this.#changeContainer(uid, containerId, (_, status, container) =>
      container.started === isStarted
        ? undefined
        : withContainer(status, { ...container, started: isStarted }),
    );
  }

  /** Marks a pod as finished: whatever its status shows as alive has ended. */
  terminate(pod: Pod): UpdateOutcome {
    const current = this.#entries.get(pod.metadata.uid)?.status ?? pod.status ?? {};
    return this.#update(pod, terminatedStatus(pod, current), { isForced: true, isFinished: true });
  }

  /** Forgets the pods whose UID is neither a desired nor a mirror pod's. */
  removeOrphaned(uids: ReadonlySet<string>): void {
    for (const uid of this.#entries.keys()) {
      if (!uids.has(uid)) this.#entries.delete(uid);
    }
  }

  /** Forgets one pod, for example when the API has another one under its name. */
  remove(uid: string): void {
    this.#entries.delete(uid);
  }

  /** The status of the API's own object is kept anyway: what both have in common need not be there twice. */
  share(uid: string, ofApi: PodStatus): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    const status = sharingWith(ofApi, entry.status);
    if (status !== entry.status) this.#entries.set(uid, { ...entry, status });
  }

  /** Calls the listener synchronously with every accepted change; returns an unsubscribe function. */
  onChange(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #changeContainer(
    uid: string,
    containerId: string,
    change: (pod: Pod, status: PodStatus, container: ContainerStatus) => PodStatus | undefined,
  ): UpdateOutcome {
    const pod = this.#options.podOf(uid);
    const status = this.#entries.get(uid)?.status;
    if (pod === undefined || status === undefined) return 'unchanged';
    const container = findContainer(status, containerId);
    const changed = container === undefined ? undefined : change(pod, status, container);
    if (changed === undefined) return 'unchanged';
    return this.#update(pod, changed, { isForced: false, isFinished: false });
  }

  #update(
    pod: Pod,
    given: PodStatus,
    { isForced, isFinished }: { readonly isForced: boolean; readonly isFinished: boolean },
  ): UpdateOutcome {
    const { clock, timeline, mirrorOf } = this.#options;
    const { uid, name, namespace } = pod.metadata;
    const cached = this.#entries.get(uid);
    const isStatic = isStaticPod(pod);
    const mirror = isStatic ? mirrorOf?.(pod) : undefined;
    const old = cached?.status ?? mirror?.status ?? pod.status ?? {};

    const illegal = illegalTransition(pod, old, given);
    if (illegal !== undefined) {
      timeline.record({
        kind: 'problem',
        what: 'status.discard',
        message: 'status update discarded',
        because: illegal,
        pod: podRef(pod),
      });
      return 'discarded';
    }

    const nowMs = clock.now();
    const status = sharingWith(old, normalizeStatus(pod, withTimes(given, old, nowMs)));
    for (const { kind, exitCode, reason } of newTerminations(old, status))
      this.#terminated.inc({ container_type: containerTypes[kind], exit_code: String(exitCode), reason });
    if (cached !== undefined && !isForced && statusEqual(cached.status, status)) return 'unchanged';

    const entry: VersionedStatus = {
      uid,
      name,
      namespace,
      version: (cached?.version ?? 0) + 1,
      firstChangeMs: cached?.firstChangeMs ?? nowMs,
      isFinished: isFinished || (cached?.isFinished === true && !isStatic),
      status,
    };
    this.#entries.set(uid, entry);
    for (const transition of statusTransitions(pod, old, status)) timeline.record(transition);
    for (const listener of this.#listeners) listener(entry);
    return 'accepted';
  }
}

/** The pod as of the generation that its status is about: a resize that nobody has judged yet is not told by a probe. */
function ofToldGeneration(pod: Pod, { observedGeneration }: PodStatus): Pod {
  if (observedGeneration === undefined) return pod;
  return { ...pod, metadata: { ...pod.metadata, generation: observedGeneration } };
}

/** The status with the times and the generation that follow from the old one. */
function withTimes(status: PodStatus, old: PodStatus, nowMs: number): PodStatus {
  const now = formatTimestamp(nowMs);
  const conditions = status.conditions?.map((condition) => {
    if (!timedConditionTypes.includes(condition.type)) return condition;
    const before = findCondition(old.conditions, condition.type);
    const isSame = before !== undefined && before.status === condition.status;
    return { ...condition, lastTransitionTime: isSame ? before.lastTransitionTime : now };
  });
  const observedGeneration = Math.max(status.observedGeneration ?? 0, old.observedGeneration ?? 0);
  return {
    ...status,
    ...(conditions === undefined ? {} : { conditions }),
    startTime: old.startTime ?? status.startTime ?? now,
    ...(observedGeneration === 0 ? {} : { observedGeneration }),
  };
}

function findContainer(status: PodStatus, containerId: string): ContainerStatus | undefined {
  const wanted = runtimeContainerId(containerId);
  return [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(
    ({ containerID }) => containerID !== undefined && runtimeContainerId(containerID) === wanted,
  );
}

function withContainer(status: PodStatus, changed: ContainerStatus): PodStatus {
  const replaced = (list: readonly ContainerStatus[]): ContainerStatus[] =>
    list.map((container) => (container.name === changed.name ? changed : container));
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(containerStatuses === undefined ? {} : { containerStatuses: replaced(containerStatuses) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: replaced(initContainerStatuses) }),
  };
}
