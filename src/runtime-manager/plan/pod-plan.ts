/** The plan for one pod: every action as data, each with its cause. */
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
  /** The index in the container's list of the spec. */
  readonly index: number;
  readonly name: string;
}

/** A start that waits for the end of the container's back-off. */
export interface PlannedWait extends PlannedStart {
  readonly kind: 'initContainer' | 'container';
  /** The wall-clock time from which it may start, in milliseconds. */
  readonly untilMs: number;
  /** The message of the container's waiting state. */
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
  /** Whether it must be killed before it is removed. */
  readonly kill: boolean;
}

/** New resources for a running container. */
export interface PlannedUpdate extends Because {
  readonly id: string;
  readonly name: string;
  /** Whether it decreases a resource; such updates come first. */
  readonly decreases: boolean;
  /** In bytes; 0 means no limit. */
  readonly memoryLimit: { readonly from: number; readonly to: number };
}

/** A new size for a volume in memory. */
export interface PlannedVolumeResize extends Because {
  readonly name: string;
  /** As the pod's spec has it. */
  readonly limit: string;
  readonly decreases: boolean;
}

export interface PlannedResize {
  /** Absent: no volume is resized. */
  readonly volumes?: readonly PlannedVolumeResize[];
  readonly memory: readonly PlannedUpdate[];
  readonly cpu: readonly PlannedUpdate[];
  /** Whether the resources of the whole pod change with its containers. */
  readonly podResources: boolean;
  /** Whether the pod-level resources changed. */
  readonly podLevel: boolean;
}

export interface PodPlan {
  /** Kills all containers and stops all sandboxes before any other action. */
  readonly killPod: Because | undefined;
  readonly createSandbox: Because | undefined;
  readonly sandboxId: string;
  readonly attempt: number;
  readonly initContainersToStart: readonly PlannedStart[];
  readonly containersToStart: readonly PlannedStart[];
  readonly ephemeralContainersToStart: readonly PlannedStart[];
  /** Containers that would start now without their back-off; they are in none of the lists above. */
  readonly waiting: readonly PlannedWait[];
  /** Kills by container id; empty when the whole pod is killed. */
  readonly containersToKill: ReadonlyMap<string, PlannedKill>;
  readonly containersToReset: readonly PlannedReset[];
  /** Ids of regular containers that have stopped and whose pinned resources are released. */
  readonly stoppedContainers: readonly string[];
  /** Absent when no running container is resized. */
  readonly resize?: PlannedResize | undefined;
}

/** Whether the plan has actions or waits. */
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

/** Whether running containers are resized, and nothing else is done to the pod. */
export function isResizeAlone(plan: PodPlan): boolean {
  // Volumes are known to be mounted only after the pod's other preparations.
  const isReady = plan.resize !== undefined && plan.resize.volumes === undefined;
  return isReady && !hasActions({ ...plan, resize: undefined });
}

/** Whether a container starts now or waits for its back-off. */
export function hasStarts(plan: PodPlan): boolean {
  return (
    plan.initContainersToStart.length > 0 ||
    plan.containersToStart.length > 0 ||
    plan.ephemeralContainersToStart.length > 0 ||
    plan.waiting.length > 0
  );
}
