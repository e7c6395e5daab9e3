/** Decides whether a pod may run on the one node, and says what is missing when it may not. */
import { matchesNodeAffinity, type Node, type Pod, type Taint, toleratesTaint } from '../../kube/index.js';
import { insufficientResources, takenHostPorts } from './node-use.js';
import { affinityProblems, type NamespaceLabels } from './pod-affinity.js';
import { type VolumeObjects, volumeFit } from './volume-fit.js';

export const schedulerName = 'default-scheduler';
const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export type BindDecision =
  | { readonly kind: 'bind'; readonly nodeName: string }
  /** Somebody else's pod, or one that needs no node: it is left alone. */
  | { readonly kind: 'ignore' }
  /** No scheduler of that name exists here. */
  | { readonly kind: 'foreign'; readonly schedulerName: string }
  | { readonly kind: 'gated' }
  /** Claims wait to be told of the node. */
  | {
      readonly kind: 'select-node';
      readonly claims: readonly { readonly namespace: string; readonly name: string }[];
      readonly nodeName: string;
    }
  | { readonly kind: 'unschedulable'; readonly message: string };

export interface BindInput {
  readonly pod: Pod;
  /** Undefined until the node has registered. */
  readonly node: Node | undefined;
  readonly nodeName: string;
  /** The pods that are on the node and have not ended, without this one. */
  readonly others: readonly Pod[];
  readonly volumes: VolumeObjects;
  readonly namespaceLabels: NamespaceLabels;
}

export function decideBinding(input: BindInput): BindDecision {
  const { pod, node, nodeName } = input;
  const { spec, status, metadata } = pod;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (spec.nodeName || metadata.deletionTimestamp !== undefined || isOver) return { kind: 'ignore' };
  if ((spec.schedulerName || schedulerName) !== schedulerName)
    return { kind: 'foreign', schedulerName: spec.schedulerName ?? '' };
  if ((spec.schedulingGates ?? []).length > 0) return { kind: 'gated' };
  if (node === undefined)
    return {
      kind: 'unschedulable',
      message: `no nodes available to schedule pods: node "${nodeName}" has not registered`,
    };
  const problems = nodeProblems(pod, node, input);
  if (problems.length > 0)
    return {
      kind: 'unschedulable',
      message: `0/1 nodes are available: ${problems.map((one) => `1 ${one}`).join(', ')}.`,
    };
  const fit = volumeFit(pod, node, input.volumes);
  switch (fit.kind) {
    case 'fits':
      return { kind: 'bind', nodeName };
    case 'select-node':
      return {
        kind: 'select-node',
        nodeName,
        claims: fit.claims.map(({ metadata: { namespace = '', name = '' } }) => ({ namespace, name })),
      };
    case 'unfit':
      return { kind: 'unschedulable', message: `0/1 nodes are available: ${fit.problem}.` };
  }
}

function nodeProblems(pod: Pod, node: Node, { others, namespaceLabels }: BindInput): string[] {
  const problems: string[] = [];
  const tolerations = pod.spec.tolerations ?? [];
  if (node.spec?.unschedulable === true && !toleratesTaint(tolerations, unschedulableTaint))
    problems.push('node(s) were unschedulable');
  const taint = (node.spec?.taints ?? []).find(
    (one) => isKeepingOut(one) && !isUnschedulable(node, one) && !toleratesTaint(tolerations, one, true),
  );
  if (taint !== undefined)
    problems.push(`node(s) had untolerated taint(s) {${taint.key}: ${taint.value ?? ''}}`);
  const identity = { name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} };
  if (!matchesNodeAffinity(pod, identity))
    problems.push(`node(s) didn't match Pod's node affinity/selector${missingLabels(pod, node)}`);
  const ports = takenHostPorts(pod, others);
  if (ports.length > 0)
    problems.push(`node(s) didn't have free ports for the requested pod ports (taken: ${ports.join(', ')})`);
  problems.push(...affinityProblems({ pod, node, others, namespaceLabels }));
  for (const name of insufficientResources(pod, node, others))
    problems.push(name === 'pods' ? 'Too many pods' : `Insufficient ${name}`);
  if ((pod.spec.resourceClaims ?? []).length > 0)
    problems.push('node(s) cannot allocate resource claims: no allocator of resource.k8s.io runs here');
  return problems;
}

function isKeepingOut({ effect }: Taint): boolean {
  return effect === 'NoSchedule' || effect === 'NoExecute';
}

/** The field and its taint say the same: one of them is enough. */
function isUnschedulable(node: Node, { key }: Taint): boolean {
  return node.spec?.unschedulable === true && key === unschedulableTaint.key;
}

/** Names the labels of the node selector that the node lacks. */
function missingLabels({ spec }: Pod, { metadata }: Node): string {
  const labels = metadata.labels ?? {};
  const missing = Object.entries(spec.nodeSelector ?? {}).filter(
    ([key, value]) => !Object.hasOwn(labels, key) || labels[key] !== value,
  );
  return missing.length === 0
    ? ''
    : ` (the node lacks ${missing.map(([key, value]) => `${key}=${value}`).join(', ')})`;
}
