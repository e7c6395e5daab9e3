/** Matches a node against selectors and tolerations. */
import type { Taint } from '../types/node.js';
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod, Toleration } from '../types/pod.js';

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** One term is enough. */
export function matchesNodeSelectorTerms(terms: readonly NodeSelectorTerm[], node: NodeIdentity): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** Whether the node matches the pod's node selector and its required node affinity, where given. */
export function matchesNodeAffinity({ spec }: Pod, node: NodeIdentity): boolean {
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(node.labels, key) || node.labels[key] !== value) return false;
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms, node);
}

export function toleratesTaint(
  tolerations: readonly Toleration[],
  taint: Taint,
  comparesNumbers = false,
): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    if (operator === 'Exists') return true;
    if (operator === 'Lt' || operator === 'Gt')
      return comparesNumbers && compares(operator, taint.value, [value], decimalInteger);
    // Without a key only "Exists" matches every taint.
    return key !== '' && operator === 'Equal' && value === (taint.value ?? '');
  });
}

/** All requirements of a term must hold; an empty term matches nothing. */
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

/** No longer than a 64-bit integer may be. */
const wholeNumber = /^-?\d{1,19}$/;
/** As tolerations want it: without leading zeros. */
const decimalInteger = /^(?:0|-?[1-9]\d{0,18})$/;

function compares(
  operator: 'Gt' | 'Lt',
  value: string | undefined,
  [limit = '']: readonly string[],
  form = wholeNumber,
): boolean {
  if (value === undefined || !form.test(value) || !form.test(limit)) return false;
  return operator === 'Gt' ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit);
}
