/** `/metrics/resource`: CPU and memory from the summary, for autoscalers and `kubectl top`. */

import type { MetricLabels } from '../../metrics/index.js';
import { expositionText, type Family, type Sample, timeMsOf } from './exposition.js';
import type {
  ContainerStatsSummary,
  CpuStats,
  MemoryStats,
  PodStatsSummary,
  Summary,
  SwapStats,
} from './summary-types.js';

/** Without a summary, only the scrape error is reported. `showHidden` adds what is only there for old dashboards. */
export function resourceMetricsText(summary: Summary | undefined, showHidden = false): string {
  const samples = [{ value: summary === undefined ? 1 : 0 }];
  const failed: Family[] = [
    {
      name: 'resource_scrape_error',
      help: '[STABLE] 1 if the statistics could not be read, 0 otherwise',
      type: 'gauge',
      samples,
    },
  ];
  if (showHidden) {
    const help = '[ALPHA] (Deprecated since 1.29.0) 1 if the statistics could not be read, 0 otherwise';
    failed.push({ name: 'scrape_error', help, type: 'gauge', samples });
  }
  return expositionText(summary === undefined ? failed : [...resourceFamilies(summary), ...failed]);
}

export function resourceFamilies({ node, pods }: Summary): Family[] {
  const perPod = pods.map((pod) => ({ pod, labels: podLabels(pod) }));
  const perContainer = pods.flatMap((pod) =>
    pod.containers.map((container) => ({
      container,
      labels: { container: container.name, ...podLabels(pod) },
    })),
  );
  const family = (name: string, type: Family['type'], help: string, samples: readonly Sample[]): Family => ({
    name,
    type,
    help: `[${name.includes('_swap_') ? 'ALPHA' : 'STABLE'}] ${help}`,
    samples,
  });
  return [
    family(
      'node_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the node in core-seconds',
      cpuSeconds(node.cpu, {}),
    ),
    family(
      'node_memory_working_set_bytes',
      'gauge',
      'Current working set of the node in bytes',
      workingSet(node.memory, {}),
    ),
    family(
      'node_swap_usage_bytes',
      'gauge',
      'Current swap usage of the node in bytes. Reported only on non-windows systems',
      swapUsage(node.swap, {}),
    ),
    family(
      'pod_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the pod in core-seconds',
      perPod.flatMap(({ pod, labels }) => cpuSeconds(pod.cpu, labels)),
    ),
    family(
      'pod_memory_working_set_bytes',
      'gauge',
      'Current working set of the pod in bytes',
      perPod.flatMap(({ pod, labels }) => workingSet(pod.memory, labels)),
    ),
    family(
      'pod_swap_usage_bytes',
      'gauge',
      'Current amount of the pod swap usage in bytes. Reported only on non-windows systems',
      perPod.flatMap(({ pod, labels }) => swapUsage(pod.swap, labels)),
    ),
    family(
      'container_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the container in core-seconds',
      perContainer.flatMap(({ container, labels }) => cpuSeconds(container.cpu, labels)),
    ),
    family(
      'container_memory_working_set_bytes',
      'gauge',
      'Current working set of the container in bytes',
      perContainer.flatMap(({ container, labels }) => workingSet(container.memory, labels)),
    ),
    family(
      'container_swap_usage_bytes',
      'gauge',
      'Current amount of the container swap usage in bytes. Reported only on non-windows systems',
      perContainer.flatMap(({ container, labels }) => swapUsage(container.swap, labels)),
    ),
    family(
      'container_swap_limit_bytes',
      'gauge',
      'Current amount of the container swap limit in bytes. Reported only on non-windows systems',
      perContainer.flatMap(({ container, labels }) => swapLimit(container.swap, labels)),
    ),
    family(
      'container_start_time_seconds',
      'gauge',
      'Start time of the container since unix epoch in seconds',
      perContainer.flatMap(({ container, labels }) => startTime(container, labels)),
    ),
  ];
}

function podLabels({ podRef: { name, namespace } }: PodStatsSummary): MetricLabels {
  return { namespace, pod: name };
}

function sample(value: number | undefined, time: string | null, labels: MetricLabels): Sample[] {
  return value === undefined ? [] : [{ labels, value, timeMs: timeMsOf(time) }];
}

function cpuSeconds(cpu: CpuStats | undefined, labels: MetricLabels): Sample[] {
  if (cpu?.usageCoreNanoSeconds === undefined) return [];
  return sample(cpu.usageCoreNanoSeconds / 1e9, cpu.time, labels);
}

function workingSet(memory: MemoryStats | undefined, labels: MetricLabels): Sample[] {
  return memory === undefined ? [] : sample(memory.workingSetBytes, memory.time, labels);
}

function swapUsage(swap: SwapStats | undefined, labels: MetricLabels): Sample[] {
  return swap === undefined ? [] : sample(swap.swapUsageBytes, swap.time, labels);
}

function swapLimit(swap: SwapStats | undefined, labels: MetricLabels): Sample[] {
  if (swap?.swapAvailableBytes === undefined || swap.swapUsageBytes === undefined) return [];
  return sample(swap.swapAvailableBytes + swap.swapUsageBytes, swap.time, labels);
}

function startTime({ startTime: time }: ContainerStatsSummary, labels: MetricLabels): Sample[] {
  const ms = timeMsOf(time) ?? 0;
  return ms <= 0 ? [] : [{ labels, value: ms / 1000 }];
}
