/** Decides what a DaemonSet needs on the one node: a pod to make, pods to delete, and its status. */
import type { DaemonSet, Pod } from '../../kube/index.js';
import { intOrPercent } from '../pods/int-or-percent.js';
import { createdMs, isAvailable, isFinished, isReady } from '../pods/pod-facts.js';
import { revisionHashLabel } from '../revisions/controller-revisions.js';
import type { DaemonFit } from './daemon-pod.js';

export interface DaemonInput {
  readonly set: DaemonSet;
  readonly fit: DaemonFit;
  readonly pods: readonly Pod[];
  /** The hash of the current template. */
  readonly hash: string;
  readonly nowMs: number;
}

export interface DaemonPlan {
  readonly create: boolean;
  readonly delete: readonly Pod[];
  /** Pods that ended though they should run: they are deleted and made anew, after a pause. */
  readonly ended: readonly Pod[];
}

export function isUpToDate({ metadata }: Pod, hash: string): boolean {
  return metadata.labels?.[revisionHashLabel] === hash;
}

function mayGoEarly({ spec }: DaemonSet): boolean {
  return spec.updateStrategy?.type !== 'OnDelete';
}

function surge({ spec }: DaemonSet): number {
  return intOrPercent(spec.updateStrategy?.rollingUpdate?.maxSurge, 1, 'up', 0);
}

export function decideDaemon(input: DaemonInput): DaemonPlan {
  const { set, fit, pods, hash, nowMs } = input;
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (!fit.mayStay) return { create: false, delete: staying, ended: [] };
  const ended = staying.filter(isFinished);
  const running = staying.filter((pod) => !isFinished(pod)).sort((a, b) => createdMs(a) - createdMs(b));
  const fresh = running.filter((pod) => isUpToDate(pod, hash));
  const old = running.filter((pod) => !isUpToDate(pod, hash));
  const isSurging = mayGoEarly(set) && surge(set) > 0;
  if (ended.length > 0) return { create: false, delete: [], ended };
  if (pods.length === 0) return { create: fit.shouldRun, delete: [], ended };
  const available = fresh.some((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
  if (isSurging && old.length > 0) {
    // The new pod comes beside the old one, which goes when the new one is available or it is not itself.
    const useless = old.filter((pod) => available || !isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
    const create = fresh.length === 0 && fit.shouldRun && !pods.some((pod) => isUpToDate(pod, hash));
    return { create, delete: [...useless.filter(() => fresh.length > 0), ...fresh.slice(1)], ended };
  }
  const replaced = mayGoEarly(set) && fit.shouldRun ? old : [];
  const extra = running.filter((pod) => !replaced.includes(pod)).slice(1);
  return { create: false, delete: [...replaced, ...extra], ended };
}

export type DaemonSetStatus = NonNullable<DaemonSet['status']>;

export function daemonStatus(
  { set, fit, pods, hash, nowMs }: DaemonInput,
  collisionCount: number | undefined,
): DaemonSetStatus {
  const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const desired = fit.shouldRun ? 1 : 0;
  const count = (test: (pod: Pod) => boolean): number => (fit.shouldRun && present.some(test) ? 1 : 0);
  const available = count((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
  const { generation } = set.metadata;
  return {
    currentNumberScheduled: count(() => true),
    numberMisscheduled: !fit.shouldRun && present.length > 0 ? 1 : 0,
    desiredNumberScheduled: desired,
    numberReady: count(isReady),
    updatedNumberScheduled: count((pod) => isUpToDate(pod, hash)),
    numberAvailable: available,
    numberUnavailable: desired - available,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
