/** A pod whose new resources nobody has judged yet: its status must not tell that they were seen. */
import type { Pod } from '../../kube/index.js';

export interface Judgement {
  /** Whether the pod asks for something else than it was given. */
  readonly isResizeWanted: boolean;
  /** Whether its status tells why it does not get that yet. */
  readonly isRefusalTold: boolean;
  /** The generation that the pod's status is about so far. */
  readonly observedGeneration: number | undefined;
}

/**
 * Whoever asked for a resize takes a status of the new generation without a condition as its end, so the generation stays
 * behind until the resize is given or refused.
 */
export function withJudgedGeneration(
  given: Pod,
  { isResizeWanted, isRefusalTold, observedGeneration }: Judgement,
): Pod {
  if (!isResizeWanted || isRefusalTold || observedGeneration === undefined) return given;
  return { ...given, metadata: { ...given.metadata, generation: observedGeneration } };
}
