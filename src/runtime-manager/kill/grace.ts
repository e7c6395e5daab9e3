/** Decides a container's grace period. */
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { KillReason } from '../plan/pod-plan.js';

/** Every container gets at least this long to react to the stop signal. */
export const minimumGracePeriodSeconds = 2;

export interface GracePeriod {
  readonly seconds: number;
  /** Where the number comes from. */
  readonly from: 'override' | 'deletion' | 'probe' | 'pod' | 'minimum';
}

export interface GraceInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly reason: KillReason;
  readonly overrideSeconds?: number | undefined;
}

export function gracePeriod({ pod, container, reason, overrideSeconds }: GraceInput): GracePeriod {
  if (overrideSeconds !== undefined) return { seconds: overrideSeconds, from: 'override' };
  const deletionSeconds = pod.metadata.deletionGracePeriodSeconds;
  if (deletionSeconds !== undefined) return { seconds: deletionSeconds, from: 'deletion' };
  const podSeconds = pod.spec.terminationGracePeriodSeconds;
  if (podSeconds === undefined) return { seconds: minimumGracePeriodSeconds, from: 'minimum' };
  const probeSeconds = probeGraceSeconds(container, reason);
  return probeSeconds === undefined
    ? { seconds: podSeconds, from: 'pod' }
    : { seconds: probeSeconds, from: 'probe' };
}

function probeGraceSeconds(container: AnyContainer, reason: KillReason): number | undefined {
  if (reason === 'StartupProbe') return container.startupProbe?.terminationGracePeriodSeconds;
  if (reason === 'LivenessProbe') return container.livenessProbe?.terminationGracePeriodSeconds;
  return undefined;
}
