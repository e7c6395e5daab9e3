/** Checks whether a persistent volume's node affinity allows it on this node. */
import { matchesNodeSelectorTerms, type NodeIdentity, type PersistentVolume } from '../../kube/index.js';

export type { NodeIdentity };

/** Why the volume may not be used here, or undefined. */
export function nodeAffinityProblem({ spec }: PersistentVolume, node: NodeIdentity): string | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || matchesNodeSelectorTerms(terms, node)) return undefined;
  return 'no matching NodeSelectorTerms';
}
