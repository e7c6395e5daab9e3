/** Starts the containers of a plan: ephemeral containers, then init containers in order, then regular containers. */
import { errorText, throwIfCancelled } from '../../async/index.js';
import { failureMark, faultText, type Init, type PodSandboxConfig, recogniseFault } from '../../cri/index.js';
import {
  type AnyContainer,
  type ContainerKind,
  containerTypes,
  formatPod,
  goQuote,
  isSidecar,
} from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import { recordContainerEvent } from '../container-events.js';
import { SyncFailure } from '../contracts.js';
import type { PlannedStart, PlannedWait, PodPlan } from '../plan/pod-plan.js';
import { beginAttempt } from './crash-loop.js';
import type { Sandbox } from './create-sandbox.js';
import {
  type EnsuredImageVolumes,
  ensureImageVolumes,
  hasImageVolumes,
  imageVolumeFailure,
} from './image-volumes.js';
import { hasSandboxEnded, patienceBeforeStart, SandboxLost } from './lost-sandbox.js';
import { startContainer } from './start-container.js';

/** The data that all starts of one sync share. */
interface StartContext {
  readonly sandboxId: string;
  readonly config: Init<PodSandboxConfig>;
  readonly runtimeHandler: string;
  readonly volumes: EnsuredImageVolumes;
}

/** `created` is the sandbox that this sync created, if it created one. */
export async function startPlannedContainers(
  ports: SyncPorts,
  run: SyncRun,
  created: Sandbox | undefined,
): Promise<void> {
  const context = await prepareContext(ports, run, created);
  if (context === undefined) return;
  try {
    if (created === undefined) await checkSandbox(ports, run, context.sandboxId);
    await startAll(ports, run, context);
  } catch (error) {
    const fault = recogniseFault({ seen: 'start', sandboxEnded: error instanceof SandboxLost });
    if (fault === undefined) throw error;
    ports.timeline.record({
      kind: 'observation',
      what: 'sandbox.lost',
      message: 'The sandbox ended while a container was about to start in it',
      because: `something other than the agent ended it; ${faultText(fault)}`,
      pod: podRef(run.pod),
      level: 'info',
      data: { sandboxId: context.sandboxId, fault },
      error,
    });
    run.resyncAtOnce = true;
  }
}

/** Throws SandboxLost when the sandbox ends together with its containers. */
async function checkSandbox(ports: SyncPorts, { status, signal }: SyncRun, sandboxId: string): Promise<void> {
  const patience = patienceBeforeStart(status, ports.clock.now());
  if (await hasSandboxEnded(ports, sandboxId, patience, signal)) throw new SandboxLost(sandboxId);
}

/** Throws SandboxLost when the sandbox has ended. */
async function startAll(ports: SyncPorts, run: SyncRun, context: StartContext): Promise<void> {
  const { plan } = run;
  const { spec } = run.pod;
  for (const start of plan.ephemeralContainersToStart) {
    await startOne(ports, run, context, 'ephemeralContainer', start, spec.ephemeralContainers?.[start.index]);
  }
  for (const start of inSpecOrder(plan, 'initContainer')) {
    const container = spec.initContainers?.[start.index];
    const started = await startOne(ports, run, context, 'initContainer', start, container);
    // Later containers depend on a plain init container. A sidecar is retried while the others start.
    if (!started && !(container !== undefined && isSidecar(container))) return;
  }
  for (const start of inSpecOrder(plan, 'container')) {
    await startOne(ports, run, context, 'container', start, spec.containers[start.index]);
  }
}

/** The starts and waits of one kind, so that failures are reported in the order of the spec. */
function inSpecOrder(plan: PodPlan, kind: PlannedWait['kind']): (PlannedStart | PlannedWait)[] {
  const starts = kind === 'initContainer' ? plan.initContainersToStart : plan.containersToStart;
  const waits = plan.waiting.filter((wait) => wait.kind === kind);
  return [...starts, ...waits].sort((a, b) => a.index - b.index);
}

