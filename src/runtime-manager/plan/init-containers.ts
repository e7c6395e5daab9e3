/** Decides what init containers and sidecars need, and whether the regular containers may run yet. */
import { newestContainer, type ObservedContainerStatus, type ObservedPodStatus } from '../../cri/index.js';
import {
  type Container,
  effectiveRestartPolicy,
  hashContainer,
  isSidecar,
  type Pod,
} from '../../kube/index.js';
import type { ProbeVerdicts } from '../contracts.js';
import type { Because, KillReason, PlannedKill, PlannedStart } from './pod-plan.js';
import type { ResizePlanner } from './resize.js';
import { restartDecision } from './restart.js';

export interface InitPlan {
  /** Whether the regular containers may run. */
  readonly initialised: boolean;
  /** Set when an init container ended in a way that ends the pod. */
  readonly failed: Because | undefined;
  readonly starts: readonly PlannedStart[];
  readonly kills: readonly PlannedKill[];
}

/** What one init container needs, seen by itself. */
interface InitStep {
  /** It has done what the next one waits for. */
  readonly initialises?: Because;
  readonly start?: Because;
  readonly kill?: { readonly message: string; readonly reason: KillReason };
  readonly fails?: Because;
}

/**
 * Walks from the last init container to the first: instances of early ones may have been removed, so
 * the latest that has one tells how far the pod got. Only sidecars before it still matter.
 */
export function planInitContainers(
  pod: Pod,
  status: ObservedPodStatus,
  probes: ProbeVerdicts,
  resizes?: ResizePlanner,
): InitPlan {
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return { initialised: true, failed: undefined, starts: [], kills: [] };

  let initialised = regularContainersBegan(pod, status);
  /** Whether a later container has begun, so that this one must have been done. */
  let passed = initialised;
  const starts: PlannedStart[] = [];
  const kills: PlannedKill[] = [];

  for (const [index, container] of [...containers.entries()].reverse()) {
    const newest = newestContainer(status, container.name);
    const sidecar = isSidecar(container);
    if (newest === undefined) {
      if (passed && sidecar) {
        starts.push({ index, name: container.name, because: 'no instance of this sidecar is left' });
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
      kills.push({
        id: newest.id,
        name: container.name,
        because: step.start?.because ?? step.kill.message,
        ...step.kill,
      });
    }
    passed = true;
  }
  const first = containers[0];
  if (!passed && first !== undefined) {
    starts.push({ index: 0, name: first.name, because: 'no init container has run yet' });
  }
  return { initialised, failed: undefined, starts: starts.reverse(), kills };
}

/** An exited container does not count: after a reboot all are exited and the pod has to initialise again. */
function regularContainersBegan(pod: Pod, status: ObservedPodStatus): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = newestContainer(status, name)?.state;
    return state === 'created' || state === 'running';
  });
}

function plainInitStep(
  pod: Pod,
  container: Container,
  newest: ObservedContainerStatus,
  resizes: ResizePlanner | undefined,
): InitStep {
  switch (newest.state) {
    case 'created':
      return { start: { because: 'it was created but never started' } };
    case 'running':
      return resizeStep(container, newest, resizes);
    case 'exited': {
      if (newest.exitCode === 0 && newest.reason !== 'OOMKilled') {
        return { initialises: { because: `init container ${container.name} succeeded` } };
      }
      const { restart, because } = restartDecision(pod, container, newest);
      return restart
        ? { start: { because } }
        : { fails: { because: `init container ${container.name} failed: ${because}` } };
    }
    case 'unknown':
      if (effectiveRestartPolicy(pod, container) === 'Never') {
        return {
          fails: { because: `init container ${container.name} is lost: state unknown, policy Never` },
        };
      }
      return unknownStep;
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
      return { start: { because: 'it was created but never started' } };
    case 'running':
      return runningSidecarStep(container, newest, probes, resizes);
    case 'exited':
      return { start: { because: `exited ${newest.exitCode}, sidecars keep running` } };
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
      return {
        start: { because: 'startup probe failed' },
        kill: { message: `Init container ${name} failed startup probe`, reason: 'StartupProbe' },
      };
    }
    if (startup !== 'success') return {};
  }
  const initialises: Because = { because: `sidecar ${name} has started` };
  if (newest.hash !== hashContainer(container)) {
    return {
      initialises,
      start: { because: 'its image changed' },
      kill: { message: `Init container ${name} definition changed`, reason: '' },
    };
  }
  if (container.livenessProbe !== undefined) {
    const liveness = probes.liveness(newest.id);
    if (liveness === undefined) return { initialises };
    if (liveness === 'failure') {
      return {
        initialises,
        start: { because: 'liveness probe failed' },
        kill: { message: `Init container ${name} failed liveness probe`, reason: 'LivenessProbe' },
      };
    }
  }
  return { initialises, ...resizeStep(container, newest, resizes) };
}

/** What other resources mean for one that runs. */
function resizeStep(
  container: Container,
  running: ObservedContainerStatus,
  resizes: ResizePlanner | undefined,
): InitStep {
  const ending = resizes?.running(container, running.id);
  if (ending === undefined) return {};
  const { message, reason, because } = ending;
  return { start: { because }, kill: { message, reason } };
}

const unknownStep: InitStep = {
  start: { because: 'its state is unknown' },
  kill: {
    message: 'Init container is in "unknown" state, try killing it before restart',
    reason: 'Unknown',
  },
};
