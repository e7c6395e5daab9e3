/** Whether a persistent volume may be used on this node, by the node affinity that it carries. */
import type { NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume } from '../../kube/index.js';

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What is wrong with using the volume here, or undefined. */
export function nodeAffinityProblem({ spec }: PersistentVolume, node: NodeIdentity): string | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || terms.some((term) => matchesTerm(term, node))) return undefined;
  return 'no matching NodeSelectorTerms';
}

/** All requirements of a term have to hold; a term without any matches nothing. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: NodeIdentity,
): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const fields: Readonly<Record<string, string>> = { 'metadata.name': node.name };
  return (
    matchExpressions.every((requirement) => holds(requirement, node.labels)) &&
    matchFields.every((requirement) => holds(requirement, fields))
  );
}

function holds(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt':
      return compares(operator, value, values);
    default:
      return false;
  }
}

function compares(
  operator: 'Gt' | 'Lt',
  value: string | undefined,
  [limit = '']: readonly string[],
): boolean {
  if (value === undefined || !/^-?\d+$/.test(value) || !/^-?\d+$/.test(limit)) return false;
  return operator === 'Gt' ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit);
}
