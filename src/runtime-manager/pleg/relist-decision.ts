/** Whether a look at a pod lists what the runtime has of it, or reads what it is known to have. */
import type { ObservedPod } from '../../cri/index.js';
import type { PodParts } from './ports.js';

/**
 * own: the agent has done something to the pod, or something happened to what is known to be the pod's, so that
 * all the pod has is known; any: whatever the reason is, the runtime may have something that nobody knows.
 */
export type LookReason = 'own' | 'any';

export interface LookFacts {
  readonly reason: LookReason;
  /** Whether everything was looked at since the agent started. */
  readonly hasRelisted: boolean;
  /** As the last look showed it. */
  readonly known: ObservedPod | undefined;
  /** What the agent made since. */
  readonly created: PodParts;
}

export type LookDecision = { readonly kind: 'list' } | { readonly kind: 'read'; readonly parts: PodParts };

/** A list costs the runtime about as much as this many readings. */
const maxReadings = 6;

export function decideLook({ reason, hasRelisted, known, created }: LookFacts): LookDecision {
  if (reason !== 'own' || !hasRelisted) return { kind: 'list' };
  const sandboxIds = new Set(created.sandboxIds);
  for (const { id } of known?.sandboxes ?? []) sandboxIds.add(id);
  const containers = new Map(created.containers.map((container) => [container.id, container]));
  for (const { id, sandboxId } of known?.containers ?? []) containers.set(id, { id, sandboxId });
  // Only a sandbox tells whose it is, and a pod without one is about to go.
  if (sandboxIds.size === 0 || sandboxIds.size + containers.size > maxReadings) return { kind: 'list' };
  return { kind: 'read', parts: { sandboxIds: [...sandboxIds], containers: [...containers.values()] } };
}
