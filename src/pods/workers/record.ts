/**
 * What the workers remember of one pod:
 *
 *   first update ─▶ waiting ─▶ sync ──▶ terminating ──▶ terminated ──▶ finished ──▶ forgotten
 *                      └──── a static pod that was stopped before it could start ────▲
 */
import type { ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { PodUpdate, StatusOverride, WorkState } from './types.js';

/** The last state handed to the syncer, kept so that it can be replayed. */
export interface ActiveUpdate {
  pod?: Pod;
  mirror?: Pod;
  runtimePod?: ObservedPod;
  kill?: { evict: boolean; graceOverrideSeconds?: number };
}

export interface PodRecord {
  readonly uid: string;
  /** `<name>_<namespace>`: the key by which static pods of the same name take turns. */
  readonly fullName: string;
  /** At most one update waits; a newer one replaces it. */
  pending?: PodUpdate;
  active?: ActiveUpdate;
  /** An update waits or is being processed. */
  working: boolean;
  /** The worker accepts wake-ups; false once the pod is finished. */
  open: boolean;
  cancellation?: AbortController;
  readonly syncedAtMs: number;
  startedAtMs?: number;
  terminatingAtMs?: number;
  terminatedAtMs?: number;
  /** The end of the last step; the next one wants an observation that is newer. */
  lastStepEndedAtMs: number;
  /** Zero: none decided yet. It only shrinks. */
  graceSeconds: number;
  readonly onTerminated: (() => void)[];
  readonly statusOverrides: StatusOverride[];
  /** The worker knows that it must stop the pod, so no container starts any more. */
  startedTerminating: boolean;
  deleted: boolean;
  evicted: boolean;
  finished: boolean;
  restartRequested: boolean;
  observedRuntime: boolean;
  /** Whether the last step failed, so that its recovery is worth telling. */
  lastStepFailed: boolean;
}

export function newRecord(uid: string, fullName: string, nowMs: number): PodRecord {
  return {
    uid,
    fullName,
    working: false,
    open: false,
    syncedAtMs: nowMs,
    lastStepEndedAtMs: Number.NEGATIVE_INFINITY,
    graceSeconds: 0,
    onTerminated: [],
    statusOverrides: [],
    startedTerminating: false,
    deleted: false,
    evicted: false,
    finished: false,
    restartRequested: false,
    observedRuntime: false,
    lastStepFailed: false,
  };
}

export function workState(record: PodRecord): WorkState {
  if (record.terminatedAtMs !== undefined) return 'terminated';
  if (record.terminatingAtMs !== undefined) return 'terminating';
  return 'sync';
}

export function isTerminationRequested(record: PodRecord): boolean {
  return record.terminatingAtMs !== undefined;
}

/** Takes an update over as the one to replay; its type and start time are not kept. */
export function mergeActive(record: PodRecord, update: PodUpdate): void {
  record.active ??= {};
  const active = record.active;
  if (active.pod === undefined || update.runtimePod === undefined) active.pod = update.pod;
  active.runtimePod = update.runtimePod;
  // One that the API has lost must be seen as missing, or nobody makes it anew.
  if (update.mirror === undefined) delete active.mirror;
  else active.mirror = update.mirror;
  if (update.kill !== undefined) {
    active.kill = {
      evict: update.kill.evict ?? false,
      ...(update.kill.graceOverrideSeconds === undefined
        ? {}
        : { graceOverrideSeconds: update.kill.graceOverrideSeconds }),
    };
  }
}

/** The active update as one that can be pending again. */
export function replayOf(active: ActiveUpdate): PodUpdate {
  return { type: 'sync', ...active };
}
