/** What a pod waits for with its volumes: which step of which driver, since when, with the last error and the next try. */
import { clockTime } from './clock-time.js';
import { type EntryOf, isEntry, type TimelineEntry } from './entry.js';
import { lastOf } from './last-entry.js';
import { afterComma, nextTry } from './next-try.js';
import type { VolumeStep } from './pod-entries.js';

export interface VolumeWaiting {
  readonly entry: EntryOf<'volume.wait'>;
  /** Without the error. */
  readonly text: string;
  readonly sinceMs: number;
  readonly error: string | undefined;
}

const endingSteps: ReadonlySet<VolumeStep> = new Set(['unpublish']);

/** The last word about each volume, if that is a wait. */
export function volumeWaits(entries: readonly TimelineEntry[]): VolumeWaiting[] {
  if (lastOf(entries, 'pod.finished') !== undefined) return [];
  const isEnding = lastOf(entries, 'pod.terminating', 'pod.terminated', 'pod.plan')?.what !== 'pod.plan';
  const hasBegunToEnd = isEnding && lastOf(entries, 'pod.terminating', 'pod.terminated') !== undefined;
  const latest = new Map<string, EntryOf<'volume.wait'>>();
  for (const entry of entries) {
    if (isEntry(entry, 'volume.wait')) latest.set(entry.data.volume, entry);
    else if (
      isEntry(entry, 'volume.mount', 'volume.map', 'volume.unmount', 'volume.unmap') &&
      entry.kind === 'effect'
    )
      latest.delete(entry.data.volume);
  }
  return [...latest.values()]
    .filter(({ data }) => endingSteps.has(data.step) === hasBegunToEnd)
    .map((entry) => ({
      entry,
      text: waitText(entry),
      sinceMs: entry.data.sinceMs,
      error: entry.error,
    }));
}

function waitText({ data: { step, driver, name } }: EntryOf<'volume.wait'>): string {
  switch (step) {
    case 'report':
      return `volume ${name} to be reported in use, before the cluster attaches it to this node`;
    case 'attach':
      return `the cluster to attach volume ${name} of driver ${driver} to this node`;
    case 'turn':
      return `its turn at volume ${name} of driver ${driver}, which is busy for another pod`;
    case 'stage':
    case 'publish':
    case 'unpublish':
    case 'unstage':
      return `driver ${driver} to ${step} volume ${name}`;
  }
}

export function volumeReason(
  { entry, text, sinceMs, error }: VolumeWaiting,
  nowMs: number,
): { readonly waitsFor: string; readonly brief: string; readonly volume: string; readonly unblock?: string } {
  const next = afterComma(nextTry(entry.data.nextTryMs, nowMs));
  const problem = error === undefined ? '' : `: ${error}`;
  const help = adviceFor(entry);
  return {
    waitsFor: `${text}, since ${clockTime(sinceMs)}${next}${problem}`,
    volume: entry.data.name,
    brief: `${text}${next}${problem}`,
    ...(help === undefined ? {} : { unblock: help }),
  };
}

function adviceFor({ data: { step, driver }, error = '' }: EntryOf<'volume.wait'>): string | undefined {
  if (error.includes('not found in the list of registered CSI drivers')) {
    return `start driver ${driver} on this node, or look at why it does not register (plugin.register)`;
  }
  switch (step) {
    case 'report':
    case 'turn':
      return undefined;
    case 'attach':
      return 'a controller of the cluster attaches it; look at its VolumeAttachment and at the attacher of the driver';
    case 'stage':
    case 'publish':
    case 'unpublish':
    case 'unstage':
      return `it is tried again by itself; provide what the message names, or look at the log of driver ${driver}`;
  }
}
