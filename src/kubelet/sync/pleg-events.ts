/** What the events of the PLEG lead to: which pods are synced, and for which dead containers room is made. */
import type { PodLifecycleEvent } from '../../runtime-manager/pleg/index.js';

export interface PlegPlan {
  /** Pods to sync, each once, in the order of their first event. */
  readonly syncUids: readonly string[];
  readonly died: readonly { readonly uid: string; readonly containerId: string }[];
}

/** A removal syncs nothing: it is the kubelet's own cleanup, and leaves nothing to act on. */
export function planPlegEvents(events: readonly PodLifecycleEvent[]): PlegPlan {
  const syncUids = new Set<string>();
  const died: { uid: string; containerId: string }[] = [];
  for (const { uid, type, id } of events) {
    if (type !== 'ContainerRemoved') syncUids.add(uid);
    if (type === 'ContainerDied') died.push({ uid, containerId: id });
  }
  return { syncUids: [...syncUids], died };
}

export interface PlegEventOptions {
  readonly sync: (uids: readonly string[]) => void;
  readonly containerDied: (uid: string, containerId: string) => void;
}

export function handlePlegEvents(
  events: readonly PodLifecycleEvent[],
  { sync, containerDied }: PlegEventOptions,
): void {
  const { syncUids, died } = planPlegEvents(events);
  sync(syncUids);
  for (const { uid, containerId } of died) containerDied(uid, containerId);
}
