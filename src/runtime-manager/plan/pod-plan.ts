/** What a plan for one pod says: every action as data, each with the reason it was chosen for. */

export type KillReason =
  | 'StartupProbe'
  | 'LivenessProbe'
  | 'FailedPostStartHook'
  | 'RestartAllContainers'
  | 'Unknown'
  | '';

export interface Because {
  readonly because: string;
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

/** The plan in words, one pair for each action in the order in which they are done. */
export function describePlan(
  plan: PodPlan,
): readonly { readonly action: string; readonly because: string }[] {
  const isFirstSandbox = plan.attempt === 0 && plan.sandboxId === '';
  const lines: { action: string; because: string }[] = [];
  if (plan.killPod !== undefined && !isFirstSandbox) lines.push({ action: 'kill pod', ...plan.killPod });
  for (const kill of plan.containersToKill.values()) {
    lines.push({ action: `kill ${kill.name}`, because: kill.because });
  }
  for (const reset of plan.containersToReset) {
    lines.push({ action: `reset ${reset.name}`, because: reset.because });
  }
  if (plan.createSandbox !== undefined) {
    lines.push({ action: `create sandbox, attempt ${plan.attempt}`, ...plan.createSandbox });
  }
  for (const resource of ['memory', 'cpu'] as const) {
    for (const { name, because } of plan.resize?.[resource] ?? []) {
      lines.push({ action: `change ${resource} of ${name}`, because });
    }
  }
  if (plan.resize?.podLevel === true) {
    lines.push({ action: 'change the resources of the pod', because: 'what the pod asks for changed' });
  }
  for (const [kind, starts] of [
    ['ephemeral container', plan.ephemeralContainersToStart],
    ['init container', plan.initContainersToStart],
    ['container', plan.containersToStart],
  ] as const) {
    for (const start of starts) {
      lines.push({ action: `start ${kind} ${start.name}`, because: start.because });
    }
  }
  for (const { kind, name, message } of plan.waiting) {
    const words = kind === 'initContainer' ? 'init container' : 'container';
    lines.push({ action: `${words} ${name} waits`, because: message });
  }
  return lines;
}
