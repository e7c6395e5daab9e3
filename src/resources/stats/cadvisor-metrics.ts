/**
 * `/metrics/cadvisor`, as far as the runtime's own statistics go. What only a reader of cgroups could know is
 * omitted rather than guessed: user and system time, throttling, block devices, descriptors, limits, slices.
 */
import { expositionText, type Family, type Sample, timeMsOf } from './exposition.js';
import type { MeasuredNode } from './provider.js';
import type { CpuStats, IoStats, MemoryStats, NetworkStats, PsiStats, SwapStats } from './summary-types.js';

interface CadvisorSubject {
  readonly labels: Readonly<Record<string, string>>;
  readonly startMs: number | undefined;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly swap?: SwapStats | undefined;
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
}

export interface MachineShape {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly kernelVersion: string;
  readonly version: string;
}

/** Undefined if the statistics were unavailable. */
export function cadvisorMetricsText(
  measured: MeasuredNode | undefined,
  machine: MachineShape,
  nowMs: number,
): string {
  const failed = measured === undefined ? 1 : 0;
  return expositionText([
    ...(measured === undefined ? [] : containerFamilies(subjectsOf(measured), nowMs)),
    gauge('container_scrape_error', '1 if there was an error while getting container metrics, 0 otherwise', [
      { value: failed },
    ]),
    gauge('machine_scrape_error', '1 if there was an error while getting machine metrics, 0 otherwise.', [
      { value: 0 },
    ]),
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', [
      { labels: machineLabels, value: machine.cpuCores },
    ]),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', [
      { labels: machineLabels, value: machine.memoryBytes },
    ]),
    gauge(
      'cadvisor_version_info',
      'A metric with a constant 1 value labeled by kernel version and version.',
      [
        {
          labels: {
            cadvisorRevision: '',
            cadvisorVersion: machine.version,
            dockerVersion: '',
            kernelVersion: machine.kernelVersion,
            osVersion: '',
          },
          value: 1,
        },
      ],
    ),
  ]);
}

const machineLabels = { boot_id: '', machine_id: '', system_uuid: '' };

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples };
}

function subjectsOf({ summary, pods, cgroups }: MeasuredNode): CadvisorSubject[] {
  const { node } = summary;
  const none = { container: '', image: '', name: '', namespace: '', pod: '' };
  const subjects: CadvisorSubject[] = [
    { labels: { ...none, id: '/' }, startMs: timeMsOf(node.startTime), ...node },
  ];
  pods.forEach((pod, at) => {
    const told = summary.pods[at];
    if (told === undefined) return;
    const owner = { namespace: pod.namespace, pod: pod.name };
    subjects.push({
      labels: { ...none, ...owner, id: cgroups.get(pod.sandbox.id) ?? '', name: pod.sandbox.id },
      startMs: timeMsOf(told.startTime),
      network: told.network,
    });
    subjects.push({
      labels: { ...none, ...owner, id: cgroups.get(pod.uid) ?? '' },
      startMs: undefined,
      cpu: told.cpu,
      memory: told.memory,
      swap: told.swap,
      io: told.io,
    });
    pod.containers.forEach(({ container, name }, index) => {
      const stats = told.containers[index];
      if (stats === undefined) return;
      const image = container.image?.userSpecifiedImage || container.image?.image || container.imageRef;
      subjects.push({
        labels: { ...owner, container: name, image, name: container.id, id: cgroups.get(container.id) ?? '' },
        startMs: timeMsOf(stats.startTime),
        cpu: stats.cpu,
        memory: stats.memory,
        swap: stats.swap,
        io: stats.io,
      });
    });
  });
  return subjects;
}

