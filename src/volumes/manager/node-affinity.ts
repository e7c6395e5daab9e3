/** Whether a persistent volume may be used on this node, by the node affinity that it carries. */
import { matchesNodeSelectorTerms, type NodeIdentity, type PersistentVolume } from '../../kube/index.js';

export type { NodeIdentity };

/** What is wrong with using the volume here, or undefined. */
export function nodeAffinityProblem({ spec }: PersistentVolume, node: NodeIdentity): string | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || matchesNodeSelectorTerms(terms, node)) return undefined;
  return 'no matching NodeSelectorTerms';
}
