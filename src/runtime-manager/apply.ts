/** Executes a plan: kills, resets, the sandbox, then the containers, in this order. */
import { asError, type Backoff, Cancelled, errorText, throwIfCancelled } from '../async/index.js';
import { type ObservedPodStatus, recogniseFault } from '../cri/index.js';
import { formatPod, goQuote, type Pod } from '../kube/index.js';
import { podRef } from '../timeline/index.js';
import {
  type ContainerRemover,
  type PodCgroupResizing,
  type PodStates,
  type PrepareResources,
  type Reinspect,
  SyncFailure,
  type SyncStepResult,
  type VolumeResizing,
} from './contracts.js';
import { faultEntry } from './fault-entry.js';
import { killContainer } from './kill/kill-container.js';
import { killPod } from './kill/kill-pod.js';
import { hasStarts, type PodPlan } from './plan/pod-plan.js';
import { resizePod } from './resize/resize-pod.js';
import type { ResizeRetries } from './resize/resize-retries.js';
import type { SandboxUpdates } from './resize/tell-sandbox.js';
import {
  createSandbox,
  readPodIps,
  type Sandbox,
  type SandboxPorts,
  sandboxFailure,
} from './start/create-sandbox.js';
import { allInitInstances, removeInitInstances, supersededInitInstances } from './start/init-cleanup.js';
import type { StartOrder } from './start/start-order.js';
import { startPlannedContainers } from './start/start-planned.js';
import type { PodSyncResult } from './sync-result.js';

export interface SyncPorts extends SandboxPorts {
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  readonly crashLoop: Backoff;
  readonly tickets: StartOrder;
  /** Reinspects the pod although its state is unchanged: now, or at its next relist. */
  readonly reinspect: Reinspect | undefined;
  readonly podCgroups: PodCgroupResizing | undefined;
  readonly resizeVolume: VolumeResizing | undefined;
  readonly resizeRetries: ResizeRetries;
  readonly sandboxUpdates: SandboxUpdates;
  /** Absent: no pod has resources that need it. */
  readonly prepareResources: PrepareResources | undefined;
}

