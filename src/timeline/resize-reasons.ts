/** Why the resize of a pod waits, and what would let it through, decided from the pod's entries. */
import type { EntryOf, TimelineEntry } from './entry.js';
import { lastOf } from './last-entry.js';
import type { WaitReason } from './wait-reasons.js';

export function resizeReasons(entries: readonly TimelineEntry[]): WaitReason[] {
  const waiting = waitingResize(entries);
  if (waiting === undefined) return [];
  const { reason, cause, asked, given } = waiting.data;
  return [
    {
      waitsFor: `its resize to ${asked}, having ${given}: ${reason} (${cause}): ${waiting.because ?? ''}`,
      brief: `its resize to ${asked}: ${waiting.because ?? reason}`,
      unblock: reason === 'Infeasible' ? infeasibleAdvice : deferredAdvice(cause),
    },
  ];
}

/** The last refusal of a resize that still waits. */
export function waitingResize(entries: readonly TimelineEntry[]): EntryOf<'pod.resizeWaits'> | undefined {
  const last = lastOf(entries, 'pod.resizeWaits', 'pod.resizeSettled', 'pod.allocated', 'pod.terminating');
  return last?.what === 'pod.resizeWaits' ? last : undefined;
}

const infeasibleAdvice =
  'this node can never do it: ask for what the pod was given, or replace the pod by one with the new resources';

/** It is tried again whenever pods end or shrink; what is missing tells what has to. */
function deferredAdvice(cause: string): string {
  const missing = /^OutOf(.+)$/.exec(cause)?.[1];
  const again = 'it is tried again by itself when pods end or shrink, and every 3 minutes';
  if (missing !== undefined) return `${again}; end or shrink pods that hold ${missing}, or ask for less`;
  if (cause === 'Evicted') return `${again}; relieve the pressure that the message names`;
  return `${again}; correct what the message names`;
}
