/** The decisions of writing statuses to the API: what, when, in which order, and in which form. */

import { isStaticPod, isTerminalPhase, type Pod, type PodStatus, semanticEqual } from '../../kube/index.js';
import { mergeSchemaOf, resources, strategicMergeDiff } from '../../kube-client/index.js';
import { canBeDeletedFromApi } from './api-merge.js';
import { hasTrueCondition } from './condition-list.js';
import { statusEqual } from './equal.js';
import type { VersionedStatus } from './manager.js';
import { normalizeStatus } from './normalize.js';
import { settlesResize } from './resize-settled.js';

/** The last known API state after our own write. */
export interface WrittenStatus {
  /** The mirror's UID for a static pod. */
  readonly apiUid: string;
  readonly version: number;
  readonly status: PodStatus;
  readonly resourceVersion: string;
  /** The terminal phase was withheld, as containers could still run. */
  readonly isHeldBack: boolean;
}

export interface SyncInput {
  readonly entry: VersionedStatus;
  /** The entry's desired pod; it may be gone while it is still being stopped. */
  readonly pod: Pod | undefined;
  /** The mirror of a static pod. */
  readonly mirror: Pod | undefined;
  readonly written: WrittenStatus | undefined;
}

export type SyncNeed =
  | { readonly kind: 'none' }
  /** `isReadFirst`: fetch the API's copy first, as ours may be stale. */
  | { readonly kind: 'write'; readonly isReadFirst: boolean; readonly because: string };

const nothing: SyncNeed = { kind: 'none' };

/** The API object of the pod as last seen; undefined when none was. */
export function apiPodOf(pod: Pod | undefined, mirror: Pod | undefined): Pod | undefined {
  return pod !== undefined && isStaticPod(pod) ? mirror : pod;
}

/** Whether a change of the status still has to be written. */
export function needOfChange({ entry, pod, mirror, written }: SyncInput): SyncNeed {
  const apiPod = apiPodOf(pod, mirror);
  // A static pod without a mirror has no API object to write a status to.
  if (pod !== undefined && apiPod === undefined) return nothing;
  const apiUid = apiPod?.metadata.uid ?? entry.uid;
  if (written === undefined || written.apiUid !== apiUid) {
    return { kind: 'write', isReadFirst: false, because: 'it was never written' };
  }
  if (entry.version > written.version)
    return { kind: 'write', isReadFirst: false, because: 'the status changed' };
  return nothing;
}

/**
 * As above, and also repairs what went wrong since: an incomplete deletion, or a status that somebody else
 * wrote.
 */
export function needOfFullPass(input: SyncInput): SyncNeed {
  const changed = needOfChange(input);
  const { entry, pod, mirror, written } = input;
  // A write still pending by now may have failed; then our copy is not trusted.
  if (changed.kind === 'write') return { ...changed, isReadFirst: true };
  const apiPod = apiPodOf(pod, mirror);
  if (pod === undefined || apiPod === undefined) return nothing;
  if (canBeDeletedFromApi(apiPod, entry.isFinished)) {
    return { kind: 'write', isReadFirst: true, because: 'its deletion has to be completed' };
  }
  const seen = normalizeStatus(pod, apiPod.status ?? {});
  if (statusEqual(seen, entry.status)) return nothing;
  // Do not rewrite what the server made of our last write, such as dropping unknown fields.
  const isOurs =
    written !== undefined && !written.isHeldBack && statusEqual(seen, normalizeStatus(pod, written.status));
  return isOurs
    ? nothing
    : { kind: 'write', isReadFirst: true, because: 'the API shows another status than this node' };
}

/** The order of pending writes; lower is sooner. */
export function writeRank(entry: VersionedStatus, written: WrittenStatus | undefined): number {
  if (entry.isFinished || isTerminalPhase(entry.status.phase)) return 0;
  if (changesReadiness(entry.status, written?.status)) return 0;
  return written === undefined ? 2 : 1;
}

/** Users wait for a pod to become ready, or must learn that it no longer is. */
function changesReadiness(status: PodStatus, shown: PodStatus | undefined): boolean {
  return hasTrueCondition(status.conditions, 'Ready') !== hasTrueCondition(shown?.conditions, 'Ready');
}

