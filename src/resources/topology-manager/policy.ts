/** The policies of the topology manager: what each makes of hints, and whom it refuses. */
import type { MachineTopology } from '../machine-topology/machine-topology.js';
import type { ResourceHints, TopologyHint } from './hint-provider.js';
import { closerFirst, hintLists, mergeHints, narrowerFirst, singleNodeHints } from './merge-hints.js';
import { allNodes } from './numa-mask.js';
import { readTopologyPolicyOptions, TopologyConfigError } from './policy-options.js';

/** The policies that look at hints; `none` does not. */
export type AligningPolicyName = 'best-effort' | 'restricted' | 'single-numa-node';

export interface AligningPolicy {
  readonly name: AligningPolicyName;
  /** `answers` has what each provider said. */
  merge(answers: readonly (ResourceHints | undefined)[]): MergedHints;
}

export interface MergedHints {
  readonly hint: TopologyHint;
  readonly admit: boolean;
}

export interface AligningPolicySettings {
  readonly policy: AligningPolicyName;
  readonly options: Readonly<Record<string, string>>;
  readonly machine: Pick<MachineTopology, 'numaNodes'>;
}

/** Throws a `TopologyConfigError` for options that are wrong, or that this machine cannot serve. */
export function createAligningPolicy({ policy, options, machine }: AligningPolicySettings): AligningPolicy {
  const { preferClosest, maxNumaNodes } = readTopologyPolicyOptions(options);
  const { numaNodes } = machine;
  const nodeCount = numaNodes.length;
  const distances = numaNodes.map((node) => node.distances);
  if (preferClosest && distances.some((row) => row.length < nodeCount)) {
    throw new TopologyConfigError(
      'cannot discover NUMA topology: error getting NUMA distances from cadvisor',
    );
  }
  if (nodeCount > maxNumaNodes) {
    throw new TopologyConfigError(`unsupported on machines with more than ${maxNumaNodes} NUMA Nodes`);
  }
  const compare = preferClosest ? closerFirst(distances) : narrowerFirst;
  if (policy === 'single-numa-node') return singleNumaNode(nodeCount);
  return {
    name: policy,
    merge(answers) {
      const hint = mergeHints(hintLists(answers), { nodeCount, compare });
      return { hint, admit: policy === 'best-effort' || hint.preferred };
    },
  };
}

function singleNumaNode(nodeCount: number): AligningPolicy {
  return {
    name: 'single-numa-node',
    merge(answers) {
      const lists = singleNodeHints(hintLists(answers));
      const hint = mergeHints(lists, { nodeCount, compare: narrowerFirst });
      // All nodes say nothing about one node, except that nothing was asked for.
      const isAny = hint.mask === allNodes(nodeCount);
      return { hint: isAny ? { ...hint, mask: undefined } : hint, admit: hint.preferred };
    },
  };
}
