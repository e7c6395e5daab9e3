/** Runs one step of a pod's life: waits for a fresh observation, then calls the syncer as the pod's state asks. */
import { type Clock, errorText } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { acknowledge } from './pod-state.js';
import type { ConfiguredWork, PodStatusSource, PodSyncer, StatusOverride, SyncOutcome } from './types.js';
import type { Worker, WorkerStep } from './worker.js';

export interface StepDeps {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly syncer: PodSyncer;
  readonly statuses: PodStatusSource;
  /** Aborted when the workers stop. */
  readonly stopped: AbortSignal;
}

/** Runs the step of the pod's state. */
export async function runStep(deps: StepDeps, worker: Worker, step: WorkerStep): Promise<SyncOutcome> {
  const { syncer, clock } = deps;
  if (step.work.kind === 'runtimePod') {
    if (worker.state.kind === 'terminating') worker.state = acknowledge(worker.state);
    return syncer.syncTerminatingRuntimePod(step.work.runtimePod);
  }
  const status = await freshStatus(deps, worker, step, step.work.pod);
  let done: Extract<SyncOutcome, { kind: 'done' }> | undefined;
  try {
    const outcome = await callSyncer(deps.syncer, worker, step, step.work, status);
    if (outcome.kind === 'done') done = outcome;
    return outcome;
  } finally {
    // A step that failed may have done something, too, so that what was seen before it no longer holds.
    if (done?.isUnchanged !== true) worker.lastStepEndedAtMs = done?.settledAtMs ?? clock.monotonic();
  }
}

/** What the runtime shows of the pod since the last step ended. */
async function freshStatus(
  deps: StepDeps,
  worker: Worker,
  step: WorkerStep,
  pod: Pod,
): Promise<ObservedPodStatus> {
  const { statuses, timeline, stopped } = deps;
  const waitSignal = step.state === 'terminating' ? stopped : step.signal;
  try {
    return await statuses.newerThan(worker.uid, worker.lastStepEndedAtMs, waitSignal);
  } catch (error) {
    if (!waitSignal.aborted) {
      const text = errorText(error);
      timeline.event(podRef(pod), 'Warning', 'FailedSync', `error determining status: ${text}`);
    }
    throw error;
  }
}

async function callSyncer(
  syncer: PodSyncer,
  worker: Worker,
  { state, signal }: WorkerStep,
  { type, pod, mirror, graceSeconds }: ConfiguredWork,
  status: ObservedPodStatus,
): Promise<SyncOutcome> {
  switch (state) {
    case 'terminated':
      return syncer.syncTerminatedPod({ pod, status, signal });
    case 'terminating': {
      let statusOverride: StatusOverride | undefined;
      if (worker.state.kind === 'terminating') {
        worker.state = acknowledge(worker.state);
        statusOverride = worker.state.statusOverrides.at(-1);
      }
      return syncer.syncTerminatingPod({ pod, status, graceSeconds, statusOverride, signal });
    }
    case 'sync':
      return syncer.syncPod({ type, pod, mirror, status, signal });
  }
}
