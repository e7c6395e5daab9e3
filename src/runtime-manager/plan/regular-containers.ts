/** Decides what the regular containers of an initialized pod need. */
import { newestContainer, type ObservedContainerStatus, type ObservedPodStatus } from '../../cri/index.js';
import { type Container, effectiveRestartPolicy, hashContainer, type Pod } from '../../kube/index.js';
import type { ProbeVerdicts } from '../contracts.js';
import { type Because, becauseOf, type KillReason, type PlannedKill, type PlannedStart } from './pod-plan.js';
import type { ResizePlanner } from './resize.js';
import { restartDecision } from './restart.js';

export interface RegularPlan {
  readonly starts: readonly PlannedStart[];
  readonly kills: readonly PlannedKill[];
  /** How many containers keep running unchanged. */
  readonly kept: number;
  /** Ids of the newest instances of containers that do not run. */
  readonly stopped: readonly string[];
}

/** Why a running container is killed. */
interface ContainerEnding extends Because {
  readonly message: string;
  readonly reason: KillReason;
  readonly startAgain: boolean;
}

export function planRegularContainers(
  pod: Pod,
  status: ObservedPodStatus,
  probes: ProbeVerdicts,
  resizes?: ResizePlanner,
): RegularPlan {
  const starts: PlannedStart[] = [];
  const kills: PlannedKill[] = [];
  const stopped: string[] = [];
  let kept = 0;
  for (const [index, container] of pod.spec.containers.entries()) {
    const { name } = container;
    const newest = newestContainer(status, name);
    if (newest?.state === 'running') {
      const ending = endingOf(pod, container, newest, probes) ?? resizes?.running(container, newest.id);
      if (ending === undefined) {
        kept++;
        continue;
      }
      const { startAgain, ...kill } = ending;
      kills.push({ id: newest.id, name, ...kill });
      if (startAgain) starts.push({ index, name, cause: ending.cause, because: ending.because });
      continue;
    }
    if (newest !== undefined) stopped.push(newest.id);
    const { restart, ...because } = restartDecision(pod, container, newest);
    if (!restart) continue;
    starts.push({ index, name, ...because });
    if (newest?.state === 'unknown') {
      kills.push({
        id: newest.id,
        name,
        message: 'Container is in "unknown" state, try killing it before restart',
        reason: 'Unknown',
        ...because,
      });
    }
  }
  return { starts, kills, kept, stopped };
}

function endingOf(
  pod: Pod,
  container: Container,
  running: ObservedContainerStatus,
  probes: ProbeVerdicts,
): ContainerEnding | undefined {
  const { name } = container;
  const hash = hashContainer(container);
  if (running.hash !== hash) {
    return {
      message: `Container ${name} definition changed, will be restarted`,
      reason: '',
      ...becauseOf({ reason: 'ImageChanged', fromHash: running.hash, toHash: hash }),
      startAgain: true,
    };
  }
  const probe =
    probes.liveness(running.id) === 'failure'
      ? ({ word: 'liveness', reason: 'LivenessProbe', cause: 'LivenessProbeFailed' } as const)
      : probes.startup(running.id) === 'failure'
        ? ({ word: 'startup', reason: 'StartupProbe', cause: 'StartupProbeFailed' } as const)
        : undefined;
  if (probe === undefined) return undefined;
  // Restart rules match exit codes, and a failed probe has none, so only the policy counts.
  const policy = effectiveRestartPolicy(pod, container);
  const startAgain = policy !== 'Never';
  return {
    message: `Container ${name} failed ${probe.word} probe${startAgain ? ', will be restarted' : ''}`,
    reason: probe.reason,
    ...becauseOf({ reason: probe.cause, restartPolicy: policy }),
    startAgain,
  };
}
