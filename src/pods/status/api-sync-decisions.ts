/** The decisions of bringing statuses to the API: what is written, when, in which order, and in which form. */

import { mergeSchemaOf, resources, strategicMergeDiff } from '../../kube/client/index.js';
import { isStaticPod, isTerminalPhase, type Pod, type PodStatus, semanticEqual } from '../../kube/index.js';
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
  // Who waits for a pod waits for it to be ready, or must learn that it no longer is.
  const isReady = hasTrueCondition(entry.status.conditions, 'Ready');
  const wasReady = hasTrueCondition(written?.status.conditions, 'Ready');
  if (isReady !== wasReady) return 0;
  return written === undefined ? 2 : 1;
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
  return { metadata: { uid: apiPod.metadata.uid ?? '' }, status };
}
