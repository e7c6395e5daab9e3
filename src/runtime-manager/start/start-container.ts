/** Starts one container: pulls its image, builds its config, creates and starts it, links its log and runs its postStart hook. */
import { join } from 'node:path';
import { errorText, programStops, throwIfCancelled, type YieldingSemaphore } from '../../async/index.js';
import {
  type ContainerConfig,
  CriError,
  type Init,
  newestContainer,
  type ObservedPodStatus,
  type PodSandboxConfig,
} from '../../cri/index.js';
import {
  type AnyContainer,
  type ContainerKind,
  containerFieldPath,
  type EphemeralContainer,
  type Pod,
} from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import { recordContainerEvent } from '../container-events.js';
import {
  type EnsuredImage,
  type ImageEnsurer,
  type InternalLifecycle,
  type PodConfigs,
  type StartFailureReason,
  SyncFailure,
} from '../contracts.js';
import { type KillPorts, killContainer } from '../kill/kill-container.js';
import { wantedResources } from '../resize/decide-resize.js';
import type { ActuatedResources } from '../resize/index.js';
import type { LogFiles } from './log-files.js';
import { logSymlinkPath } from './log-symlink.js';
import { orLost, SandboxLost } from './lost-sandbox.js';
import type { RecentlyCreated } from './recently-created.js';
import type { AttemptedName, ReservedNames } from './reserved-names.js';
import { restartCount } from './restart-count.js';

export interface StartPorts extends KillPorts {
  readonly images: ImageEnsurer;
  readonly configs: PodConfigs;
  readonly internals: InternalLifecycle | undefined;
  readonly gate: YieldingSemaphore;
  /** Records every created sandbox and container. */
  readonly creations: RecentlyCreated;
  readonly names: ReservedNames;
  readonly podLogsDir: string;
  /** The flat directory of links to container logs; undefined for none. */
  readonly containerLogsDir: string | undefined;
  readonly logFiles: LogFiles;
  /** The resources that containers were last given; absent when in-place resize is off. */
  readonly actuated: ActuatedResources | undefined;
}

