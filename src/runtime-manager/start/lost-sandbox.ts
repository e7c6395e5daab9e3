/** Tells a container that cannot start from a sandbox that ended under it, which is not the container's fault. */
import { type Clock, sleep } from '../../async/index.js';
import { type CriRuntime, isNotFound, type ObservedPodStatus, PodSandboxState } from '../../cri/index.js';
import { linuxHost } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import { removeIfThere } from '../logs/compress.js';

/** Nothing can start in this sandbox any more; the next look at the pod finds that it needs a new one. */
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
}

type ObservedContainers = Pick<ObservedPodStatus, 'containers'>;

/** The pauses before each look at a sandbox; empty for no look at all. */
export type SandboxCheckDelays = readonly number[];

const oneLook: SandboxCheckDelays = [0];
/** A runtime that ends a sandbox shows it as ended a moment after nothing can start in it any more. */
const someLooks: SandboxCheckDelays = [0, 50, 150];
/** Runtimes that end a sandbox end its containers first, one after another. */
const looksAfterKill: SandboxCheckDelays = [0, 100, 150];
const youngExitMs = 5_000;
const youngKillMs = 1_000;
/** The exit code of a process that was killed. */
const killedExitCode = 137;

/** How to look when a start has failed: more than once only if something ended in the pod just now. */
export function patienceAfterFailure({ containers }: ObservedContainers, nowMs: number): SandboxCheckDelays {
  const isYoung = containers.some(
    ({ state, finishedAtNs }) => state === 'exited' && isSince(finishedAtNs, nowMs - youngExitMs),
  );
  return isYoung ? someLooks : oneLook;
}

/** How to look before a start: not at all, unless a container was killed just now, and not for want of memory. */
export function patienceBeforeStart({ containers }: ObservedContainers, nowMs: number): SandboxCheckDelays {
  const wasKilled = containers.some(
    ({ state, exitCode, reason, finishedAtNs }) =>
      state === 'exited' &&
      exitCode === killedExitCode &&
      reason !== 'OOMKilled' &&
      isSince(finishedAtNs, nowMs - youngKillMs),
  );
  return wasKilled ? looksAfterKill : [];
}

/** Trouble with the question itself counts as no. */
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

/** Runs a call in the sandbox; when that has ended meanwhile, what was created in it goes, and no attempt counts. */
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

/** Attempts are counted by instances and by their logs. Should this fail, what is left counts as one. */
async function discard(
  { cri, timeline }: StartInSandboxPorts,
  containerId: string,
  logPath: string,
): Promise<void> {
  try {
    await cri.removeContainer({ containerId });
    if (logPath !== '') await removeIfThere(linuxHost().files, logPath);
  } catch (error) {
    // The sandbox is lost either way, and with it whatever could not be removed now.
    timeline.record({
      kind: 'problem',
      what: 'container.discard',
      message:
        'a container whose sandbox ended under its start could not be removed; it counts as an attempt',
      level: 'warn',
      data: { containerId },
      error,
    });
  }
}

function isSince(timeNs: bigint, sinceMs: number): boolean {
  return timeNs > BigInt(Math.trunc(sinceMs)) * 1_000_000n;
}
