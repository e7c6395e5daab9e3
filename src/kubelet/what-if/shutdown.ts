/** Tells in which order and with what grace a shutdown of the machine would end the pods. */
import type { Pod } from '../../kube/index.js';
import { podsByGroup, type ShutdownGroup, shutdownDelayMs, shutdownGraceSeconds } from '../../node/index.js';
import { bounded, type ShutdownOutlook, type ShutdownPodOutlook } from './contracts.js';
import { outlookPod } from './evict.js';

export interface ShutdownLook {
  /** By ascending priority; empty where a shutdown waits for nobody. */
  readonly groups: readonly ShutdownGroup[];
  /** Whether the machine can be made to wait. */
  readonly canDelay: boolean;
  readonly pods: readonly Pod[];
}

export function shutdownOutlook({ groups, canDelay, pods }: ShutdownLook): ShutdownOutlook {
  const off = whyOff(groups, canDelay);
  if (off !== undefined) return { off, delaySeconds: 0, groups: [] };
  return {
    delaySeconds: shutdownDelayMs(groups) / 1000,
    groups: podsByGroup(groups, pods).map((group) => ({
      priority: group.priority,
      periodSeconds: group.periodSeconds,
      pods: bounded(group.pods.map((pod) => podOutlook(group, pod))),
    })),
  };
}

function whyOff(groups: readonly ShutdownGroup[], canDelay: boolean): string | undefined {
  if (groups.length === 0) return 'the configuration sets no shutdownGracePeriod';
  return canDelay ? undefined : 'this machine has no logind that could be asked to wait';
}

function podOutlook(group: ShutdownGroup, pod: Pod): ShutdownPodOutlook {
  const graceSeconds = shutdownGraceSeconds(group, pod);
  const own = pod.spec.terminationGracePeriodSeconds;
  const priority = pod.spec.priority ?? 0;
  const given =
    own === undefined
      ? `it has no grace period of its own, so it gets the ${group.periodSeconds}s of its group`
      : own > graceSeconds
        ? `its own grace period of ${own}s is cut to the ${group.periodSeconds}s of its group`
        : `its own grace period`;
  const below =
    priority < group.priority ? '; no group reaches down to its priority, so it is in the lowest' : '';
  return { ...outlookPod(pod), priority, graceSeconds, because: `${given}${below}` };
}
