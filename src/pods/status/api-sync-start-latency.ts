/** Measures how long API pods take from their creation until the API shows them running. */
import type { Clock } from '../../async/index.js';
import { isHostNetwork, isStaticPod, type Pod, parseTimestamp, type Volume } from '../../kube/index.js';
import type { ApiPodMetrics } from '../metrics.js';

type StartMetrics = Pick<ApiPodMetrics, 'startTotal' | 'startSli' | 'firstNetworkPodStartSli'>;

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

interface TrackedPodStart {
  seenVersion: string;
  /** We wrote that every container is running; the measurement ends when the API shows it. */
  isWritten: boolean;
  /** The scheduler could not place it at once; that is not the node's time. */
  wasUnschedulable: boolean;
  readonly pulls: Interval[];
  readonly pullingSinceMs: Map<string, number>;
}

const trackedLimit = 2000;
const pullsLimit = 1000;
/** Volumes that are mounted without help from outside the node. */
const localVolumes: ReadonlySet<string> = new Set([
  'name',
  'secret',
  'configMap',
  'downwardAPI',
  'emptyDir',
  'projected',
]);

export class PodStartLatency {
  readonly #clock: Clock;
  readonly #tracked = new Map<string, TrackedPodStart | 'measured'>();
  readonly #metrics: StartMetrics;
  #sawNetworkPod = false;

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: StartMetrics }) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  get size(): number {
    return this.#tracked.size;
  }

  /** Call with all of this node's API pods, each time one of them changed. */
  sighted(pods: readonly Pod[]): void {
    const nowMs = this.#clock.now();
    for (const pod of pods) this.#sight(pod, nowMs);
    if (this.#tracked.size > pods.length) this.#forgetBut(pods);
  }

  /** Runs only when more pods are tracked than exist, not at each change of one of many. */
  #forgetBut(pods: readonly Pod[]): void {
    const present = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#tracked.keys()) if (!present.has(uid)) this.#tracked.delete(uid);
  }

  /** Our write succeeded. */
  written(apiPod: Pod): void {
    const tracked = this.#tracked.get(apiPod.metadata.uid);
    if (isUnderWay(tracked) && isRunningThroughout(apiPod)) tracked.isWritten = true;
  }

  pullStarted(uid: string, image: string): void {
    const tracked = this.#tracked.get(uid);
    if (isUnderWay(tracked) && tracked.pullingSinceMs.size < pullsLimit)
      tracked.pullingSinceMs.set(image, this.#clock.now());
  }

  pullEnded(uid: string, image: string): void {
    const tracked = this.#tracked.get(uid);
    if (!isUnderWay(tracked)) return;
    const fromMs = tracked.pullingSinceMs.get(image);
    if (fromMs === undefined) return;
    tracked.pullingSinceMs.delete(image);
    if (tracked.pulls.length < pullsLimit) tracked.pulls.push({ fromMs, toMs: this.#clock.now() });
  }

  #sight(pod: Pod, nowMs: number): void {
    const { uid, resourceVersion = '' } = pod.metadata;
    const known = this.#tracked.get(uid);
    if (known === 'measured' || known?.seenVersion === resourceVersion) return;
    const tracked = known ?? this.#begin(pod);
    if (tracked === undefined) return;
    tracked.seenVersion = resourceVersion;
    tracked.wasUnschedulable ||= isUnschedulable(pod);
    if (!tracked.isWritten || !isRunningThroughout(pod)) return;
    this.#tracked.set(uid, 'measured');
    if (!tracked.wasUnschedulable) this.#observe(pod, tracked, nowMs);
  }

  /** A pod that started before it was seen, as after a restart of the agent, cannot be measured. */
  #begin(pod: Pod): TrackedPodStart | undefined {
    const cannot = pod.status?.startTime !== undefined || this.#tracked.size >= trackedLimit;
    if (cannot || isStaticPod(pod)) return undefined;
    const tracked: TrackedPodStart = {
      seenVersion: '',
      isWritten: false,
      wasUnschedulable: false,
      pulls: [],
      pullingSinceMs: new Map(),
    };
    this.#tracked.set(pod.metadata.uid, tracked);
    return tracked;
  }

  #observe(pod: Pod, { pulls }: TrackedPodStart, nowMs: number): void {
    const createdMs = parseTimestamp(pod.metadata.creationTimestamp ?? '');
    if (createdMs === undefined) return;
    const totalMs = nowMs - createdMs;
    this.#metrics.startTotal.observe(totalMs / 1000);
    if ((pod.spec.volumes ?? []).some(needsOthers)) return;
    const sliSeconds = Math.max(0, totalMs - unionMs([...pulls, ...initRuns(pod)])) / 1000;
    this.#metrics.startSli.observe(sliSeconds);
    if (this.#sawNetworkPod || isHostNetwork(pod)) return;
    this.#sawNetworkPod = true;
    this.#metrics.firstNetworkPodStartSli.set(sliSeconds);
  }
}

function isUnderWay(tracked: TrackedPodStart | 'measured' | undefined): tracked is TrackedPodStart {
  return tracked !== undefined && tracked !== 'measured';
}

/** The total length of all intervals, counting overlaps once. */
export function unionMs(intervals: readonly Interval[]): number {
  let total = 0;
  let coveredMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of [...intervals].sort((a, b) => a.fromMs - b.fromMs)) {
    total += Math.max(0, toMs - Math.max(fromMs, coveredMs));
    coveredMs = Math.max(coveredMs, toMs);
  }
  return total;
}

function initRuns({ status }: Pod): Interval[] {
  return (status?.initContainerStatuses ?? []).flatMap(({ state }) => {
    const fromMs = parseTimestamp(state?.terminated?.startedAt ?? '');
    const toMs = parseTimestamp(state?.terminated?.finishedAt ?? '');
    return fromMs === undefined || toMs === undefined ? [] : [{ fromMs, toMs }];
  });
}

function isRunningThroughout({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return (
    statuses.length === spec.containers.length && statuses.every(({ state }) => state?.running !== undefined)
  );
}

function isUnschedulable({ status }: Pod): boolean {
  return (
    status?.conditions?.some(
      (condition) => condition.type === 'PodScheduled' && condition.status === 'False',
    ) ?? false
  );
}

function needsOthers(volume: Volume): boolean {
  return Object.keys(volume).some((key) => !localVolumes.has(key));
}
