/** Writes one status to the API: based on our own copy where that will do, else on a fresh read. */
import type { Clock } from '../../async/index.js';
import { isMirrorPod, isStaticPod, type Pod, type PodStatus } from '../../kube/index.js';
import { isConflict, isInvalid, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import { mergeForApi } from './api-merge.js';
import { type StatusPatch, statusPatch } from './api-sync-decisions.js';
import { statusEqual } from './equal.js';
import type { VersionedStatus } from './manager.js';
import { normalizeStatus } from './normalize.js';

export interface WriteContext {
  readonly clock: Clock;
  readonly api: KubeApi;
  /** The desired pods. */
  readonly pods: {
    byUid(uid: string): Pod | undefined;
    translateUid(uid: string): string;
  };
  /** Takes the UID of the API's object. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
}

export type WriteOutcome =
  /** The API has it; `apiPod` is its response, never an older copy. */
  | { readonly kind: 'written'; readonly apiPod: Pod; readonly isHeldBack: boolean }
  /** Our copy has it already, and was trusted. */
  | { readonly kind: 'unchanged' }
  /** The API has no such pod. */
  | { readonly kind: 'gone' }
  /** The API has another pod under this name. */
  | { readonly kind: 'replaced'; readonly apiUid: string }
  /** The static pod has a new mirror that we have not seen yet. */
  | { readonly kind: 'unseen-mirror' };

/** Our copy of the API's object; it may be stale. */
export interface CopyAtHand {
  readonly pod: Pod;
  /** Whether it suffices to decide that there is nothing to write. */
  readonly isTrusted: boolean;
}

/** Without a copy, reads the API's own first. */
export async function writeStatus(
  context: WriteContext,
  entry: VersionedStatus,
  atHand: CopyAtHand | undefined,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const { api } = context;
  const ref = { namespace: entry.namespace, name: entry.name };
  const read = (): Promise<Pod> => api.get(resources.pods, ref, { signal, priority: 'urgent' });
  try {
    if (atHand !== undefined) {
      const change = changeOf(context, entry, atHand.pod);
      if (change.kind === 'none' && atHand.isTrusted) return { kind: 'unchanged' };
      if (change.kind !== 'patch') return await writeFresh(context, entry, await read(), signal);
      const reply = await patchStatus(api, ref, change.patch, signal).catch((error: unknown) => {
        // Another UID is a conflict to one server and an invalid change to another.
        if (isConflict(error) || isInvalid(error)) return undefined;
        throw error;
      });
      if (reply === undefined) return await writeFresh(context, entry, await read(), signal);
      if (isAsMeant(reply, change.merged))
        return { kind: 'written', apiPod: reply, isHeldBack: change.isHeldBack };
      // Our copy was stale: correct the write at once, based on the response.
      return await writeFresh(context, entry, reply, signal);
    }
    return await writeFresh(context, entry, await read(), signal);
  } catch (error) {
    if (isNotFound(error)) return { kind: 'gone' };
    throw error;
  }
}

/** `apiPod` is a fresh response: it may decide that there is nothing to write. */
async function writeFresh(
  context: WriteContext,
  entry: VersionedStatus,
  apiPod: Pod,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const change = changeOf(context, entry, apiPod);
  switch (change.kind) {
    case 'replaced':
    case 'unseen-mirror':
      return change;
    case 'none':
      return { kind: 'written', apiPod, isHeldBack: change.isHeldBack };
    case 'patch': {
      const ref = { namespace: entry.namespace, name: entry.name };
      const reply = await patchStatus(context.api, ref, change.patch, signal);
      return { kind: 'written', apiPod: reply, isHeldBack: change.isHeldBack };
    }
  }
}

type StatusChange =
  | Extract<WriteOutcome, { kind: 'replaced' | 'unseen-mirror' }>
  | { readonly kind: 'none'; readonly isHeldBack: boolean }
  | {
      readonly kind: 'patch';
      readonly patch: StatusPatch;
      readonly merged: PodStatus;
      readonly isHeldBack: boolean;
    };

function changeOf(
  { clock, pods, couldHaveRunningContainers }: WriteContext,
  entry: VersionedStatus,
  apiPod: Pod,
): StatusChange {
  const apiUid = apiPod.metadata.uid;
  if (pods.translateUid(apiUid) !== entry.uid) {
    const pod = pods.byUid(entry.uid);
    const isUnseenMirror = pod !== undefined && isStaticPod(pod) && isMirrorPod(apiPod);
    return isUnseenMirror ? { kind: 'unseen-mirror' } : { kind: 'replaced', apiUid };
  }
  const couldRun = couldHaveRunningContainers(apiUid);
  const merged = mergeForApi({
    apiPod,
    ours: entry.status,
    couldHaveRunningContainers: couldRun,
    nowMs: clock.now(),
  });
  const isHeldBack = couldRun && merged.phase !== entry.status.phase;
  const patch = statusPatch(apiPod, merged);
  return patch === undefined ? { kind: 'none', isHeldBack } : { kind: 'patch', patch, merged, isHeldBack };
}

function isAsMeant(reply: Pod, merged: PodStatus): boolean {
  return statusEqual(normalizeStatus(reply, reply.status ?? {}), normalizeStatus(reply, merged));
}

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

function patchStatus(api: KubeApi, ref: PodName, body: StatusPatch, signal: AbortSignal): Promise<Pod> {
  return api.patch(resources.pods, ref, { type: 'strategic', body }, { subresource: 'status', signal });
}

/** Deletes an ended pod from the API, and no other that took its name. */
export async function deleteEnded(
  api: KubeApi,
  ref: PodName,
  apiUid: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await api.delete(resources.pods, ref, {
      gracePeriodSeconds: 0,
      preconditions: { uid: apiUid },
      priority: 'urgent',
      signal,
    });
  } catch (error) {
    // Gone already, as after a delete whose response was lost.
    if (!isNotFound(error)) throw error;
  }
}