export interface ContainerStart {
  readonly pod: Pod;
  readonly status: ObservedPodStatus;
  readonly kind: ContainerKind;
  readonly container: AnyContainer;
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  readonly imageVolumes: ReadonlyMap<string, EnsuredImage>;
  readonly runtimeHandler: string;
  /** The pod's place in the queue of the gate. */
  readonly rank: number;
  readonly because: string;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the container's id. Rejects with SyncFailure, SandboxLost or, when the signal aborts, Cancelled. */
export async function startContainer(ports: StartPorts, start: ContainerStart): Promise<string> {
  const image = await ensureImage(ports, start);
  const attempt = await restartCount(
    start.status,
    start.pod,
    start.container.name,
    { dir: ports.podLogsDir, host: ports.logFiles.host },
    (error) => note(ports, start, 'Could not read earlier logs to count restarts', error),
  );
  const { config, cleanup } = await buildConfig(ports, start, image, attempt);
  try {
    const id = await createAndStart(ports, start, config, attempt);
    linkLog(ports, start, config, id);
    await runPostStart(ports, start, id);
    return id;
  } finally {
    await cleanup().catch((error: unknown) =>
      note(ports, start, 'Could not clean up after the start', error),
    );
  }
}

async function ensureImage(ports: StartPorts, start: ContainerStart): Promise<EnsuredImage> {
  const { pod, container, sandboxConfig, runtimeHandler, signal } = start;
  try {
    const fieldPath = containerFieldPath(start.kind, container.name);
    return await ports.images.ensure({ pod, container, sandboxConfig, fieldPath, runtimeHandler, signal });
  } catch (error) {
    if (error instanceof SyncFailure) failedEvent(ports, start, `Error: ${error.reason}`);
    throw error;
  }
}

async function buildConfig(
  ports: StartPorts,
  start: ContainerStart,
  image: EnsuredImage,
  attempt: number,
): ReturnType<PodConfigs['container']> {
  const { pod, container, podIps, imageVolumes, runtimeHandler } = start;
  const built = await failAs(ports, start, 'CreateContainerConfigError', async () => {
    const targetContainerId = findTarget(start);
    const additions = await ports.internals?.additions?.(pod, container, start.signal);
    return ports.configs.container({
      pod,
      container,
      restartCount: ports.names.attemptFor(attemptedName(start, attempt)),
      podIps,
      image,
      imageVolumes,
      runtimeHandler,
      ...(targetContainerId === undefined ? {} : { targetContainerId }),
      ...(additions === undefined ? {} : { additions }),
    });
  });
  const { internals } = ports;
  try {
    await failAs(ports, start, 'CreateContainerConfigError', () => recordResources(ports, start));
    if (internals === undefined) return built;
    const config = await failAs(
      ports,
      start,
      'PreCreateHookError',
      () => internals.preCreate(pod, container, built.config),
      'Internal PreCreateContainer hook failed: ',
    );
    return { config, cleanup: built.cleanup };
  } catch (error) {
    await built.cleanup();
    throw error;
  }
}

/** Called before the container exists: a running container without a record would be resized. */
async function recordResources(
  { actuated }: StartPorts,
  { kind, pod, container }: ContainerStart,
): Promise<void> {
  if (kind === 'ephemeralContainer' || actuated === undefined) return;
  actuated.setContainer(pod.metadata.uid, container.name, wantedResources(pod, container));
  await actuated.written();
}

/** The instance whose process namespace an ephemeral container shares. */
function findTarget({ kind, container, status }: ContainerStart): string | undefined {
  if (kind !== 'ephemeralContainer') return undefined;
  const { targetContainerName }: EphemeralContainer = container;
  if (targetContainerName === undefined || targetContainerName === '') return undefined;
  const target = newestContainer(status, targetContainerName);
  if (target === undefined) throw new Error(`unable to find target container ${targetContainerName}`);
  return target.id;
}

/** Makes both calls in one turn at the gate, as a created container is useless before it starts. */
async function createAndStart(
  ports: StartPorts,
  start: ContainerStart,
  config: Init<ContainerConfig>,
  attempt: number,
): Promise<string> {
  const { clock, gate, cri, internals, timeline } = ports;
  const { pod, container, sandboxId, sandboxConfig, rank, signal } = start;
  const queuedMs = clock.monotonic();
  return gate.run(
    async () => {
      const startedMs = clock.monotonic();
      const id = await failAs(ports, start, 'CreateContainerError', async () => {
        // Not bound to the signal: a cancelled call may create a container that the next relist misses.
        const created = await orLost(ports, start, () =>
          cri.createContainer({ podSandboxId: sandboxId, config, sandboxConfig }),
        ).catch((error: unknown) => {
          ports.names.failed(attemptedName(start, attempt), config.metadata?.attempt ?? attempt, error);
          throw error;
        });
        ports.creations.addContainer(pod.metadata.uid, created.containerId, sandboxId);
        return created.containerId;
      });
      if (internals !== undefined) {
        const prefix = 'Internal PreStartContainer hook failed: ';
        await failAs(
          ports,
          start,
          'PreStartHookError',
          () => internals.preStart(pod, container, id),
          prefix,
          id,
        );
      }
      happened(ports, start, 'Created', 'Container created', id);
      // The runtime took its time, and the pod is to end by now.
      if (signal?.reason !== programStops) throwIfCancelled(signal);
      await failAs(
        ports,
        start,
        'RunContainerError',
        () =>
          orLost(ports, start, () => cri.startContainer({ containerId: id }), {
            id,
            logPath: logPathOf(start, config),
          }),
        'Error: ',
        id,
      );
      happened(ports, start, 'Started', 'Container started', id);
      timeline.record({
        kind: 'effect',
        what: 'container.start',
        message: `Started ${container.name}`,
        because: start.because,
        pod: podRef(pod),
        container: container.name,
        durationMs: clock.monotonic() - startedMs,
        data: { containerId: id, waitedMs: startedMs - queuedMs, attempt: config.metadata?.attempt ?? 0 },
      });
      return id;
    },
    { rank, signal },
  );
}

function attemptedName({ pod, container }: ContainerStart, attempt: number): AttemptedName {
  return { pod: podRef(pod), container: container.name, attempt };
}

/** Empty if the container has no log. */
function logPathOf(
  { sandboxConfig: { logDirectory = '' } }: ContainerStart,
  { logPath = '' }: Init<ContainerConfig>,
): string {
  return logDirectory === '' || logPath === '' ? '' : join(logDirectory, logPath);
}

function linkLog(ports: StartPorts, start: ContainerStart, config: Init<ContainerConfig>, id: string): void {
  const { containerLogsDir } = ports;
  const logPath = logPathOf(start, config);
  if (containerLogsDir === undefined || logPath === '') return;
  const linkPath = logSymlinkPath(containerLogsDir, start.pod.metadata, start.container.name, id);
  try {
    ports.logFiles.link(logPath, linkPath);
  } catch (error) {
    note(ports, start, 'Could not link the container log', error);
  }
}

async function runPostStart(ports: StartPorts, start: ContainerStart, id: string): Promise<void> {
  const { hooks, clock, timeline } = ports;
  const { pod, container, signal } = start;
  if (container.lifecycle?.postStart === undefined) return;
  if (hooks === undefined) {
    note(ports, start, `postStart hook of container ${container.name} not run: this agent runs no hooks`);
    return;
  }
  const startedMs = clock.monotonic();
  try {
    await hooks.postStart(pod, container, id, signal);
    timeline.record({
      kind: 'effect',
      what: 'container.postStart',
      message: `Ran postStart hook of container ${container.name}`,
      because: 'the container has started',
      pod: podRef(pod),
      container: container.name,
      durationMs: clock.monotonic() - startedMs,
    });
  } catch (error) {
    // Cancelled, not failed: the container keeps running, or the termination of the pod stops it with its grace period.
    throwIfCancelled(ports.background.signal);
    throwIfCancelled(signal);
    const reason = 'FailedPostStartHook';
    happened(ports, start, reason, 'PostStartHook failed', id, 'Warning');
    try {
      // Not bound to the signal: a container whose hook failed must not be left running.
      await killContainer(ports, {
        pod,
        id,
        name: container.name,
        message: reason,
        reason,
        because: 'its postStart hook failed',
      });
    } catch (killError) {
      note(ports, start, 'Could not kill the container after its postStart hook failed', killError);
    }
    throw new SyncFailure('PostStartHookError', messageOf(error), { cause: error });
  }
}

/** Runs a step. Its failure becomes a `Failed` event and a SyncFailure with the reason. */
async function failAs<T>(
  ports: StartPorts,
  start: ContainerStart,
  reason: StartFailureReason,
  step: () => Promise<T>,
  prefix = 'Error: ',
  containerId?: string,
): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof SandboxLost) throw error;
    throwIfCancelled(start.signal);
    const message = messageOf(error);
    failedEvent(ports, start, `${prefix}${message}`, containerId);
    throw new SyncFailure(reason, message, { cause: error });
  }
}

function failedEvent(ports: StartPorts, start: ContainerStart, message: string, containerId?: string): void {
  happened(ports, start, 'Failed', message, containerId, 'Warning');
}

function happened(
  { timeline }: StartPorts,
  { pod, container }: ContainerStart,
  reason: string,
  message: string,
  containerId: string | undefined,
  type: 'Normal' | 'Warning' = 'Normal',
): void {
  recordContainerEvent(timeline, pod, container.name, { type, reason, message, containerId });
}

function note({ timeline }: StartPorts, start: ContainerStart, message: string, error?: unknown): void {
  timeline.record({
    kind: 'problem',
    what: 'container.start',
    message,
    because: start.because,
    pod: podRef(start.pod),
    container: start.container.name,
    error,
  });
}

/** The message of a runtime error without the gRPC prefix, or the message of any other error. */
function messageOf(error: unknown): string {
  if (error instanceof CriError) return error.details;
  return errorText(error);
}
