/** Decides whether to list a pod or to read what it is known to have. */
import type { ObservedPod } from '../../cri/index.js';
import type { PodParts } from './ports.js';

/**
 * own: the agent worked on the pod, or something known of the pod changed, so that all of it is known; any:
 * the runtime may have something of the pod that is unknown.
 */
export type PodRelistReason = 'own' | 'any';

export interface RelistFacts {
  readonly reason: PodRelistReason;
  /** Whether a relist of all pods has succeeded since the agent started. */
  readonly hasRelisted: boolean;
  /** As of the last relist. */
  readonly known: ObservedPod | undefined;
  /** What the agent created since. */
  readonly created: PodParts;
}

export type RelistDecision = { readonly kind: 'list' } | { readonly kind: 'read'; readonly parts: PodParts };

/** A list costs the runtime about as much as this many status calls. */
const maxReadings = 6;

export function decideRelist({ reason, hasRelisted, known, created }: RelistFacts): RelistDecision {
  if (reason !== 'own' || !hasRelisted) return { kind: 'list' };
  const sandboxIds = new Set(created.sandboxIds);
  for (const { id } of known?.sandboxes ?? []) sandboxIds.add(id);
  const containers = new Map(created.containers.map((container) => [container.id, container]));
  for (const { id, sandboxId } of known?.containers ?? []) containers.set(id, { id, sandboxId });
  // Only a sandbox names its pod, and a pod without one is about to go.
  if (sandboxIds.size === 0 || sandboxIds.size + containers.size > maxReadings) return { kind: 'list' };
  return { kind: 'read', parts: { sandboxIds: [...sandboxIds], containers: [...containers.values()] } };
}
