/** Pods and their statistics for the tests of eviction. */
import { applyPodDefaults, type Container, type Pod, type PodSpec } from '../../kube/index.js';
import type { ContainerStatsSummary, PodStatsSummary, VolumeStats } from '../stats/index.js';

export const mi = 1024 ** 2;
export const gi = 1024 ** 3;

export interface EvictionTestPod {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly isStatic?: boolean;
  readonly spec?: Partial<PodSpec>;
}

export function testPod(
  name: string,
  { requests, limits, priority, isStatic, spec }: EvictionTestPod = {},
): Pod {
  const resources = { ...(requests && { requests }), ...(limits && { limits }) };
  const container: Container = { name: 'app', image: 'app:1', resources };
  const pod = applyPodDefaults({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [container], ...(priority === undefined ? {} : { priority }), ...spec },
  });
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      ...(isStatic ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {}),
    },
  };
}

export interface TestUsage {
  readonly memory?: number;
  readonly rootfs?: number;
  readonly logs?: number;
  readonly inodes?: number;
  readonly processes?: number;
  readonly ephemeral?: number;
  readonly volumes?: Readonly<Record<string, number>>;
  /** The name of the only container. */
  readonly container?: string;
}

const time = '2026-01-01T00:00:00Z';

export function testStats(name: string, usage: TestUsage): PodStatsSummary {
  const container: ContainerStatsSummary = {
    name: usage.container ?? 'app',
    startTime: time,
    memory: { time, workingSetBytes: usage.memory ?? 0 },
    rootfs: { time, usedBytes: usage.rootfs ?? 0, inodesUsed: usage.inodes ?? 0 },
    logs: { time, usedBytes: usage.logs ?? 0, inodesUsed: 0 },
  };
  const volume = Object.entries(usage.volumes ?? {}).map(
    ([volumeName, usedBytes]): VolumeStats => ({ name: volumeName, time, usedBytes, inodesUsed: 1 }),
  );
  return {
    podRef: { name, namespace: 'default', uid: `uid-${name}` },
    startTime: time,
    containers: [container],
    memory: { time, workingSetBytes: usage.memory ?? 0 },
    volume,
    ...(usage.processes === undefined ? {} : { process_stats: { process_count: usage.processes } }),
    'ephemeral-storage': { time, usedBytes: usage.ephemeral ?? 0 },
  };
}
