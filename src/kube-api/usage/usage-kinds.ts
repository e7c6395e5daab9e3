/** The kinds of `metrics.k8s.io`: what nodes and pods use now. They are measured when asked for, and never stored. */
import type { KubeObject } from '../../kube/types/index.js';
import type { Resource } from '../../kube-client/resources.js';
import { type ServedKind, served } from '../kinds/served-kind.js';

interface MeasuredObject extends KubeObject {
  readonly timestamp: string;
  /** As Go writes durations: `15.062s`. */
  readonly window: string;
}

/** By the name of a resource, as quantities. */
type Usage = Readonly<Record<'cpu' | 'memory', string>>;

export interface NodeMetricsObject extends MeasuredObject {
  readonly usage: Usage;
}

export interface PodMetricsObject extends MeasuredObject {
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

const group = 'metrics.k8s.io';
const version = 'v1beta1';
const verbs = ['get', 'list'] as const;

export const nodeMetrics: Resource<NodeMetricsObject> = {
  group,
  version,
  kind: 'NodeMetrics',
  plural: 'nodes',
  namespaced: false,
};

export const podMetrics: Resource<PodMetricsObject> = {
  group,
  version,
  kind: 'PodMetrics',
  plural: 'pods',
  namespaced: true,
};

export const usageKinds: readonly ServedKind[] = [
  served({ resource: nodeMetrics, singular: '', subresources: [], verbs }),
  served({ resource: podMetrics, singular: '', subresources: [], verbs }),
];
