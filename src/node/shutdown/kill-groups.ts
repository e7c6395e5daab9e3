/** Kills the pods of a node group by group before the machine goes down. */
import {
  type Clock,
  isCancelled,
  type TaskGroup,
  TimedOut,
  throwIfCancelled,
  withTimeout,
} from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { type GroupOfPods, podsByGroup, type ShutdownGroup, shutdownGraceSeconds } from './groups.js';

/** The pods of the node, for one who ends them. */
export interface ShutdownPods {
  /** Those that may run, static and critical ones included. */
  active(): readonly Pod[];
  /** Resolves when nothing of the pod runs any more; rejects when that takes longer than it should. */
  kill(pod: Pod, graceSeconds: number, signal: AbortSignal): Promise<void>;
  /** Resolves when no volume of the pod is mounted any more. */
  waitForUnmounts(pod: Pod, signal: AbortSignal): Promise<void>;
}

export interface KillGroupsContext {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly pods: ShutdownPods;
  /** Owns what outlives the period of a group. */
  readonly tasks: TaskGroup;
}

/** One group after another, each for its period at most. Rejects with Cancelled when the kubelet stops. */
export async function killGroups(
  context: KillGroupsContext,
  groups: readonly ShutdownGroup[],
  signal: AbortSignal,
): Promise<void> {
  for (const group of podsByGroup(groups, context.pods.active())) {
    throwIfCancelled(signal);
    await killGroup(context, group, signal);
  }
}

async function killGroup(
  { clock, timeline, pods, tasks }: KillGroupsContext,
  group: GroupOfPods,
  signal: AbortSignal,
): Promise<void> {
  const { priority, periodSeconds } = group;
  const startMs = clock.monotonic();
  let left = group.pods.length;
  timeline.record({
    kind: 'decision',
    what: 'node.shutdown-group',
    message: `the pods of priority ${priority} and higher are killed, at most ${periodSeconds}s long`,
    data: { priority, periodSeconds, left },
  });
  const endPod = async (
    pod: Pod,
    untilPeriodEnds: AbortSignal,
    taskSignal: AbortSignal,
  ): Promise<boolean> => {
    const graceSeconds = shutdownGraceSeconds(group, pod);
    timeline.record({
      kind: 'decision',
      what: 'node.shutdown-pod',
      message: 'pod is killed',
      because: 'the machine is shutting down',
      pod: podRef(pod),
      data: { graceSeconds },
    });
    try {
      await pods.kill(pod, graceSeconds, taskSignal);
      await pods.waitForUnmounts(pod, untilPeriodEnds);
      return true;
    } catch (error) {
      if (isCancelled(error)) return false;
      timeline.record({
        kind: 'problem',
        what: 'node.shutdown-pod',
        message: 'the pod did not end as it should before the machine goes down',
        pod: podRef(pod),
        data: { graceSeconds },
        error,
      });
      return false;
    }
  };
  try {
    await withTimeout(clock, periodSeconds * 1000, signal, async (untilPeriodEnds) => {
      const ends = group.pods.map(
        (pod) =>
          new Promise<void>((resolve) => {
            tasks.start(`the end of pod ${pod.metadata.name}`, async (taskSignal) => {
              if (await endPod(pod, untilPeriodEnds, taskSignal)) left -= 1;
              resolve();
            });
          }),
      );
      await Promise.all(ends);
    });
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
  }
  timeline.record({
    kind: left === 0 ? 'effect' : 'problem',
    what: 'node.shutdown-group',
    message:
      left === 0
        ? `the pods of priority ${priority} and higher have ended`
        : `${left} pods of priority ${priority} and higher have not ended within ${periodSeconds}s`,
    durationMs: clock.monotonic() - startMs,
    data: { priority, periodSeconds, left },
  });
}
