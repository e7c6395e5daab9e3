/** What a plan for one pod says: every action as data, each with the reason it was chosen for. */
import { type PlanReason, planReasonText } from '../../timeline/index.js';

export type KillReason =
  | 'StartupProbe'
  | 'LivenessProbe'
  | 'FailedPostStartHook'
  | 'RestartAllContainers'
  | 'Unknown'
  | '';

export interface Because {
  readonly cause: PlanReason;
  /** The cause in words. */
  readonly because: string;
}

export function becauseOf(cause: PlanReason): Because {
  return { cause, because: planReasonText(cause) };
}

export interface PlannedStart extends Because {
  /** The place in the list of the spec that the container stands in. */
  readonly index: number;
  readonly name: string;
}

/** A start that has to wait for the end of the container's back-off. */
export interface PlannedWait extends PlannedStart {
  readonly kind: 'initContainer' | 'container';
  /** Wall-clock milliseconds from which on it may start. */
  readonly untilMs: number;
  /** What users are told meanwhile. */
  readonly message: string;
}

export interface PlannedKill extends Because {
  readonly id: string;
  readonly name: string;
  /** The text of the `Killing` event. */
  readonly message: string;
  readonly reason: KillReason;
}

export interface PlannedReset extends Because {
  readonly id: string;
  readonly name: string;
  /** Whether it has to be killed before it can be removed. */
  readonly kill: boolean;
}

/** Other resources for a container that runs. */
export interface PlannedUpdate extends Because {
  readonly id: string;
  readonly name: string;
  /** Whether it gives something back; such updates come first. */
  readonly decreases: boolean;
  /** In bytes; 0 for none. */
  readonly memoryLimit: { readonly from: number; readonly to: number };
}

export interface PlannedResize {
  readonly memory: readonly PlannedUpdate[];
  readonly cpu: readonly PlannedUpdate[];
  /** Whether the pod as a whole changes with its containers. */
  readonly podResources: boolean;
  /** Whether what the pod says for itself changed. */
  readonly podLevel: boolean;
}

export interface PodPlan {
  /** All containers are killed and all sandboxes stopped before anything else. */
  readonly killPod: Because | undefined;
  readonly createSandbox: Because | undefined;
  readonly sandboxId: string;
  readonly attempt: number;
  readonly initContainersToStart: readonly PlannedStart[];
  readonly containersToStart: readonly PlannedStart[];
  readonly ephemeralContainersToStart: readonly PlannedStart[];
  /** Containers that would start now but for their back-off; they are in none of the lists above. */
  readonly waiting: readonly PlannedWait[];
  /** By container id; empty when the whole pod is killed. */
  readonly containersToKill: ReadonlyMap<string, PlannedKill>;
  readonly containersToReset: readonly PlannedReset[];
  /** Ids of regular containers that no longer run, whose pinned resources can be given back. */
  readonly stoppedContainers: readonly string[];
  /** Absent when nothing is to change while it runs. */
  readonly resize?: PlannedResize;
}

/** Whether there is something to do or to wait for. */
export function hasActions(plan: PodPlan): boolean {
  return (
    plan.killPod !== undefined ||
    plan.createSandbox !== undefined ||
    plan.containersToKill.size > 0 ||
    plan.containersToReset.length > 0 ||
    plan.resize !== undefined ||
    hasStarts(plan)
  );
}

/** Whether a container starts now, or waits for its start. */
export function hasStarts(plan: PodPlan): boolean {
  return (
    plan.initContainersToStart.length > 0 ||
    plan.containersToStart.length > 0 ||
    plan.ephemeralContainersToStart.length > 0 ||
    plan.waiting.length > 0
  );
}
