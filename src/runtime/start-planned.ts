/** Starts the containers that a plan names: ephemeral ones, then init containers in order, then regular ones. */
import { errorText, throwIfCancelled } from '../async/index.js';
import type { Init, PodSandboxConfig } from '../cri/index.js';
import { type ContainerKind, formatPod, goQuote, isSidecar } from '../kube/index.js';
import { podRef } from '../timeline/index.js';
import type { SyncPorts, SyncRun } from './apply.js';
import { recordContainerEvent } from './container-events.js';
import { type AnyContainer, SyncFailure } from './contracts.js';
import { checkCrashLoop } from './crash-loop.js';
import {
  type EnsuredImageVolumes,
  ensureImageVolumes,
  hasImageVolumes,
  imageVolumeFailure,
} from './image-volumes.js';
import type { PlannedStart } from './pod-plan.js';
import type { Sandbox } from './sandbox.js';
import { startContainer } from './start.js';

/** What all starts of one sync share. */
interface Ground {
  readonly sandboxId: string;
  readonly config: Init<PodSandboxConfig>;
  readonly runtimeHandler: string;
  readonly volumes: EnsuredImageVolumes;
}

/** `created` is the sandbox that this sync made, if it made one. */
export async function startPlannedContainers(
  ports: SyncPorts,
  run: SyncRun,
  created: Sandbox | undefined,
): Promise<void> {
  const { spec } = run.pod;
  const { plan } = run;
  const ground = await prepareGround(ports, run, created);
  if (ground === undefined) return;
  for (const start of plan.ephemeralContainersToStart) {
    await startOne(ports, run, ground, 'ephemeralContainer', start, spec.ephemeralContainers?.[start.index]);
  }
  for (const start of plan.initContainersToStart) {
    const container = spec.initContainers?.[start.index];
    const started = await startOne(ports, run, ground, 'initContainer', start, container);
    // What comes after a plain init container counts on it; a sidecar is tried again beside the others.
    if (!started && !(container !== undefined && isSidecar(container))) return;
  }
  for (const start of plan.containersToStart) {
    await startOne(ports, run, ground, 'container', start, spec.containers[start.index]);
  }
}

/** Undefined when nothing can be started. */
async function prepareGround(
  ports: SyncPorts,
  run: SyncRun,
  created: Sandbox | undefined,
): Promise<Ground | undefined> {
  const { pod, plan, signal } = run;
  const sandboxId = created?.id ?? plan.sandboxId;
  const step = { action: 'ConfigPodSandbox', target: sandboxId } as const;
  try {
    const config = created?.config ?? (await ports.configs.sandbox(pod, plan.attempt));
    const withImageVolumes = hasImageVolumes(pod);
    const runtimeHandler =
      created?.runtimeHandler ?? (withImageVolumes ? await ports.runtimeHandler(pod) : '');
    const volumes = withImageVolumes
      ? await ensureImageVolumes(ports.images, pod, config, signal)
      : { images: new Map(), failures: new Map() };
    run.steps.push(step);
    return { sandboxId, config, runtimeHandler, volumes };
  } catch (error) {
    throwIfCancelled(signal);
    const message = errorText(error);
    const failure = new SyncFailure(
      'ConfigPodSandboxError',
      `GeneratePodSandboxConfig for pod ${goQuote(formatPod(pod))} failed: ${message}`,
      { cause: error },
    );
    run.steps.push({ ...step, failure });
    return undefined;
  }
}

/** Whether the container was started. */
async function startOne(
  ports: SyncPorts,
  run: SyncRun,
  ground: Ground,
  kind: ContainerKind,
  planned: PlannedStart,
  container: AnyContainer | undefined,
): Promise<boolean> {
  if (container === undefined) {
    throw new Error(
      `the plan of pod ${formatPod(run.pod)} starts ${planned.name}, which its spec does not name`,
    );
  }
  throwIfCancelled(run.signal);
  const step = { action: 'StartContainer', target: container.name } as const;
  const waiting = holdBack(ports, run, container);
  if (waiting !== undefined) {
    run.steps.push({ ...step, failure: waiting });
    return false;
  }
  ports.observer?.containerStarted(kind);
  try {
    const volumeFailure = imageVolumeFailure(container, ground.volumes);
    if (volumeFailure !== undefined) {
      const message = `Error: ${volumeFailure.reason}`;
      const event = { type: 'Warning', reason: 'Failed', message } as const;
      recordContainerEvent(ports.timeline, run.pod, container.name, event);
      throw volumeFailure;
    }
    await startContainer(ports, {
      pod: run.pod,
      status: run.status,
      kind,
      container,
      sandboxId: ground.sandboxId,
      sandboxConfig: ground.config,
      podIps: run.podIps,
      imageVolumes: ground.volumes.images,
      runtimeHandler: ground.runtimeHandler,
      rank: ports.tickets.of(run.pod.metadata.uid ?? ''),
      because: planned.because,
      signal: run.signal,
    });
    run.steps.push(step);
    return true;
  } catch (error) {
    if (!(error instanceof SyncFailure)) throw error;
    ports.observer?.startFailed(kind, error.reason);
    run.steps.push({ ...step, failure: error });
    ports.timeline.record({
      kind: 'problem',
      what: 'container.start',
      message: `${container.name} did not start: ${error.reason}`,
      because: planned.because,
      pod: podRef(run.pod),
      container: container.name,
      level: 'warn',
      error,
    });
    return false;
  }
}

/** The failure to report while the container is in back-off. */
function holdBack(ports: SyncPorts, run: SyncRun, container: AnyContainer): SyncFailure | undefined {
  const { pod, status } = run;
  const nowMs = ports.clock.now();
  const waiting = checkCrashLoop(ports.crashLoop, { pod, container, status, nowMs });
  if (waiting === undefined) return undefined;
  recordContainerEvent(ports.timeline, pod, container.name, {
    type: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container ${container.name} in pod ${formatPod(pod)}`,
  });
  ports.timeline.record({
    kind: 'decision',
    what: 'container.wait',
    message: `${container.name} is not started yet`,
    because: waiting.message,
    pod: podRef(pod),
    container: container.name,
    data: { waitMs: Math.max(0, (waiting.backoffUntilMs ?? nowMs) - nowMs) },
  });
  return waiting;
}