/** Undefined when no container can start. */
async function prepareContext(
  ports: SyncPorts,
  run: SyncRun,
  created: Sandbox | undefined,
): Promise<StartContext | undefined> {
  const { pod, plan, signal } = run;
  const sandboxId = created?.id ?? plan.sandboxId;
  const step = { action: 'ConfigPodSandbox', target: sandboxId } as const;
  try {
    const config = created?.config ?? (await ports.configs.sandbox(pod, plan.attempt));
    const withImageVolumes = hasImageVolumes(pod);
    const runtimeHandler = created?.runtimeHandler ?? (await ports.runtimeHandler(pod));
    const volumes = withImageVolumes
      ? await requestImageVolumes(ports, { pod, sandboxConfig: config, runtimeHandler, signal })
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

async function requestImageVolumes(
  { images, metrics }: SyncPorts,
  request: Parameters<typeof ensureImageVolumes>[1],
): Promise<EnsuredImageVolumes> {
  const count = (request.pod.spec.volumes ?? []).filter(({ image }) => image !== undefined).length;
  metrics.imageVolumesRequested.inc({}, count);
  return await ensureImageVolumes(images, request);
}

/** Counts what became of the image volumes that a container mounts. */
function countImageVolumes(
  { metrics }: SyncPorts,
  context: StartContext,
  container: AnyContainer,
  error?: SyncFailure,
): void {
  const { images } = context.volumes;
  const count = (container.volumeMounts ?? []).filter(({ name }) => images.has(name)).length;
  if (count === 0) return;
  if (error === undefined) metrics.imageVolumesMounted.inc({}, count);
  else if (failureMark(error.message) === 'ImageVolumeMountFailed') metrics.imageVolumeErrors.inc({}, count);
}

/** Whether the container was started. */
async function startOne(
  ports: SyncPorts,
  run: SyncRun,
  context: StartContext,
  kind: ContainerKind,
  planned: PlannedStart | PlannedWait,
  container: AnyContainer | undefined,
): Promise<boolean> {
  if (container === undefined) {
    throw new Error(
      `the plan of pod ${formatPod(run.pod)} starts ${planned.name}, which its spec does not name`,
    );
  }
  throwIfCancelled(run.signal);
  const step = { action: 'StartContainer', target: container.name } as const;
  const nowMs = ports.clock.now();
  // An earlier kill or start may have lasted until the end of the back-off.
  if ('untilMs' in planned && nowMs < planned.untilMs) {
    recordWait(ports, run, planned, nowMs);
    const { message, untilMs } = planned;
    const failure = new SyncFailure('CrashLoopBackOff', message, { backOffUntilMs: untilMs });
    run.steps.push({ ...step, failure });
    return false;
  }
  const attempted = beginAttempt(ports.crashLoop, { pod: run.pod, status: run.status, nowMs }, container);
  ports.metrics.startedContainers.inc({ container_type: containerTypes[kind] });
  try {
    const volumeFailure = imageVolumeFailure(container, context.volumes);
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
      sandboxId: context.sandboxId,
      sandboxConfig: context.config,
      podIps: run.podIps,
      imageVolumes: context.volumes.images,
      runtimeHandler: context.runtimeHandler,
      rank: ports.tickets.of(run.pod.metadata.uid),
      because: planned.because,
      signal: run.signal,
    });
    attempted();
    countImageVolumes(ports, context, container);
    run.steps.push(step);
    return true;
  } catch (error) {
    if (!(error instanceof SandboxLost)) attempted();
    if (!(error instanceof SyncFailure)) throw error;
    countImageVolumes(ports, context, container, error);
    ports.metrics.startedContainerErrors.inc({ container_type: containerTypes[kind], code: error.reason });
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

/** Records that the container waits for the end of its back-off. */
function recordWait(
  { timeline }: SyncPorts,
  { pod }: SyncRun,
  { name, message, untilMs }: PlannedWait,
  nowMs: number,
): void {
  recordContainerEvent(timeline, pod, name, {
    type: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container ${name} in pod ${formatPod(pod)}`,
  });
  timeline.record({
    kind: 'decision',
    what: 'container.wait',
    message: `${name} is not started yet`,
    because: message,
    pod: podRef(pod),
    container: name,
    data: { waitMs: untilMs - nowMs },
  });
}