function containerFamilies(subjects: readonly CadvisorSubject[], nowMs: number): Family[] {
  const family = (
    type: Family['type'],
    name: string,
    help: string,
    of: (subject: CadvisorSubject) => readonly Sample[],
  ): Family => ({ name, help, type, samples: subjects.flatMap(of) });
  const value = (
    { labels }: CadvisorSubject,
    stats: { readonly time: string | null } | undefined,
    number: number | undefined,
    more: Readonly<Record<string, string>> = {},
  ): Sample[] =>
    stats === undefined || number === undefined
      ? []
      : [{ labels: { ...labels, ...more }, value: number, timeMs: timeMsOf(stats.time) }];
  const network = (
    name: string,
    help: string,
    field: 'rxBytes' | 'rxErrors' | 'txBytes' | 'txErrors',
  ): Family =>
    family('counter', name, help, (subject) =>
      (subject.network?.interfaces ?? []).flatMap((stats) =>
        value(subject, subject.network, stats[field], { interface: stats.name }),
      ),
    );
  const stalls = (resource: 'cpu' | 'memory' | 'io', kind: 'waiting' | 'stalled'): Family =>
    family(
      'counter',
      `container_pressure_${resource}_${kind}_seconds_total`,
      `Total time duration ${kind === 'stalled' ? 'no' : 'some'} tasks in the container could make progress due to ${resource} congestion.`,
      (subject) => {
        const stats: { readonly time: string | null; readonly psi?: PsiStats } | undefined =
          subject[resource];
        const figures = kind === 'stalled' ? stats?.psi?.full : stats?.psi?.some;
        return value(subject, stats, figures === undefined ? undefined : figures.total / 1e6);
      },
    );
  return [
    family(
      'counter',
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed in seconds.',
      (subject) => {
        const used = subject.cpu?.usageCoreNanoSeconds ?? 0;
        return used === 0 ? [] : value(subject, subject.cpu, used / 1e9, { cpu: 'total' });
      },
    ),
    family(
      'gauge',
      'container_memory_usage_bytes',
      'Current memory usage in bytes, including all memory regardless of when it was accessed',
      (subject) => value(subject, subject.memory, subject.memory?.usageBytes),
    ),
    family('gauge', 'container_memory_working_set_bytes', 'Current working set in bytes.', (subject) =>
      value(subject, subject.memory, subject.memory?.workingSetBytes),
    ),
    family('gauge', 'container_memory_rss', 'Size of RSS in bytes.', (subject) =>
      value(subject, subject.memory, subject.memory?.rssBytes),
    ),
    family('gauge', 'container_memory_swap', 'Container swap usage in bytes.', (subject) =>
      value(subject, subject.swap, subject.swap?.swapUsageBytes),
    ),
    family(
      'counter',
      'container_memory_failures_total',
      'Cumulative count of memory allocation failures.',
      (subject) => [
        ...value(subject, subject.memory, subject.memory?.pageFaults, {
          failure_type: 'pgfault',
          scope: 'hierarchy',
        }),
        ...value(subject, subject.memory, subject.memory?.majorPageFaults, {
          failure_type: 'pgmajfault',
          scope: 'hierarchy',
        }),
      ],
    ),
    network('container_network_receive_bytes_total', 'Cumulative count of bytes received', 'rxBytes'),
    network(
      'container_network_receive_errors_total',
      'Cumulative count of errors encountered while receiving',
      'rxErrors',
    ),
    network('container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', 'txBytes'),
    network(
      'container_network_transmit_errors_total',
      'Cumulative count of errors encountered while transmitting',
      'txErrors',
    ),
    family(
      'gauge',
      'container_start_time_seconds',
      'Start time of the container since unix epoch in seconds.',
      ({ labels, startMs }) => (startMs === undefined ? [] : [{ labels, value: Math.floor(startMs / 1000) }]),
    ),
    family('gauge', 'container_last_seen', 'Last time a container was seen by the exporter', ({ labels }) => [
      { labels, value: Math.floor(nowMs / 1000), timeMs: nowMs },
    ]),
    ...(['cpu', 'memory', 'io'] as const).flatMap((resource) => [
      stalls(resource, 'waiting'),
      stalls(resource, 'stalled'),
    ]),
  ];
}
