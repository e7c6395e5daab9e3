/** The fields of the kinds of `metrics.k8s.io/v1beta1`. */

const measured = { metadata: 'ObjectMeta', timestamp: 'time!', window: 'string!' } as const;

export const metricsTables = {
  NodeMetrics: { apiVersion: 'string', kind: 'string', ...measured, usage: '{}quantity!' },
  PodMetrics: { apiVersion: 'string', kind: 'string', ...measured, containers: '[]ContainerMetrics!' },
  ContainerMetrics: { name: 'string!', usage: '{}quantity!' },
} as const;
