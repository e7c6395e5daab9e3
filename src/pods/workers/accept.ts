/** The decision on an incoming update: how the pod's record changes and whether its worker has something to do. */
import type { ObservedPodStatus } from '../../cri/index.js';
import { isTerminalPhase, type Pod } from '../../kube/index.js';
import { effectiveGrace } from './grace.js';
import { isTerminationRequested, type PodRecord, workState } from './record.js';
import type { KillOptions, PodUpdate } from './types.js';

export type Acceptance =
  | { readonly kind: 'ignored'; readonly because: string }
  | {
      readonly kind: 'accepted';
      /** What the worker will be handed. */
      readonly update: PodUpdate;
      /** Why the pod must stop, if this update began that. */
      readonly beganTerminating: string | undefined;
      readonly graceShortened: boolean;
      /** Completion signals that are due at once. */
      readonly completeNow: readonly (() => void)[];
    };

export interface AcceptInput {
  readonly record: PodRecord;
  readonly firstTime: boolean;
  readonly update: PodUpdate;
  readonly nowMs: number;
}

/** Whether nothing of the pod runs, as far as the runtime shows. */
export function nothingRuns(status: ObservedPodStatus): boolean {
  return (
    !status.containers.some((container) => container.state === 'running') &&
    !status.sandboxes.some((sandbox) => sandbox.ready)
  );
}

/** A pod that was over before this agent first saw it: only what is left of it must be cleaned up. */
export function markAlreadyTerminated(record: PodRecord, nowMs: number): void {
  record.terminatingAtMs = nowMs;
  record.terminatedAtMs = nowMs;
  record.startedTerminating = true;
}

/** Decides on an update and applies the decision to the record; the rules stand in the order in which they hold. */
export function acceptUpdate({ record, firstTime, update, nowMs }: AcceptInput): Acceptance {
  let { pod, runtimePod } = update;
  const runtimeOnly = runtimePod !== undefined;
  if (runtimeOnly) {
    record.observedRuntime = true;
    const known = record.pending?.pod ?? record.active?.pod;
    if (known !== undefined) {
      pod = known;
      runtimePod = undefined;
    }
  }

  if (!firstTime && isTerminationRequested(record) && update.type === 'create') {
    record.restartRequested = true;
    return {
      kind: 'ignored',
      because: 'the pod is still being torn down; it will be started anew afterwards',
    };
  }
  if (record.finished) return { kind: 'ignored', because: 'the pod is finished' };

  const began = isTerminationRequested(record)
    ? undefined
    : beginTermination(record, pod, update, runtimeOnly, nowMs);

  const completeNow: (() => void)[] = [];
  let kill: KillOptions | undefined = update.kill;
  let graceShortened = false;
  switch (workState(record)) {
    case 'terminated':
      if (runtimeOnly) return { kind: 'ignored', because: 'the pod is already terminated' };
      if (kill?.onCompleted !== undefined) completeNow.push(kill.onCompleted);
      kill = undefined;
      break;
    case 'terminating': {
      if (kill?.onCompleted !== undefined) record.onTerminated.push(kill.onCompleted);
      if (kill?.statusOverride !== undefined) record.statusOverrides.push(kill.statusOverride);
      const grace = effectiveGrace({
        currentSeconds: record.graceSeconds,
        deletionGraceSeconds: pod?.metadata.deletionGracePeriodSeconds,
        overrideSeconds: kill?.graceOverrideSeconds,
        specSeconds: pod?.spec.terminationGracePeriodSeconds,
      });
      graceShortened = grace.shortened;
      record.graceSeconds = grace.seconds;
      kill = { ...kill, graceOverrideSeconds: grace.seconds };
      break;
    }
    case 'sync':
      if (kill?.onCompleted !== undefined) completeNow.push(kill.onCompleted);
      kill = undefined;
      break;
  }

  const startMs = record.pending?.startMs ?? update.startMs;
  return {
    kind: 'accepted',
    update: {
      type: update.type,
      ...(pod === undefined ? {} : { pod }),
      ...(runtimePod === undefined ? {} : { runtimePod }),
      ...(update.mirror === undefined ? {} : { mirror: update.mirror }),
      ...(kill === undefined ? {} : { kill }),
      ...(startMs === undefined ? {} : { startMs }),
    },
    beganTerminating: began,
    graceShortened,
    completeNow,
  };
}

function beginTermination(
  record: PodRecord,
  pod: Pod | undefined,
  update: PodUpdate,
  runtimeOnly: boolean,
  nowMs: number,
): string | undefined {
  if (runtimeOnly) {
    record.deleted = true;
    record.terminatingAtMs = nowMs;
    return 'it runs but is not configured';
  }
  if (pod?.metadata.deletionTimestamp !== undefined) {
    record.deleted = true;
    record.terminatingAtMs = nowMs;
    return 'it was deleted';
  }
  if (pod !== undefined && isTerminalPhase(pod.status?.phase)) {
    record.terminatingAtMs = nowMs;
    return `its phase is ${pod.status?.phase}`;
  }
  if (update.type === 'kill') {
    if (update.kill?.evict === true) record.evicted = true;
    record.terminatingAtMs = nowMs;
    return update.kill?.evict === true ? 'it is evicted' : 'it was removed from its source or killed';
  }
  return undefined;
}