export interface RuntimeSyncRequest {
  readonly pod: Pod;
  readonly status: ObservedPodStatus;
  readonly plan: PodPlan;
  /** Called when the pod gets a slot to create its sandbox. */
  readonly onSandboxTurn?: (() => void) | undefined;
  /** Called once a new sandbox is ready, before any image is pulled. */
  readonly onSandboxReady?:
    | ((sandbox: { readonly id: string; readonly podIps: readonly string[] }) => void | Promise<void>)
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A sync under way: the request and what came of it so far. */
export interface SyncRun extends RuntimeSyncRequest {
  readonly steps: SyncStepResult[];
  podIps: readonly string[];
  sandboxCreated: boolean;
  resyncAtOnce: boolean;
  removedInstances: boolean;
  error: Error | undefined;
}

/** Never rejects for what the runtime or a hook refuses; the result tells it. */
export async function applyPlan(ports: SyncPorts, request: RuntimeSyncRequest): Promise<PodSyncResult> {
  const run: SyncRun = {
    ...request,
    steps: [],
    podIps: request.status.ips,
    sandboxCreated: false,
    resyncAtOnce: false,
    removedInstances: false,
    error: undefined,
  };
  try {
    await runSync(ports, run);
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    run.error = error;
  }
  const { steps, plan, sandboxCreated, podIps, resyncAtOnce, removedInstances, error } = run;
  return {
    steps,
    plan,
    sandboxCreated,
    podIps,
    resyncAtOnce,
    ...(removedInstances ? { removedInstances } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

async function runSync(ports: SyncPorts, run: SyncRun): Promise<void> {
  const { pod, status, plan } = run;
  for (const id of plan.stoppedContainers) await freeResources(ports, run, id);
  if (plan.createSandbox !== undefined && plan.sandboxId !== '') {
    ports.timeline.event(
      podRef(pod),
      'Normal',
      'SandboxChanged',
      'Pod sandbox changed, it will be killed and re-created.',
    );
  }
  if (plan.killPod !== undefined) {
    const { because } = plan.killPod;
    run.steps.push(...(await killPod(ports, { pod, observed: status, because, signal: run.signal })));
    if (hasFailed(run)) return;
  } else {
    await killPlanned(ports, run);
    if (!hasFailed(run)) await resetPlanned(ports, run);
    if (hasFailed(run)) return;
  }
  if (plan.killPod !== undefined && plan.createSandbox !== undefined) {
    const instances = allInitInstances(pod, status);
    await removeInitInstances(ports, pod, instances, 'the new sandbox initialises from the start');
  } else {
    const instances = supersededInitInstances(pod, status);
    run.removedInstances = instances.length > 0;
    await removeInitInstances(ports, pod, instances, 'a newer instance has ended');
  }
  if (plan.createSandbox !== undefined) ports.actuated?.podBegins(pod);
  const sandbox = plan.createSandbox === undefined ? undefined : await newSandbox(ports, run);
  if (plan.createSandbox !== undefined && sandbox === undefined) return;
  if (plan.resize !== undefined && ports.actuated !== undefined) {
    await resizePod(ports, run, plan.resize, ports.actuated);
  }
  if (hasStarts(plan)) await startPlannedContainers(ports, run, sandbox);
}

async function killPlanned(ports: SyncPorts, run: SyncRun): Promise<void> {
  for (const kill of run.plan.containersToKill.values()) {
    const step = { action: 'KillContainer', target: kill.name } as const;
    const found = run.status.containers.find(({ id }) => id === kill.id);
    const fault = found && recogniseFault({ seen: 'container', state: found.state });
    if (fault !== undefined)
      ports.timeline.record(faultEntry(fault, { pod: podRef(run.pod), container: kill.name }));
    try {
      await killContainer(ports, { ...kill, pod: run.pod, signal: run.signal });
      run.steps.push(step);
    } catch (error) {
      run.steps.push({ ...step, failure: failureOf('KillContainerError', error) });
      return;
    }
  }
}

/** Logs stay, so that the restart count goes on. */
async function resetPlanned(ports: SyncPorts, run: SyncRun): Promise<void> {
  for (const { id, name, kill, because } of run.plan.containersToReset) {
    if (kill) {
      const step = { action: 'KillContainer', target: name } as const;
      try {
        await killContainer(ports, {
          pod: run.pod,
          id,
          name,
          message: 'killing',
          reason: 'RestartAllContainers',
          because,
          graceOverrideSeconds: 0,
          signal: run.signal,
        });
        run.steps.push(step);
      } catch (error) {
        run.steps.push({ ...step, failure: failureOf('KillContainerError', error) });
        return;
      }
    }
    const step = { action: 'RemoveContainer', target: name } as const;
    try {
      await ports.remover.remove({ id, name }, { keepLogs: true, because });
      run.steps.push(step);
    } catch (error) {
      run.steps.push({ ...step, failure: failureOf('RemoveContainerError', error) });
      return;
    }
  }
  if (run.plan.containersToReset.length > 0) run.resyncAtOnce = true;
}

/** Undefined when the sync ends here. */
async function newSandbox(ports: SyncPorts, run: SyncRun): Promise<Sandbox | undefined> {
  const { pod, plan, signal } = run;
  const { timeline, metrics } = ports;
  const uid = pod.metadata.uid;
  const hasOwnUsers = pod.spec.hostUsers === false;
  metrics.startedPods.inc();
  if (hasOwnUsers) metrics.startedUserPods.inc();
  if (!(await hasResources(ports, run))) return undefined;
  const step = { action: 'CreatePodSandbox', target: formatPod(pod) } as const;
  let sandbox: Sandbox;
  try {
    const because = plan.createSandbox?.because ?? '';
    const rank = ports.tickets.of(uid);
    const onTurn = run.onSandboxTurn;
    sandbox = await createSandbox(ports, { pod, attempt: plan.attempt, rank, because, onTurn, signal });
  } catch (error) {
    metrics.startedPodErrors.inc();
    if (hasOwnUsers) metrics.startedUserPodErrors.inc();
    const failure = sandboxFailure(pod, error);
    // The network of a terminating pod may be gone already; its termination reports what matters.
    if (ports.podStates.isTerminationRequested(uid)) {
      timeline.record({
        kind: 'notice',
        what: 'sandbox.create',
        message: 'No sandbox was created',
        because: 'the pod is being terminated',
        pod: podRef(pod),
        error,
      });
      return undefined;
    }
    throwIfCancelled(signal);
    run.steps.push({ ...step, failure });
    warn(ports, run, 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${errorText(error)}`);
    return undefined;
  }
  run.steps.push(step);
  run.sandboxCreated = true;
  try {
    run.podIps = await readPodIps(ports, pod, sandbox.id, run.podIps);
  } catch (error) {
    throwIfCancelled(signal);
    warn(ports, run, 'FailedPodSandBoxStatus', `Unable to get pod sandbox status: ${errorText(error)}`);
    run.error = asError(error);
    return undefined;
  }
  try {
    await run.onSandboxReady?.({ id: sandbox.id, podIps: run.podIps });
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'sandbox.ready',
      message: `Could not report that the sandbox of pod ${goQuote(formatPod(pod))} is ready`,
      pod: podRef(pod),
      error,
    });
  }
  return sandbox;
}

/** A pod that has to wait for its resources is synced again like any other, and when what it waits for is there. */
async function hasResources(ports: SyncPorts, run: SyncRun): Promise<boolean> {
  const { prepareResources } = ports;
  if (prepareResources === undefined || !prepareResources.isNeeded(run.pod)) return true;
  // Drivers may take long; others go on meanwhile.
  run.onSandboxTurn?.();
  try {
    await prepareResources.prepare(run.pod, run.signal);
    return true;
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    throwIfCancelled(run.signal);
    const message = `Failed to prepare dynamic resources: ${errorText(error)}`;
    warn(ports, run, 'FailedPrepareDynamicResources', message);
    return false;
  }
}

async function freeResources(ports: SyncPorts, run: SyncRun, containerId: string): Promise<void> {
  try {
    await ports.internals?.postStop(containerId);
  } catch (error) {
    ports.timeline.record({
      kind: 'problem',
      what: 'container.postStop',
      message: 'Could not release the resources of a stopped container',
      pod: podRef(run.pod),
      data: { containerId },
      error,
    });
  }
}

function hasFailed(run: SyncRun): boolean {
  return run.steps.some(({ failure }) => failure !== undefined);
}

function warn(ports: SyncPorts, run: SyncRun, reason: string, message: string): void {
  ports.timeline.event(podRef(run.pod), 'Warning', reason, message);
}

function failureOf(reason: 'KillContainerError' | 'RemoveContainerError', error: unknown): SyncFailure {
  return new SyncFailure(reason, errorText(error), { cause: error });
}
