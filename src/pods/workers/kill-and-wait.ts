/** Kills a pod through its worker and waits until its containers are gone: eviction, preemption and shutdown use it. */
import { Cancelled, type Clock, sleep, throwIfCancelled } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { KillOptions, PodUpdate, StatusOverride } from './types.js';

export interface KillAndWaitOptions {
  readonly evict: boolean;
  readonly graceOverrideSeconds?: number;
  readonly statusOverride?: StatusOverride;
  /** Resolves after this time at the latest, although the pod goes on stopping within its grace period. */
  readonly patienceSeconds?: number;
}

export interface KillAndWaitContext {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly workers: { update(update: PodUpdate): void };
  /** Ends the wait with `Cancelled`; the pod is stopped all the same. */
  readonly signal?: AbortSignal;
}

const minimumTimeoutSeconds = 10;

/** How long to wait: the grace period and half of it again, but not less than ten seconds. */
export function killTimeoutSeconds(graceSeconds: number): number {
  return Math.max(graceSeconds + Math.floor(graceSeconds / 2), minimumTimeoutSeconds);
}

export async function killPodAndWait(
  { clock, timeline, workers, signal }: KillAndWaitContext,
  pod: Pod,
  options: KillAndWaitOptions,
): Promise<void> {
  const graceSeconds = options.graceOverrideSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  throwIfCancelled(signal);
  const waiting = new AbortController();
  const stopWaiting = (): void => waiting.abort();
  signal?.addEventListener('abort', stopWaiting, { once: true });
  const completed = new Promise<void>((resolve) => {
    const kill: KillOptions = {
      evict: options.evict,
      onCompleted: resolve,
      ...(options.graceOverrideSeconds === undefined
        ? {}
        : { graceOverrideSeconds: options.graceOverrideSeconds }),
      ...(options.statusOverride === undefined ? {} : { statusOverride: options.statusOverride }),
    };
    workers.update({ type: 'kill', pod, kill });
  });
  const timeoutSeconds = killTimeoutSeconds(graceSeconds);
  const { patienceSeconds = timeoutSeconds } = options;
  const isPatient = patienceSeconds >= timeoutSeconds;
  const timeout = sleep(clock, Math.min(timeoutSeconds, patienceSeconds) * 1000, waiting.signal).then(
    () => (isPatient ? ('timeout' as const) : ('goes on' as const)),
    () => 'cancelled' as const,
  );
  const outcome = await Promise.race([completed, timeout]);
  signal?.removeEventListener('abort', stopWaiting);
  waiting.abort();
  if (outcome === 'cancelled') throw new Cancelled();
  if (outcome === 'timeout') {
    timeline.event(
      podRef(pod),
      'Warning',
      'ExceededGracePeriod',
      'Container runtime did not kill the pod within specified grace period.',
    );
    throw new Error('timeout waiting to kill pod');
  }
}
