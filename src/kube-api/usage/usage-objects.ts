/** Measurements as objects of `metrics.k8s.io`: each has the name and the labels of what it is about. */
import type { KubeObject, Node, ObjectMeta, Pod } from '../../kube/types/index.js';
import { formatDuration, formatTimestamp } from '../../kube/values/go-format.js';
import { formatQuantity, quantityOf } from '../../kube/values/quantity.js';
import type { MeasuredUsage, NodeUsage } from './contracts.js';
import type { NodeMetricsObject, PodMetricsObject } from './usage-kinds.js';

/** The UID of a static pod, which its mirror in the API has not. */
const mirrorOf = 'kubernetes.io/config.mirror';

export function nodeMetricsOf(
  { metadata }: Node,
  nodeName: string,
  { node }: NodeUsage,
  nowMs: number,
): NodeMetricsObject | undefined {
  if (node === undefined || metadata.name !== nodeName) return undefined;
  return { metadata: metadataOf(metadata, nowMs), ...timesOf(node), usage: usageOf(node) };
}

export function podMetricsOf(
  { metadata }: Pod,
  { pods }: NodeUsage,
  nowMs: number,
): PodMetricsObject | undefined {
  const measured = pods.get(metadata.annotations?.[mirrorOf] ?? metadata.uid ?? '');
  const [first, ...others] = measured?.values() ?? [];
  if (measured === undefined || first === undefined) return undefined;
  const earliest = others.reduce((least, one) => (one.atMs < least.atMs ? one : least), first);
  const containers = [...measured].map(([name, usage]) => ({ name, usage: usageOf(usage) }));
  return { metadata: metadataOf(metadata, nowMs), ...timesOf(earliest), containers };
}

function metadataOf({ name = '', namespace, labels }: ObjectMeta, nowMs: number): KubeObject['metadata'] {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp: formatTimestamp(nowMs),
    ...(labels === undefined ? {} : { labels }),
  };
}

function timesOf({ atMs, windowMs }: MeasuredUsage): Pick<NodeMetricsObject, 'timestamp' | 'window'> {
  return { timestamp: formatTimestamp(atMs), window: formatDuration(windowMs) };
}

function usageOf({ cpuNanoCores, memoryBytes }: MeasuredUsage): NodeMetricsObject['usage'] {
  return {
    cpu: formatQuantity({ nanos: BigInt(cpuNanoCores), format: 'DecimalSI' }),
    memory: formatQuantity(quantityOf(memoryBytes, 'BinarySI')),
  };
}
