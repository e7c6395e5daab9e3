/** Decides what to change in an existing node object. */
import { clone, type Node, type ResourceList, semanticEqual } from '../../kube/index.js';
import { isExtendedResource, isHugePageResource } from '../status/resource-names.js';
import { attachDetachAnnotation } from './initial-node.js';

/** Labels that follow the machine; all others belong to the cluster once the node exists. */
const defaultLabels: readonly string[] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
];

export interface ReconcileInput {
  readonly existing: Node;
  readonly built: Node;
  /** Whether devices of earlier runs are unknown and must not be counted. */
  readonly resetExtendedResources: boolean;
}

export interface ReconciledNode {
  readonly node: Node;
  /** Descriptions; empty if the node needs no change. */
  readonly changes: readonly string[];
}

export function reconcileNode({ existing, built, resetExtendedResources }: ReconcileInput): ReconciledNode {
  const node = clone(existing);
  const steps: readonly (readonly [what: string, change: () => void])[] = [
    ['the attach-detach annotation', () => reconcileAnnotation(node, built)],
    ['default labels', () => reconcileLabels(node, built)],
    ['missing resources', () => fillResources(node, built)],
    [
      'extended resources without a known device',
      () => (resetExtendedResources ? zeroExtendedResources(node) : undefined),
    ],
    ['huge pages', () => reconcileHugePages(node, built)],
  ];
  const changes: string[] = [];
  for (const [what, change] of steps) {
    const before = clone(node);
    change();
    if (!semanticEqual(before, node)) changes.push(what);
  }
  return { node, changes };
}

function reconcileAnnotation(node: Node, built: Node): void {
  const wanted = built.metadata.annotations?.[attachDetachAnnotation];
  const annotations = { ...node.metadata.annotations };
  if (wanted === undefined) delete annotations[attachDetachAnnotation];
  else annotations[attachDetachAnnotation] = wanted;
  node.metadata.annotations = annotations;
}

function reconcileLabels(node: Node, built: Node): void {
  const labels = { ...node.metadata.labels };
  for (const key of defaultLabels) {
    const wanted = built.metadata.labels?.[key];
    if (wanted === undefined) continue;
    if (wanted === '') delete labels[key];
    else labels[key] = wanted;
  }
  node.metadata.labels = labels;
}

function fillResources(node: Node, built: Node): void {
  node.status ??= {};
  node.status.capacity ??= { ...built.status?.capacity };
  node.status.allocatable ??= { ...built.status?.allocatable };
}

function zeroExtendedResources(node: Node): void {
  const { capacity, allocatable } = node.status ?? {};
  for (const resource of Object.keys(capacity ?? {}).filter(isExtendedResource)) {
    if (capacity !== undefined) capacity[resource] = '0';
    if (allocatable !== undefined) allocatable[resource] = '0';
  }
}

function reconcileHugePages(node: Node, built: Node): void {
  const { capacity = {}, allocatable = {} } = node.status ?? {};
  const wanted = built.status?.capacity ?? {};
  for (const list of [capacity, allocatable]) {
    for (const resource of Object.keys(list)) {
      if (isHugePageResource(resource) && wanted[resource] === undefined) delete list[resource];
    }
  }
  copyHugePages(wanted, capacity);
  copyHugePages(built.status?.allocatable ?? {}, allocatable);
}

function copyHugePages(from: ResourceList, to: ResourceList): void {
  for (const [resource, amount] of Object.entries(from))
    if (isHugePageResource(resource)) to[resource] = amount;
}
