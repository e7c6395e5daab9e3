/** Decides what a pod needs: makes a plan from the desired pod and the observed status. */
import {
  type NewSandbox,
  newestContainer,
  type ObservedPodStatus,
  type SandboxVerdict,
  sandboxVerdict,
} from '../../cri/index.js';
import { effectiveRestartPolicy, type Pod, podRestartPolicy } from '../../kube/index.js';
import type { PlanReason } from '../../timeline/index.js';
import type { ProbeVerdicts } from '../contracts.js';
import { type BackOffInput, withBackOff } from './back-off.js';
import { planInitContainers } from './init-containers.js';
import { type Because, becauseOf, type PlannedKill, type PlannedStart, type PodPlan } from './pod-plan.js';
import { planRegularContainers } from './regular-containers.js';
import { planReset } from './reset.js';
import { type ActuatedView, ResizePlanner } from './resize.js';

export interface PodPlanInput extends BackOffInput {
  readonly probes: ProbeVerdicts;
  /** Whether the pod's condition `AllContainersRestarting` is True. */
  readonly restartingAllContainers: boolean;
  /** The resources that containers were last given; absent when in-place resize is off. */
  readonly actuated?: ActuatedView | undefined;
}

export function planPod(input: PodPlanInput): PodPlan {
  return withBackOff(planWithoutBackOff(input), input);
}

function planWithoutBackOff({
  pod,
  status,
  probes,
  restartingAllContainers,
  actuated,
}: PodPlanInput): PodPlan {
  const verdict = sandboxVerdict(pod, status.sandboxes);
  const base = planOf(verdict);
  // A new sandbox replaces all containers, so none is left to reset.
  if (restartingAllContainers) {
    return verdict.changed ? base : { ...base, containersToReset: planReset(pod, status) };
  }
  return verdict.changed
    ? planNewSandbox(pod, status, verdict, base)
    : planKeptSandbox(pod, status, probes, base, actuated);
}

/** The plan that follows from the sandbox alone. */
function planOf(verdict: SandboxVerdict): PodPlan {
  const because = verdict.changed ? becauseOf(verdict.cause) : undefined;
  return {
    killPod: because,
    createSandbox: because,
    sandboxId: verdict.sandboxId,
    attempt: verdict.attempt,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    waiting: [],
    containersToKill: new Map(),
    containersToReset: [],
    stoppedContainers: [],
  };
}

function isNotRestarted(pod: Pod, { containers }: ObservedPodStatus, attempt: number): boolean {
  return podRestartPolicy(pod) === 'Never' && attempt !== 0 && containers.length > 0;
}

/** Whether nothing of the pod runs and nothing of it will: its sandbox is gone, and it is not given another one. */
export function isStranded({
  pod,
  status,
  restartingAllContainers,
}: Pick<PodPlanInput, 'pod' | 'status' | 'restartingAllContainers'>): boolean {
  // Containers that are all restarted get another sandbox whatever the policy.
  if (restartingAllContainers) return false;
  const verdict = sandboxVerdict(pod, status.sandboxes);
  return (
    verdict.changed &&
    isNotRestarted(pod, status, verdict.attempt) &&
    status.containers.every(({ state }) => state !== 'running')
  );
}

function planNewSandbox(
  pod: Pod,
  status: ObservedPodStatus,
  { attempt, cause }: NewSandbox,
  base: PodPlan,
): PodPlan {
  const because = becauseOf(cause);
  const killOnly = (why: PlanReason): PodPlan => ({
    ...base,
    createSandbox: undefined,
    killPod: becauseOf(why),
  });
  if (isNotRestarted(pod, status, attempt)) {
    return killOnly({
      reason: 'PodNotRestarted',
      sandbox: cause.reason,
      restartPolicy: podRestartPolicy(pod),
    });
  }
  const containersToStart = pod.spec.containers.flatMap((container, index): PlannedStart[] => {
    const newest = newestContainer(status, container.name);
    const succeeded = newest?.state === 'exited' && newest.exitCode === 0;
    if (succeeded && effectiveRestartPolicy(pod, container) === 'OnFailure') return [];
    return [{ index, name: container.name, ...because }];
  });
  if (containersToStart.length === 0 && regularContainersExist(pod, status)) {
    return killOnly({ reason: 'NothingToRestart', sandbox: cause.reason });
  }
  const firstInit = pod.spec.initContainers?.[0];
  if (firstInit !== undefined) {
    return { ...base, initContainersToStart: [{ index: 0, name: firstInit.name, ...because }] };
  }
  return { ...base, containersToStart };
}

function planKeptSandbox(
  pod: Pod,
  status: ObservedPodStatus,
  probes: ProbeVerdicts,
  base: PodPlan,
  actuated: ActuatedView | undefined,
): PodPlan {
  const resizes = actuated === undefined ? undefined : new ResizePlanner(pod, actuated);
  const init = planInitContainers(pod, status, probes, resizes);
  if (init.failed !== undefined) return killedPod(base, init.failed);
  const plan: PodPlan = {
    ...base,
    ephemeralContainersToStart: planEphemeralContainers(pod, status),
    initContainersToStart: init.starts,
    containersToKill: killsById(init.kills),
  };
  resizes?.starts(pod.spec.initContainers ?? [], init.starts);
  resizes?.pod();
  if (!init.initialised) return withResize(plan, resizes);

  const regular = planRegularContainers(pod, status, probes, resizes);
  const stoppedContainers = regular.stopped;
  if (regular.kept === 0 && regular.starts.length === 0) {
    const cause = regular.kills[0]?.cause ?? ({ reason: 'NoContainerLeft' } as const);
    return { ...killedPod(base, becauseOf(cause)), stoppedContainers };
  }
  resizes?.starts(pod.spec.containers, regular.starts);
  return withResize(
    {
      ...plan,
      containersToStart: regular.starts,
      containersToKill: killsById([...init.kills, ...regular.kills]),
      stoppedContainers,
    },
    resizes,
  );
}

function withResize(plan: PodPlan, resizes: ResizePlanner | undefined): PodPlan {
  const resize = resizes?.planned();
  return resize === undefined ? plan : { ...plan, resize };
}

/** Killing the pod stops its sandbox and kills all its containers, so the plan has no other action. */
function killedPod(base: PodPlan, killPod: Because): PodPlan {
  return { ...base, killPod };
}

const notRunYet = becauseOf({ reason: 'NotRunYet' });

/** An ephemeral container starts only once and does not wait for init containers. */
function planEphemeralContainers(pod: Pod, status: ObservedPodStatus): PlannedStart[] {
  return (pod.spec.ephemeralContainers ?? []).flatMap(({ name }, index): PlannedStart[] =>
    newestContainer(status, name) === undefined ? [{ index, name, ...notRunYet }] : [],
  );
}

function regularContainersExist(pod: Pod, status: ObservedPodStatus): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = newestContainer(status, name)?.state;
    return state === 'created' || state === 'running' || state === 'exited';
  });
}

function killsById(kills: readonly PlannedKill[]): ReadonlyMap<string, PlannedKill> {
  return new Map(kills.map((kill) => [kill.id, kill]));
}
