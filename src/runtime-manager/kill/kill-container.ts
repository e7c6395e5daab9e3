/**
 * Stops one container: runs its preStop hook, waits for its place in the termination order, calls the
 * runtime.
 */
import { type Clock, type TaskGroup, throwIfCancelled } from '../../async/index.js';
import { type CriRuntime, forgivenError, isNotFound } from '../../cri/index.js';
import { type AnyContainer, findPodContainer, formatPod, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { recordContainerEvent } from '../container-events.js';
import type { LifecycleHooks } from '../contracts.js';
import { recordFailure } from '../fault-entry.js';
import { checkedContainerStatus } from '../observe/response-checks.js';
import type { KillReason } from '../plan/pod-plan.js';
import { type GracePeriod, gracePeriod, minimumGracePeriodSeconds } from './grace.js';
import type { InterruptedKills, KillProgress } from './interrupted-kills.js';
import { restorePod } from './restored-pod.js';
import type { TerminationLimiter } from './termination-limiter.js';
import { atMost, type TerminationOrdering } from './termination-ordering.js';

export interface KillPorts {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly hooks: LifecycleHooks | undefined;
  /** Owns preStop hooks that outlive the wait for them. */
  readonly background: TaskGroup;
  /** Limits how many pods end at once; absent: no limit. */
  readonly ends?: TerminationLimiter | undefined;
  /** Kills cancelled by a shorter grace period or the pod's own termination; the next kill goes on from there. */
  readonly interrupted?: InterruptedKills | undefined;
}

export interface ContainerKill {
  /** Undefined when the object is unknown: then the container's annotations are used. */
  readonly pod: Pod | undefined;
  readonly id: string;
  readonly name: string;
  /** The `Killing` event's message; absent or empty for the default. */
  readonly message?: string;
  readonly reason: KillReason;
  readonly because: string;
  readonly graceOverrideSeconds?: number | undefined;
  readonly turns?: TerminationOrdering | undefined;
  /** Killed with its whole pod, and so in termination order. */
  readonly isWithPod?: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface KillTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
}

/**
 * Rejects when the runtime could not stop the container; a missing container counts as stopped. When
 * cancelled, it can be repeated with another grace period: hook and event happen only once.
 */
export async function killContainer(ports: KillPorts, kill: ContainerKill): Promise<void> {
  const progress = ports.interrupted?.take(kill.id) ?? {};
  try {
    await stopContainer(ports, kill, progress);
  } catch (error) {
    if (kill.signal?.aborted === true) ports.interrupted?.put(kill.id, progress);
    throw error;
  }
}

async function stopContainer(ports: KillPorts, kill: ContainerKill, progress: KillProgress): Promise<void> {
  const { cri, clock, timeline } = ports;
  const target = await resolveTarget(ports, kill);
  if (target === undefined) {
    kill.turns?.ended(kill.name);
    return;
  }
  const { pod, container } = target;
  const grace = gracePeriod({
    pod,
    container,
    reason: kill.reason,
    overrideSeconds: kill.graceOverrideSeconds,
  });
  const message = kill.message || `Stopping container ${container.name}`;
  if (progress.isAnnounced !== true) {
    progress.isAnnounced = true;
    recordContainerEvent(timeline, pod, container.name, {
      type: 'Normal',
      reason: 'Killing',
      message,
      containerId: kill.id,
    });
  }
  const startedMs = clock.monotonic();
  const leftSeconds = await spendGrace(ports, kill, target, grace, progress);
  const timeoutSeconds = Math.max(leftSeconds, minimumGracePeriodSeconds);
  const entry = {
    kind: 'effect',
    what: 'container.stop',
    pod: podRef(pod),
    container: container.name,
    because: kill.because,
    data: { graceSeconds: grace.seconds, graceFrom: grace.from, timeoutSeconds, containerId: kill.id },
  } as const;
  try {
    const stop = (): Promise<object> =>
      cri.stopContainer({ containerId: kill.id, timeout: timeoutSeconds }, { signal: kill.signal });
    const stopped =
      kill.isWithPod === true && ports.ends !== undefined
        ? await ports.ends.container(stop, kill.signal)
        : await stop();
    recordFailure(timeline, 'stopContainer', forgivenError(stopped), entry);
  } catch (error) {
    if (isNotFound(error)) recordFailure(timeline, 'stopContainer', error, entry);
    else {
      throwIfCancelled(kill.signal);
      recordFailure(timeline, 'stopContainer', error, entry);
      timeline.record({
        ...entry,
        kind: 'problem',
        message: `Could not stop container ${container.name}`,
        durationMs: clock.monotonic() - startedMs,
        error,
      });
      throw error;
    }
  }
  timeline.record({
    ...entry,
    message: `Stopped container ${container.name}`,
    durationMs: clock.monotonic() - startedMs,
  });
  kill.turns?.ended(container.name);
}

/** Undefined when the runtime no longer knows the container. */
async function resolveTarget(ports: KillPorts, kill: ContainerKill): Promise<KillTarget | undefined> {
  if (kill.pod !== undefined) {
    const found = findPodContainer(kill.pod, kill.name);
    if (found === undefined) {
      throw new Error(
        `cannot kill container "${kill.name}" (${kill.id}): pod "${formatPod(kill.pod)}" has no container of that name`,
      );
    }
    return { pod: kill.pod, container: found.container };
  }
  try {
    const answer = await ports.cri.containerStatus({ containerId: kill.id }, { signal: kill.signal });
    return restorePod(checkedContainerStatus(answer));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Runs the hook and waits for the termination order; returns the whole seconds of grace left. */
async function spendGrace(
  ports: KillPorts,
  kill: ContainerKill,
  target: KillTarget,
  grace: GracePeriod,
  progress: KillProgress,
): Promise<number> {
  const { clock } = ports;
  let leftSeconds = grace.seconds;
  const spend = async (wait: (limitMs: number) => Promise<void>): Promise<void> => {
    if (leftSeconds <= 0) return;
    const sinceMs = clock.monotonic();
    await wait(leftSeconds * 1000);
    leftSeconds -= Math.trunc((clock.monotonic() - sinceMs) / 1000);
  };
  if (target.container.lifecycle?.preStop !== undefined) {
    await spend(async (limitMs) => {
      progress.preStop ??= startPreStop(ports, kill, target);
      await atMost(clock, limitMs, progress.preStop, kill.signal);
    });
  }
  const turns = kill.turns;
  if (turns !== undefined) {
    await spend((limitMs) => turns.wait(clock, target.container.name, limitMs, kill.signal));
  }
  return leftSeconds;
}

/** Resolves when the hook has ended; the hook goes on even if nobody waits for it. */
async function startPreStop(
  ports: KillPorts,
  kill: ContainerKill,
  { pod, container }: KillTarget,
): Promise<void> {
  const { clock, timeline, hooks, background } = ports;
  const entry = {
    kind: 'effect',
    what: 'container.preStop',
    pod: podRef(pod),
    container: container.name,
    because: kill.because,
  } as const;
  if (hooks === undefined) {
    timeline.record({
      ...entry,
      kind: 'problem',
      message: `preStop hook of container ${container.name} not run: this agent runs no hooks`,
    });
    return;
  }
  const startedMs = clock.monotonic();
  const run = async (signal: AbortSignal): Promise<void> => {
    try {
      await hooks.preStop(pod, container, kill.id, signal);
    } catch (error) {
      // A hook that ends with the agent was cancelled, it has not failed.
      throwIfCancelled(signal);
      recordContainerEvent(timeline, pod, container.name, {
        type: 'Warning',
        reason: 'FailedPreStopHook',
        message: 'PreStopHook failed',
      });
      timeline.record({
        ...entry,
        kind: 'problem',
        message: `preStop hook of container ${container.name} failed`,
        durationMs: clock.monotonic() - startedMs,
        error,
      });
      return;
    }
    timeline.record({
      ...entry,
      message: `Ran preStop hook of container ${container.name}`,
      durationMs: clock.monotonic() - startedMs,
    });
  };
  await new Promise<void>((resolve) => {
    background.start(`preStop ${formatPod(pod)}/${container.name}`, (signal) => run(signal).finally(resolve));
    // A stopped group starts nothing, so nothing else would resolve this.
    if (background.signal.aborted) resolve();
  });
}
