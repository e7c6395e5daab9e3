/** Decides what init containers and sidecars need, and whether the regular containers may run yet. */
import type { ObservedContainerStatus, ObservedPodStatus } from '../../cri/index.js';
import {
  type Container,
  effectiveRestartPolicy,
  hashContainer,
  isSidecar,
  type Pod,
} from '../../kube/index.js';
import type { PlanReason } from '../../timeline/index.js';
import type { ProbeVerdicts } from '../contracts.js';
import { type Because, becauseOf, type KillReason, type PlannedKill, type PlannedStart } from './pod-plan.js';
import type { ResizePlanner } from './resize.js';
import { restartDecision } from './restart.js';

export interface InitPlan {
  /** Whether the regular containers may run. */
  readonly initialised: boolean;
  /** Set when the failure of an init container ends the pod. */
  readonly failed: Because | undefined;
  readonly starts: readonly PlannedStart[];
  readonly kills: readonly PlannedKill[];
}

/** What one init container needs, regardless of the others. */
interface InitStep {
  /** The container has done what the next one waits for. */
  readonly initialises?: Because;
  readonly start?: Because;
  /** The kill before the start. */
  readonly kill?: Because & { readonly message: string; readonly reason: KillReason };
  readonly fails?: Because;
}

/**
 * Goes from the last init container to the first. Instances of earlier ones may have been removed, so the last one with an
 * instance shows the progress of the pod. Before it, only sidecars matter. Only instances in the current sandbox count:
 * what ran in another one initialized that one.
 */
export function planInitContainers(
  pod: Pod,
  { activeContainers }: Pick<ObservedPodStatus, 'activeContainers'>,
  probes: ProbeVerdicts,
  resizes?: ResizePlanner,
): InitPlan {
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return { initialised: true, failed: undefined, starts: [], kills: [] };

  let initialised = regularContainersBegan(pod, activeContainers);
  /** Whether a later container has begun, so this one has completed. */
  let passed = initialised;
  const starts: PlannedStart[] = [];
  const kills: PlannedKill[] = [];

  for (const [index, container] of [...containers.entries()].reverse()) {
    const newest = activeContainers.find(({ name }) => name === container.name);
    const sidecar = isSidecar(container);
    if (newest === undefined) {
      if (passed && sidecar) {
        starts.push({ index, name: container.name, ...becauseOf({ reason: 'SidecarGone' }) });
      }
      continue;
    }
    if (passed && !sidecar) continue;

    const step = sidecar
      ? sidecarStep(container, newest, probes, resizes)
      : plainInitStep(pod, container, newest, resizes);
    if (step.fails !== undefined) return { initialised: false, failed: step.fails, starts: [], kills: [] };
    if (step.initialises !== undefined) {
      const next = containers[index + 1];
      if (next === undefined) initialised = true;
      else if (!passed) starts.push({ index: index + 1, name: next.name, ...step.initialises });
    }
    if (step.start !== undefined) starts.push({ index, name: container.name, ...step.start });
    if (step.kill !== undefined) {
      kills.push({ id: newest.id, name: container.name, ...step.kill });
    }
    passed = true;
  }
  const first = containers[0];
  if (!passed && first !== undefined) {
    starts.push({ index: 0, name: first.name, ...becauseOf({ reason: 'NoInitContainerRun' }) });
  }
  return { initialised, failed: undefined, starts: starts.reverse(), kills };
}

/** A regular container in whatever state: it was not created before the sandbox was initialized. */
function regularContainersBegan(pod: Pod, active: readonly ObservedContainerStatus[]): boolean {
  return pod.spec.containers.some(({ name }) => active.some((container) => container.name === name));
}

function plainInitStep(
  pod: Pod,
  container: Container,
  newest: ObservedContainerStatus,
  resizes: ResizePlanner | undefined,
): InitStep {
  switch (newest.state) {
    case 'created':
      return { start: becauseOf({ reason: 'CreatedNotStarted' }) };
    case 'running':
      return resizeStep(container, newest, resizes);
    case 'exited': {
      if (newest.exitCode === 0 && newest.reason !== 'OOMKilled') {
        return {
          initialises: becauseOf({ reason: 'InitContainerSucceeded', initContainer: container.name }),
        };
      }
      const { restart, ...because } = restartDecision(pod, container, newest);
      if (restart) return { start: because };
      const { exitCode } = newest;
      const restartPolicy = effectiveRestartPolicy(pod, container);
      const initContainer = container.name;
      return { fails: becauseOf({ reason: 'InitContainerFailed', initContainer, exitCode, restartPolicy }) };
    }
    case 'unknown': {
      const restartPolicy = effectiveRestartPolicy(pod, container);
      if (restartPolicy !== 'Never') return unknownStep;
      const initContainer = container.name;
      return { fails: becauseOf({ reason: 'InitContainerLost', initContainer, restartPolicy }) };
    }
  }
}

function sidecarStep(
  container: Container,
  newest: ObservedContainerStatus,
  probes: ProbeVerdicts,
  resizes: ResizePlanner | undefined,
): InitStep {
  switch (newest.state) {
    case 'created':
      return { start: becauseOf({ reason: 'CreatedNotStarted' }) };
    case 'running':
      return runningSidecarStep(container, newest, probes, resizes);
    case 'exited':
      return { start: becauseOf({ reason: 'SidecarExited', exitCode: newest.exitCode }) };
    case 'unknown':
      return unknownStep;
  }
}

function runningSidecarStep(
  container: Container,
  newest: ObservedContainerStatus,
  probes: ProbeVerdicts,
  resizes: ResizePlanner | undefined,
): InitStep {
  const { name } = container;
  if (container.startupProbe !== undefined) {
    const startup = probes.startup(newest.id);
    if (startup === 'failure') {
      const message = `Init container ${name} failed startup probe`;
      const cause = { reason: 'StartupProbeFailed', restartPolicy: 'Always' } as const;
      return { ...restartFor(cause, message, 'StartupProbe') };
    }
    if (startup !== 'success') return {};
  }
  const initialises = becauseOf({ reason: 'SidecarStarted', initContainer: name });
  const hash = hashContainer(container);
  if (newest.hash !== hash) {
    const cause = { reason: 'ImageChanged', fromHash: newest.hash, toHash: hash } as const;
    return { initialises, ...restartFor(cause, `Init container ${name} definition changed`, '') };
  }
  if (container.livenessProbe !== undefined) {
    const liveness = probes.liveness(newest.id);
    if (liveness === undefined) return { initialises };
    if (liveness === 'failure') {
      const message = `Init container ${name} failed liveness probe`;
      const cause = { reason: 'LivenessProbeFailed', restartPolicy: 'Always' } as const;
      return { initialises, ...restartFor(cause, message, 'LivenessProbe') };
    }
  }
  return { initialises, ...resizeStep(container, newest, resizes) };
}

/** What a resize means for a running container. */
function resizeStep(
  container: Container,
  running: ObservedContainerStatus,
  resizes: ResizePlanner | undefined,
): InitStep {
  const ending = resizes?.running(container, running.id);
  if (ending === undefined) return {};
  return restartFor(ending.cause, ending.message, ending.reason);
}

/** Kills the container and starts it again, both for one cause. */
function restartFor(cause: PlanReason, message: string, reason: KillReason): InitStep {
  const because = becauseOf(cause);
  return { start: because, kill: { message, reason, ...because } };
}

const unknownStep = restartFor(
  { reason: 'ContainerState', state: 'unknown' },
  'Init container is in "unknown" state, try killing it before restart',
  'Unknown',
);
