/** The decisions of bringing statuses to the API: what is written, when, in which order, and in which form. */

import { isStaticPod, isTerminalPhase, type Pod, type PodStatus, semanticEqual } from '../../kube/index.js';
import { mergeSchemaOf, resources, strategicMergeDiff } from '../../kube-client/index.js';
import { canBeDeletedFromApi } from './api-merge.js';
import { hasTrueCondition } from './condition-list.js';
import { statusEqual } from './equal.js';
import type { VersionedStatus } from './manager.js';
import { normalizeStatus } from './normalize.js';

/** What the API was last known to hold after a write of ours. */
export interface Written {
  /** The mirror's UID for a static pod. */
  readonly apiUid: string;
  readonly version: number;
  readonly status: PodStatus;
  readonly resourceVersion: string;
  /** The end of the pod was kept back, as containers could still run. */
  readonly isHeldBack: boolean;
}

export interface SyncInput {
  readonly entry: VersionedStatus;
  /** The configured pod of the entry; it may be gone while it is still being stopped. */
  readonly pod: Pod | undefined;
  /** The mirror of a static pod. */
  readonly mirror: Pod | undefined;
  readonly written: Written | undefined;
}

export type SyncNeed =
  | { readonly kind: 'none' }
  /** `isReadFirst`: the API is asked for its copy, as the one at hand may be wrong. */
  | { readonly kind: 'write'; readonly isReadFirst: boolean; readonly because: string };

const nothing: SyncNeed = { kind: 'none' };

/** The object of the API that stands for the pod, as it was last seen; undefined when none was. */
export function apiPodOf(pod: Pod | undefined, mirror: Pod | undefined): Pod | undefined {
  return pod !== undefined && isStaticPod(pod) ? mirror : pod;
}

/** Whether a change of the status is still to be written. */
export function needOfChange({ entry, pod, mirror, written }: SyncInput): SyncNeed {
  const apiPod = apiPodOf(pod, mirror);
  // A static pod without a mirror has nothing in the API that a status could be written to.
  if (pod !== undefined && apiPod === undefined) return nothing;
  const apiUid = apiPod?.metadata.uid ?? entry.uid;
  if (written === undefined || written.apiUid !== apiUid) {
    return { kind: 'write', isReadFirst: false, because: 'it was never written' };
  }
  if (entry.version > written.version)
    return { kind: 'write', isReadFirst: false, because: 'the status changed' };
  return nothing;
}

/** As above, and whatever went wrong since: an end that was not completed, or a status that somebody else wrote. */
export function needOfFullPass(input: SyncInput): SyncNeed {
  const changed = needOfChange(input);
  const { entry, pod, mirror, written } = input;
  // What was not written by now may have failed; the copy at hand is not trusted then.
  if (changed.kind === 'write') return { ...changed, isReadFirst: true };
  const apiPod = apiPodOf(pod, mirror);
  if (pod === undefined || apiPod === undefined) return nothing;
  if (canBeDeletedFromApi(apiPod, entry.isFinished)) {
    return { kind: 'write', isReadFirst: true, because: 'its deletion is to be completed' };
  }
  const seen = normalizeStatus(pod, apiPod.status ?? {});
  if (statusEqual(seen, entry.status)) return nothing;
  // What the server made of our last write, such as leaving out what it does not know, is not written again.
  const isOurs =
    written !== undefined && !written.isHeldBack && statusEqual(seen, normalizeStatus(pod, written.status));
  return isOurs
    ? nothing
    : { kind: 'write', isReadFirst: true, because: 'the API shows another status than this node' };
}

/** Which of the statuses that wait goes first; lower is sooner. */
export function writeRank(entry: VersionedStatus, written: Written | undefined): number {
  if (entry.isFinished || isTerminalPhase(entry.status.phase)) return 0;
  if (changesReadiness(entry.status, written?.status)) return 0;
  return written === undefined ? 2 : 1;
}

/** Who waits for a pod waits for it to be ready, or must learn that it no longer is. */
function changesReadiness(status: PodStatus, shown: PodStatus | undefined): boolean {
  return hasTrueCondition(status.conditions, 'Ready') !== hasTrueCondition(shown?.conditions, 'Ready');
}

/**
 * Whether somebody waits for this very status. What a pod shows on its way (that its containers are being created,
 * that it has an address, that one of two containers has stopped) mostly gives way to the next status within moments,
 * and a hundred pods that start or end at once would keep the API busy with what nobody gets to see.
 */
export function isUrgent(
  { entry, pod, mirror, written }: SyncInput,
  /** Of the pod: as long as they could, its end is not shown. */
  couldHaveRunningContainers: boolean,
): boolean {
  if (entry.isFinished) return true;
  // Its end is what is waited for, and nothing before that.
  if (pod?.metadata.deletionTimestamp !== undefined) return false;
  if (isTerminalPhase(entry.status.phase) && !couldHaveRunningContainers) return true;
  return changesReadiness(entry.status, written?.status ?? apiPodOf(pod, mirror)?.status);
}

/** So long no other change may have come before it is written. */
const graceMs = 500;
/** A pod that is to be deleted has its last word to say. */
const endingGraceMs = 2_000;
/** One of them is written each time this has passed, and fewer while there are urgent ones, which find the API free. */
const paceMs = 100;
const busyPaceMs = 1_000;
/** An urgent one so long ago tells that more may come. */
const busyAfterUrgentMs = 1_000;
/** However many there are, none waits longer. */
const longestWaitMs = 10_000;
/** The same of pods that are to be deleted. */
const longestEndingWaitMs = 15_000;

/** The times of a status that is not urgent, in monotonic milliseconds. */
export interface UnhurriedTimes {
  /** Since when the API lacks something. */
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
export function wentBack(apiPod: Pod, written: Written | undefined): boolean {
  const { uid, resourceVersion = '' } = apiPod.metadata;
  if (written === undefined || written.apiUid !== uid) return false;
  // Versions of one object are numbers that grow; whatever is none is not compared.
  if (!/^\d+$/.test(resourceVersion) || !/^\d+$/.test(written.resourceVersion)) return false;
  return BigInt(resourceVersion) < BigInt(written.resourceVersion);
}

export interface StatusPatch {
  /** A pod of another UID under the same name refuses the patch. */
  readonly metadata: { readonly uid: string };
  readonly status: Readonly<Record<string, unknown>>;
}

const statusSchema = mergeSchemaOf(resources.pods).fields?.status ?? {};

/** The patch that makes the API's status the merged one; undefined when they are the same. */
export function statusPatch(apiPod: Pod, merged: PodStatus): StatusPatch | undefined {
  const current: Readonly<Record<string, unknown>> = { ...apiPod.status };
  const wanted = Object.fromEntries(
    Object.entries(merged).map(([field, value]) => {
      // The server leaves out what is empty; to send that again would never end.
      return [field, semanticEqual(current[field], value) ? current[field] : value];
    }),
  );
  const status = strategicMergeDiff(statusSchema, current, wanted);
  if (Object.keys(status).length === 0) return undefined;
  // Mappings say something even when they are empty, but not so much that they were worth a write of their own.
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
