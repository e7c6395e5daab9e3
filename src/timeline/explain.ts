/** A pod's life in words: what happened and why, where it is now, what it waits for and what would help. */
import { isEntry, type TimelineEntry } from './entry.js';
import type { EntryData, EntryName } from './entry-data.js';
import { lastOf } from './last-entry.js';
import { waitingResize } from './resize-reasons.js';
import {
  type ContainerNow,
  type InProgress,
  inProgress,
  type WaitReason,
  waitReasons,
} from './wait-reasons.js';

export interface ExplainedStep {
  readonly timeMs: number;
  readonly what: EntryName;
  readonly message: string;
  readonly container?: string;
  readonly because?: string;
  readonly durationMs?: number;
  readonly error?: string;
  readonly problem: boolean;
}

export interface Explanation {
  readonly pod: { readonly uid: string; readonly name: string; readonly namespace: string };
  readonly steps: readonly ExplainedStep[];
  readonly phase: string;
  readonly ready: boolean;
  readonly containers: readonly ContainerNow[];
  /** What the pod was given in all; undefined where it is not known, and of a pod that asks for nothing. */
  readonly given: string | undefined;
  /** What it asks for instead; undefined where it has what it asks for. */
  readonly asked: string | undefined;
  /** What is in the pod's way; empty when nothing is. */
  readonly waits: readonly WaitReason[];
  /** The same in words, with the last error and the next try. */
  readonly waitsFor: readonly string[];
  /** The step that is under way, when nothing is in the pod's way and it is not there yet. */
  readonly inProgress: InProgress | undefined;
  /** What would unblock it, one for each thing it waits for that somebody could help with. */
  readonly unblock: readonly string[];
}

/** Events that only repeat what an effect or a transition already tells. */
const repeatedEvents = new Set(['Created', 'Started', 'Killing', 'SandboxChanged', 'BackOff']);

/** Explains from the entries of one pod, oldest first; those about the node tell why nothing moves. */
export function explainPod(
  entries: readonly TimelineEntry[],
  node: readonly TimelineEntry[],
  nowMs: number,
): Explanation {
  const last = entries.at(-1);
  if (last?.pod === undefined) throw new Error('there are no entries of this pod');
  const now = {
    phase: lastOf(entries, 'pod.phase')?.data.to ?? 'Pending',
    ready: lastOf(entries, 'pod.ready')?.data.to === 'True',
    containers: containersNow(entries),
  };
  const reasons = waitReasons(entries, node, now, nowMs);
  return {
    pod: last.pod,
    steps: entries.filter(isStep).map(toStep),
    ...now,
    given: givenTo(entries),
    asked: waitingResize(entries)?.data.asked,
    waits: reasons,
    waitsFor: reasons.map(({ waitsFor }) => waitsFor),
    inProgress: reasons.length > 0 ? undefined : inProgress(entries, now),
    unblock: reasons.flatMap(({ unblock }) => unblock ?? []),
  };
}

function givenTo(entries: readonly TimelineEntry[]): string | undefined {
  const given = lastOf(entries, 'pod.allocated')?.data.given;
  return given === 'nothing' && waitingResize(entries) === undefined ? undefined : given;
}

function isStep(entry: TimelineEntry): boolean {
  if (entry.level === 'debug' || entry.level === 'trace') return false;
  return !(entry.event?.type === 'Normal' && repeatedEvents.has(entry.event.reason));
}

function toStep(entry: TimelineEntry): ExplainedStep {
  const { timeMs, what, message, container, because, durationMs, error } = entry;
  return {
    timeMs,
    what,
    message,
    problem: entry.level === 'error' || entry.level === 'warn',
    ...(container === undefined ? {} : { container }),
    ...(because === undefined ? {} : { because }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(error === undefined ? {} : { error }),
  };
}

function containersNow(entries: readonly TimelineEntry[]): ContainerNow[] {
  const byName = new Map<string, ContainerNow>();
  for (const entry of entries) {
    if (!isEntry(entry, 'container.state') || entry.container === undefined) continue;
    const { to, reason, restartCount } = entry.data;
    const state = stateText(entry.data);
    byName.set(entry.container, { name: entry.container, state, to, reason, restarts: restartCount });
  }
  return [...byName.values()];
}

function stateText({ to, reason, exitCode }: EntryData<'container.state'>): string {
  switch (to) {
    case 'waiting':
      return reason ? `Waiting (${reason})` : 'Waiting';
    case 'running':
      return 'Running';
    case 'terminated':
      return `Terminated (exit ${exitCode})`;
    case 'none':
      return 'none';
  }
}
