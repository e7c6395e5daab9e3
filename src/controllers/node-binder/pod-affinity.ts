/** Whether a pod may share the only node with the pods that are there: affinity, anti-affinity and spreading. */
import type { LabelSelector, Node, Pod, PodAffinityTerm } from '../../kube/index.js';
import { selectorMatches } from '../../kube/index.js';

/** The labels of namespaces, for terms that select them. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

export interface AffinityInput {
  readonly pod: Pod;
  readonly node: Node;
  /** The pods of the node that have not ended. */
  readonly others: readonly Pod[];
  readonly namespaceLabels: NamespaceLabels;
}

/** Why the pod may not share the node, in the words of the reference's scheduler; empty when it may. */
export function affinityProblems(input: AffinityInput): string[] {
  const { pod, others } = input;
  const problems: string[] = [];
  const wanted = requiredTerms(pod, 'podAffinity');
  // The first pod of a group that wants to be together has nobody to be with.
  const isMet = (term: PodAffinityTerm): boolean =>
    hasTopology(input, term) &&
    (others.some((other) => matches(term, pod, other, input)) || isFirstOfGroup(wanted, input));
  if (!wanted.every(isMet)) problems.push("node(s) didn't match pod affinity rules");
  const refused = requiredTerms(pod, 'podAntiAffinity').filter((term) => hasTopology(input, term));
  if (refused.some((term) => others.some((other) => matches(term, pod, other, input))))
    problems.push("node(s) didn't match pod anti-affinity rules");
  const isRefusedBy = (other: Pod): boolean =>
    requiredTerms(other, 'podAntiAffinity').some(
      (term) => hasTopology(input, term) && matches(term, other, pod, input),
    );
  if (others.some(isRefusedBy)) problems.push("node(s) didn't satisfy existing pods anti-affinity rules");
  return [...problems, ...spreadProblems(input)];
}

/** With one domain the pods are always spread evenly, unless the pod asks for more domains than there are. */
function spreadProblems({ pod, node, others }: AffinityInput): string[] {
  for (const constraint of pod.spec.topologySpreadConstraints ?? []) {
    const {
      topologyKey,
      whenUnsatisfiable,
      labelSelector,
      minDomains = 1,
      maxSkew,
      matchLabelKeys = [],
    } = constraint;
    if (whenUnsatisfiable !== 'DoNotSchedule') continue;
    if (!Object.hasOwn(node.metadata.labels ?? {}, topologyKey))
      return ["node(s) didn't match pod topology spread constraints (missing required label)"];
    const selector = withLabelKeys(labelSelector, pod, matchLabelKeys, 'In');
    const alike = others.filter(
      (other) =>
        other.metadata.namespace === pod.metadata.namespace &&
        other.metadata.deletionTimestamp === undefined &&
        safelyMatches(selector, other),
    ).length;
    const self = safelyMatches(selector, pod) ? 1 : 0;
    const fewest = minDomains > 1 ? 0 : alike;
    if (alike + self - fewest > maxSkew) return ["node(s) didn't match pod topology spread constraints"];
  }
  return [];
}

function requiredTerms({ spec }: Pod, kind: 'podAffinity' | 'podAntiAffinity'): readonly PodAffinityTerm[] {
  return spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

function isFirstOfGroup(terms: readonly PodAffinityTerm[], input: AffinityInput): boolean {
  const { pod, others } = input;
  return (
    terms.every((term) => matches(term, pod, pod, input)) &&
    !others.some((other) => terms.every((term) => matches(term, pod, other, input)))
  );
}

/** A node without the label is in no domain. */
function hasTopology({ node }: AffinityInput, { topologyKey }: PodAffinityTerm): boolean {
  return Object.hasOwn(node.metadata.labels ?? {}, topologyKey);
}

/** Whether the term of `holder` selects `other`. */
function matches(
  term: PodAffinityTerm,
  holder: Pod,
  other: Pod,
  { namespaceLabels }: AffinityInput,
): boolean {
  const {
    namespaces = [],
    namespaceSelector,
    labelSelector,
    matchLabelKeys = [],
    mismatchLabelKeys = [],
  } = term;
  const { namespace } = other.metadata;
  const labels = namespaceLabels(namespace);
  const isNamed =
    namespaces.includes(namespace) ||
    (namespaceSelector !== undefined &&
      labels !== undefined &&
      safely(() => selectorMatches(namespaceSelector, labels))) ||
    (namespaces.length === 0 && namespaceSelector === undefined && namespace === holder.metadata.namespace);
  if (!isNamed) return false;
  const selector = withLabelKeys(
    withLabelKeys(labelSelector, holder, matchLabelKeys, 'In'),
    holder,
    mismatchLabelKeys,
    'NotIn',
  );
  return safelyMatches(selector, other);
}

/** The selector with the holder's own values of the keys. */
function withLabelKeys(
  selector: LabelSelector | undefined,
  { metadata }: Pod,
  keys: readonly string[],
  operator: 'In' | 'NotIn',
): LabelSelector | undefined {
  if (selector === undefined || keys.length === 0) return selector;
  const more = keys.flatMap((key) => {
    const value = metadata.labels?.[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] };
}

function safelyMatches(selector: LabelSelector | undefined, { metadata }: Pod): boolean {
  return safely(() => selectorMatches(selector, metadata.labels ?? {}));
}

/** A selector with an operator that does not exist matches nothing. */
function safely(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}