/**
 * Whether somebody waits for exactly this status. A pod's intermediate states (its containers are being
 * created, it has an address, one of two containers has stopped) are mostly replaced within moments, and a
 * hundred pods that start or stop at once would keep the API busy with statuses that nobody gets to see.
 */
export function isUrgent(
  { entry, pod, mirror, written }: SyncInput,
  /** While the pod's containers could run, its terminal phase is withheld. */
  couldHaveRunningContainers: boolean,
): boolean {
  if (entry.isFinished) return true;
  // Only its end is waited for, nothing before that.
  if (pod?.metadata.deletionTimestamp !== undefined) return false;
  if (isTerminalPhase(entry.status.phase) && !couldHaveRunningContainers) return true;
  const shown = written?.status ?? apiPodOf(pod, mirror)?.status;
  return changesReadiness(entry.status, shown) || settlesResize(entry.status, shown);
}

/** How long a status must stay unchanged before it is written. */
const graceMs = 500;
/** The same for a pod that is being deleted, whose last status is still to come. */
const endingGraceMs = 2_000;
/**
 * Unhurried statuses are written one per interval, and fewer while there are urgent ones, which find the API
 * free.
 */
const paceMs = 100;
const busyPaceMs = 1_000;
/** After an urgent write, more are expected for this long. */
const busyAfterUrgentMs = 1_000;
/** The longest wait, however many are pending. */
const longestWaitMs = 10_000;
/** The same for pods that are being deleted. */
const longestEndingWaitMs = 15_000;

/** The times of a status that is not urgent, in monotonic milliseconds. */
export interface UnhurriedTimes {
  /** Since when the API is out of date. */
  readonly sinceMs: number;
  readonly changedMs: number;
  readonly isEnding: boolean;
}

export interface LastWrites {
  readonly urgentMs: number;
  readonly unhurriedMs: number;
}

/** When it may be written, given when the last writes began. */
export function dueMs({ sinceMs, changedMs, isEnding }: UnhurriedTimes, last: LastWrites): number {
  const pacedMs = Math.min(
    last.unhurriedMs + busyPaceMs,
    Math.max(last.unhurriedMs + paceMs, last.urgentMs + busyAfterUrgentMs),
  );
  const quietMs = changedMs + (isEnding ? endingGraceMs : graceMs);
  const latestMs = sinceMs + (isEnding ? longestEndingWaitMs : longestWaitMs);
  return Math.min(Math.max(quietMs, pacedMs), latestMs);
}

/** Whether the API shows a state of the pod from before our last write, as after a restore from a backup. */
export function wentBack(apiPod: Pod, written: WrittenStatus | undefined): boolean {
  const { uid, resourceVersion = '' } = apiPod.metadata;
  if (written === undefined || written.apiUid !== uid) return false;
  // Versions of one object are increasing numbers; anything else is not compared.
  if (!/^\d+$/.test(resourceVersion) || !/^\d+$/.test(written.resourceVersion)) return false;
  return BigInt(resourceVersion) < BigInt(written.resourceVersion);
}

export interface StatusPatch {
  /** The patch fails on a pod of another UID under the same name. */
  readonly metadata: { readonly uid: string };
  readonly status: Readonly<Record<string, unknown>>;
}

const statusSchema = mergeSchemaOf(resources.pods).fields?.status ?? {};

/** The patch from the API's status to the merged one; undefined when they are equal. */
export function statusPatch(apiPod: Pod, merged: PodStatus): StatusPatch | undefined {
  const current: Readonly<Record<string, unknown>> = { ...apiPod.status };
  const wanted = Object.fromEntries(
    Object.entries(merged).map(([field, value]) => {
      // The server drops empty values; sending them again would never end.
      return [field, semanticEqual(current[field], value) ? current[field] : value];
    }),
  );
  const status = strategicMergeDiff(statusSchema, current, wanted);
  if (Object.keys(status).length === 0) return undefined;
  // Empty mappings carry meaning, but are not worth a write of their own.
  for (const [field, value] of Object.entries(merged)) {
    if (current[field] === undefined && isEmptyMapping(value)) status[field] = {};
  }
  return { metadata: { uid: apiPod.metadata.uid }, status };
}

function isEmptyMapping(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  );
}
