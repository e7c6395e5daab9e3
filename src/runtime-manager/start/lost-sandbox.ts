/** Detects that a start failed because the sandbox has ended, which is not the container's fault. */
import { type Clock, sleep } from '../../async/index.js';
import { type CriRuntime, isNotFound, type ObservedPodStatus, PodSandboxState } from '../../cri/index.js';
import type { Host } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import { removeIfThere } from '../logs/compress.js';

/** The sandbox has ended and no container can start in it. The next sync plans a new one. */
export class SandboxLost extends Error {
  override readonly name = 'SandboxLost';

  constructor(sandboxId: string, options?: ErrorOptions) {
    super(`sandbox ${sandboxId} has ended`, options);
  }
}

export interface LostSandboxPorts {
  readonly cri: Pick<CriRuntime, 'podSandboxStatus'>;
  readonly clock: Clock;
}

export interface StartInSandboxPorts extends LostSandboxPorts {
  readonly cri: Pick<CriRuntime, 'podSandboxStatus' | 'removeContainer'>;
  readonly timeline: Pick<Timeline, 'record'>;
  readonly logFiles: { readonly host: Pick<Host, 'files'> };
}

type ObservedContainers = Pick<ObservedPodStatus, 'containers'>;

/** The delay before each check of a sandbox; empty for no check. */
export type SandboxCheckDelays = readonly number[];

const oneCheck: SandboxCheckDelays = [0];
/** A runtime reports the end of a sandbox shortly after starts in it begin to fail. */
const someChecks: SandboxCheckDelays = [0, 50, 150];
/** A runtime that ends a sandbox ends its containers first, one after another. */
const checksAfterKill: SandboxCheckDelays = [0, 100, 150];
const recentExitMs = 5_000;
const recentKillMs = 1_000;
/** The exit code of a process that SIGKILL ended. */
const killedExitCode = 137;

/** The checks after a failed start: several only if a container of the pod has just exited. */
export function patienceAfterFailure({ containers }: ObservedContainers, nowMs: number): SandboxCheckDelays {
  const isRecent = containers.some(
    ({ state, finishedAtNs }) => state === 'exited' && isSince(finishedAtNs, nowMs - recentExitMs),
  );
  return isRecent ? someChecks : oneCheck;
}

/** The checks before a start: none, unless a container was just killed other than by the OOM killer. */
export function patienceBeforeStart({ containers }: ObservedContainers, nowMs: number): SandboxCheckDelays {
  const wasKilled = containers.some(
    ({ state, exitCode, reason, finishedAtNs }) =>
      state === 'exited' &&
      exitCode === killedExitCode &&
      reason !== 'OOMKilled' &&
      isSince(finishedAtNs, nowMs - recentKillMs),
  );
  return wasKilled ? checksAfterKill : [];
}

/** False when the check itself fails. */
export async function hasSandboxEnded(
  { cri, clock }: LostSandboxPorts,
  podSandboxId: string,
  patience: SandboxCheckDelays,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const waitMs of patience) {
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    try {
      const { status } = await cri.podSandboxStatus({ podSandboxId }, { signal });
      if (status !== undefined && status.state !== PodSandboxState.SANDBOX_READY) return true;
    } catch (error) {
      return isNotFound(error);
    }
  }
  return false;
}

export interface StartInSandbox {
  readonly sandboxId: string;
  readonly status: ObservedContainers;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a call in the sandbox. If the call fails because the sandbox has ended, removes the created container and throws SandboxLost. */
export async function orLost<T>(
  ports: StartInSandboxPorts,
  { sandboxId, status, signal }: StartInSandbox,
  call: () => Promise<T>,
  created?: { readonly id: string; readonly logPath: string },
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const patience = patienceAfterFailure(status, ports.clock.now());
    if (!(await hasSandboxEnded(ports, sandboxId, patience, signal))) throw error;
    if (created !== undefined) await discard(ports, created.id, created.logPath);
    throw new SandboxLost(sandboxId, { cause: error });
  }
}

/** Removes the instance and its log, as both count as an attempt. If that fails, the attempt counts. */
async function discard(
  { cri, timeline, logFiles }: StartInSandboxPorts,
  containerId: string,
  logPath: string,
): Promise<void> {
  try {
    await cri.removeContainer({ containerId });
    if (logPath !== '') await removeIfThere(logFiles.host.files, logPath);
  } catch (error) {
    // The container is removed with its sandbox later.
    timeline.record({
      kind: 'problem',
      what: 'container.discard',
      message: 'Could not remove a container whose sandbox ended during its start; it counts as an attempt',
      level: 'warn',
      data: { containerId },
      error,
    });
  }
}

function isSince(timeNs: bigint, sinceMs: number): boolean {
  return timeNs > BigInt(Math.trunc(sinceMs)) * 1_000_000n;
}
