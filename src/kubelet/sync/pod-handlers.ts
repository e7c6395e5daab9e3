/** What each kind of change in the desired pods leads to: admission, and work for the pod's worker. */

import type { Clock } from '../../async/index.js';
import { isMirrorPod, isTerminalPhase, type Pod, type PodStatus } from '../../kube/index.js';
import type { ConfigUpdate, PodConfig, PodManager } from '../../pods/desired/index.js';
import { needsReadinessReconcile, rejectedStatus } from '../../pods/status/index.js';
import type { PodWorkers } from '../../pods/workers/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { filterActive } from '../admission/active-pods.js';
import { type AdmissionHandler, admit, rejectionLabel } from '../admission/admission.js';
import type { KubeletMetrics } from '../metrics.js';

export interface PodHandlersOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly config: Pick<PodConfig, 'allSourcesReady'>;
  readonly statuses: {
    get(uid: string): PodStatus | undefined;
    set(pod: Pod, status: PodStatus): void;
  };
  readonly admission: readonly AdmissionHandler[];
  readonly metrics: Pick<KubeletMetrics, 'rejections'>;
  /** Removes all dead containers of a pod whose content is no longer wanted. */
  readonly removeAllDeadContainers: (uid: string) => void;
  /** Told of each static pod whose mirror the API showed. */
  readonly onMirror?: (staticPod: Pod) => void;
}

export class PodHandlers {
  readonly #options: PodHandlersOptions;

  constructor(options: PodHandlersOptions) {
    this.#options = options;
  }

  handle(update: ConfigUpdate): void {
    switch (update.op) {
      case 'ADD':
        this.additions(update.pods);
        break;
      case 'UPDATE':
      case 'DELETE':
        this.updates(update.pods);
        break;
      case 'REMOVE':
        this.removals(update.pods);
        break;
      case 'RECONCILE':
        this.reconcile(update.pods);
        break;
    }
  }

  additions(added: readonly Pod[]): void {
    const { pods, workers, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const pod of [...added].sort(byCreation)) {
      pods.upsert(pod);
      if (isMirrorPod(pod)) {
        this.#updateThroughMirror(pod, pod, startMs);
        continue;
      }
      if (!this.#admit(pod)) continue;
      const mirror = pods.mirrorOf(pod);
      workers.update({ type: 'create', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
  }

  updates(updated: readonly Pod[]): void {
    const { pods, workers, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const given of updated) {
      pods.upsert(given);
      const { pod, mirror } = pods.podAndMirror(given);
      if (pod === undefined) continue;
      workers.update({ type: 'update', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
  }

  removals(removed: readonly Pod[]): void {
    const { pods, workers, config, timeline, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const pod of removed) {
      pods.remove(pod);
      if (isMirrorPod(pod)) {
        // Without the one that is gone, so that a new one is made at once.
        this.#updateThroughMirror(pod, pods.mirrorOf(pod), startMs);
      } else if (config.allSourcesReady) {
        workers.update({ type: 'kill', pod, startMs });
      } else {
        timeline.record({
          kind: 'decision',
          what: 'pod.remove',
          message: 'pod is not stopped yet',
          because: "skipping delete because sources aren't ready yet; it is stopped once all of them are",
          pod: podRef(pod),
        });
      }
    }
  }

  reconcile(changed: readonly Pod[]): void {
    const { pods, removeAllDeadContainers } = this.#options;
    for (const given of changed) {
      pods.upsert(given);
      const { pod } = pods.podAndMirror(given);
      if (pod === undefined) continue;
      const uid = pod.metadata.uid;
      if (needsReadinessReconcile(pod)) this.syncs([uid]);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') removeAllDeadContainers(uid);
    }
  }

  /** Makes the workers sync these pods again. */
  syncs(uids: readonly string[]): void {
    const { pods, workers, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const uid of uids) {
      const pod = pods.byUid(uid);
      if (pod === undefined) continue;
      const mirror = pods.mirrorOf(pod);
      workers.update({ type: 'sync', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
  }

  #updateThroughMirror(seen: Pod, mirror: Pod | undefined, startMs: number): void {
    const { pods, workers, onMirror } = this.#options;
    const { pod } = pods.podAndMirror(seen);
    if (pod === undefined) return;
    workers.update({ type: 'update', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    onMirror?.(pod);
  }

  #admit(pod: Pod): boolean {
    const { workers, pods, statuses, admission, timeline, metrics } = this.#options;
    const uid = pod.metadata.uid;
    if (workers.isTerminationRequested(uid) || isTerminalPhase(pod.status?.phase)) return true;
    const answer = admit(admission, pod, filterActive(pods.list(), { workers, statuses }));
    if (answer.admit) {
      timeline.record({
        kind: 'decision',
        what: 'pod.admit',
        message: 'pod is admitted',
        pod: podRef(pod),
        level: 'debug',
      });
      return true;
    }
    timeline.event(podRef(pod), 'Warning', answer.reason, answer.message);
    statuses.set(pod, rejectedStatus(pod, answer.reason, answer.message));
    metrics.rejections.inc({ reason: rejectionLabel(answer.reason) });
    return false;
  }
}

function byCreation(a: Pod, b: Pod): number {
  const [left, right] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return left < right ? -1 : left > right ? 1 : 0;
}
