/** Serves the node's statistics: pods measured by the runtime and the machine measured by the kernel, in one summary. */
import path from 'node:path';
import { BoundedMap, type Clock, errorText } from '../../async/index.js';
import { type CriRuntime, isUnimplemented } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import { cgroupCandidates } from './cgroup-names.js';
import { CpuRates } from './cpu-rates.js';
import { statsTime } from './cri-usage.js';
import type { DirectoryUsage, Machine } from './machine.js';
import { type PodStorage, type PodVolumeUsage, podSummary } from './pod-summary.js';
import { runtimeFileSystems } from './runtime-file-systems.js';
import { type ListedByRuntime, type MeasuredPod, measuredPods } from './stats-set.js';
import type { ContainerStatsSummary, FsStats, NodeStatsSummary, Summary } from './summary-types.js';

export interface StatsProviderOptions {
  readonly cri: Pick<
    CriRuntime,
    'listPodSandbox' | 'listContainers' | 'listContainerStats' | 'listPodSandboxStats' | 'imageFsInfo'
  >;
  readonly machine: Machine;
  readonly clock: Clock;
  readonly nodeName: string;
  /** Its file system is the node's. */
  readonly rootDir: string;
  /** The parent of the pods' log directories; empty if there is none. */
  readonly podLogsDir: string;
  /** Cgroups to report by name besides the pods; unreadable ones are omitted. */
  readonly systemCgroups?: () => Promise<readonly SystemCgroup[]>;
  /** The cgroup of a pod; undefined if pods have none of their own. */
  readonly podCgroup?: (podUid: string) => string | undefined;
  /** The usage of a pod's volumes; undefined while unknown. */
  readonly volumesOf?: (podUid: string) => PodVolumeUsage | undefined;
  /** Records when the runtime stops or resumes measuring whole pods. */
  readonly timeline?: Pick<Timeline, 'record'>;
}

export interface SystemCgroup {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  /** Such as `/kubepods.slice`. */
  readonly cgroup: string;
  /** Replaces the creation time of the cgroup. */
  readonly startedAtMs?: number;
}

/** The summary and its inputs, for views that need more. */
export interface MeasuredNode {
  readonly summary: Summary;
  readonly pods: readonly MeasuredPod[];
  /** The known cgroups of pods, sandboxes and containers, by UID or id. */
  readonly cgroups: ReadonlyMap<string, string>;
  readonly memoryLimits: MemoryLimits;
}

/** How much memory there is; what is used beyond a limit does not show in what is available. */
export interface MemoryLimits {
  readonly nodeBytes: number | undefined;
  /** For all pods together; undefined for no limit. */
  readonly podsBytes: number | undefined;
}

export interface StatsProvider {
  /** Rejects if a part of the node's own statistics is unavailable. */
  summary(options?: { readonly onlyCpuAndMemory?: boolean }): Promise<Summary>;
  /** `fresh`: begun after the call, so that what was done before it shows. */
  measured(options?: {
    readonly onlyCpuAndMemory?: boolean;
    readonly fresh?: boolean;
  }): Promise<MeasuredNode>;
}

/** More than the containers of a node. */
const maxKnownCgroups = 4_096;

const nothing: DirectoryUsage = { usedBytes: 0, inodesUsed: 0 };

export function statsProvider(options: StatsProviderOptions): StatsProvider {
  const rates = new CpuRates(options.clock);
  const cgroups = new BoundedMap<string, string>({ maxEntries: maxKnownCgroups });
  const sandboxStats = wholePods(options);
  const underway = new Map<boolean, Promise<MeasuredNode>>();
  const begin = (onlyCpuAndMemory: boolean): Promise<MeasuredNode> =>
    measure({ ...options, cgroups }, rates, sandboxStats, onlyCpuAndMemory);
  /** Concurrent callers share one measurement. */
  const measured = (onlyCpuAndMemory: boolean): Promise<MeasuredNode> => {
    const known = underway.get(onlyCpuAndMemory);
    if (known !== undefined) return known;
    const reading = begin(onlyCpuAndMemory).finally(() => underway.delete(onlyCpuAndMemory));
    underway.set(onlyCpuAndMemory, reading);
    return reading;
  };
  return {
    summary: async ({ onlyCpuAndMemory = false } = {}) => (await measured(onlyCpuAndMemory)).summary,
    measured: ({ onlyCpuAndMemory = false, fresh = false } = {}) =>
      fresh ? begin(onlyCpuAndMemory) : measured(onlyCpuAndMemory),
  };
}

interface MeasureOptions extends StatsProviderOptions {
  /** Cgroups found earlier; containers do not move. */
  readonly cgroups: BoundedMap<string, string>;
}

async function measure(
  options: MeasureOptions,
  rates: CpuRates,
  sandboxStats: WholePods,
  onlyCpuAndMemory: boolean,
): Promise<MeasuredNode> {
  const { cri, machine, clock, nodeName, rootDir } = options;
  const [listed, usage] = await Promise.all([
    failingAs('failed to list pod stats', list(cri, sandboxStats)),
    failingAs('failed to get root cgroup stats', machine.usage()),
  ]);
  const pods = measuredPods(listed);
  const nodeRate = rates.rate('/', usage.timestampNs, usage.usageCoreNanoSeconds) ?? 0;
  const { systemContainers, podsBytes } = await systemStats(options, rates);
  const memoryLimits = { nodeBytes: usage.memoryLimitBytes, podsBytes };
  rates.forgetOld();
  const node: NodeStatsSummary = {
    nodeName,
    ...(systemContainers.length === 0 ? {} : { systemContainers }),
    startTime: statsTime(usage.bootTimeMs),
    cpu: { ...usage.cpu, usageNanoCores: nodeRate },
    memory: usage.memory,
    swap: usage.swap,
  };
  const rate = ratesOf(pods, rates);
  if (onlyCpuAndMemory) {
    const nowMs = clock.now();
    return {
      summary: { node, pods: pods.map((pod) => podSummary({ pod, nowMs, rate, storage: undefined })) },
      pods,
      cgroups: new Map(),
      memoryLimits,
    };
  }
  const [network, limits, nodeFs, runtimeFs] = await Promise.all([
    failingAs('failed to get network stats', machine.network()),
    failingAs('failed to get rlimit stats', machine.limits()),
    failingAs('failed to get rootFs stats', machine.fileSystem(rootDir)),
    failingAs('failed to get imageFs stats', runtimeFileSystems(cri, machine)),
  ]);
  const nowMs = clock.now();
  const fileSystems = await layerFileSystems(pods, machine);
  const cgroups = await cgroupsOf(options, pods);
  const summaries: Summary['pods'] = [];
  for (const pod of pods) {
    const storage = await podStorage(options, pod, nodeFs, fileSystems);
    const processes = await processesOf(machine, pod, cgroups);
    summaries.push(podSummary({ pod, nowMs, rate, storage, processes }));
  }
  return {
    summary: {
      node: {
        ...node,
        io: usage.io,
        network,
        fs: nodeFs,
        runtime: { imageFs: runtimeFs.imageFs, containerFs: runtimeFs.containerFs },
        rlimit: { time: statsTime(nowMs), ...limits },
      },
      pods: summaries,
    },
    pods,
    cgroups,
    memoryLimits,
  };
}

/** The processes of all containers, for runtimes that do not count them; undefined where no cgroup is known. */
async function processesOf(
  machine: Pick<Machine, 'processes'>,
  { stats, containers }: MeasuredPod,
  cgroups: ReadonlyMap<string, string>,
): Promise<number | undefined> {
  if (stats?.linux?.process?.processCount !== undefined) return undefined;
  let total: number | undefined;
  for (const { container } of containers) {
    const cgroup = cgroups.get(container.id);
    if (cgroup !== undefined) total = (total ?? 0) + (await machine.processes(cgroup));
  }
  return total;
}

async function cgroupsOf(
  { machine, podCgroup, cgroups: known }: MeasureOptions,
  pods: readonly MeasuredPod[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { uid, sandbox, containers } of pods) {
    const parent = podCgroup?.(uid);
    if (parent !== undefined) found.set(uid, parent);
    for (const id of [sandbox.id, ...containers.map(({ container }) => container.id)]) {
      const cgroup = known.get(id) ?? (await machine.firstCgroup(cgroupCandidates(parent, id)));
      if (cgroup === undefined) continue;
      known.set(id, cgroup);
      found.set(id, cgroup);
    }
  }
  return found;
}

async function systemStats(
  { machine, systemCgroups }: StatsProviderOptions,
  rates: CpuRates,
): Promise<{ systemContainers: ContainerStatsSummary[]; podsBytes: number | undefined }> {
  const told: ContainerStatsSummary[] = [];
  let podsBytes: number | undefined;
  for (const { name, cgroup, startedAtMs } of (await systemCgroups?.()) ?? []) {
    const usage = await machine.cgroup(cgroup).catch(() => undefined);
    if (usage === undefined) continue;
    if (name === 'pods') podsBytes = usage.memoryLimitBytes;
    const { createdAtMs, timestampNs, usageCoreNanoSeconds, cpu, memory, swap } = usage;
    told.push({
      name,
      startTime: statsTime(startedAtMs ?? createdAtMs),
      cpu: { ...cpu, usageNanoCores: rates.rate(cgroup, timestampNs, usageCoreNanoSeconds) ?? 0 },
      memory,
      swap,
    });
  }
  return { systemContainers: told, podsBytes };
}

async function failingAs<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${errorText(error)}`, { cause: error });
  }
}

type WholePods = () => Promise<ListedByRuntime['sandboxStats']>;

/**
 * The runtime's measurements of whole pods, if available: it may lack the call, and one unmeasurable sandbox
 * fails it for all. Then a pod is the sum of its containers.
 */
function wholePods({ cri, timeline }: StatsProviderOptions): WholePods {
  let last: string | undefined;
  const note = (problem: string | undefined): void => {
    if (problem === last) return;
    last = problem;
    timeline?.record({
      kind: 'notice',
      what: 'stats.pods',
      message:
        problem === undefined
          ? 'the runtime measures whole pods again'
          : 'pod statistics are the sums of their containers',
      ...(problem === undefined ? {} : { because: problem, level: 'warn' }),
    });
  };
  return async () => {
    try {
      const { stats } = await cri.listPodSandboxStats({});
      note(undefined);
      return stats;
    } catch (error) {
      note(isUnimplemented(error) ? undefined : withoutIds(errorText(error)));
      return undefined;
    }
  };
}

/** The sandbox in the message may differ each time. */
function withoutIds(message: string): string {
  return message.replace(/[0-9a-f]{64}/g, '…');
}

async function list(cri: StatsProviderOptions['cri'], wholePods: WholePods): Promise<ListedByRuntime> {
  const [sandboxes, containers, containerStats, sandboxStats] = await Promise.all([
    cri.listPodSandbox({}),
    cri.listContainers({}),
    cri.listContainerStats({}),
    wholePods(),
  ]);
  return {
    sandboxes: sandboxes.items,
    containers: containers.containers,
    containerStats: containerStats.stats,
    sandboxStats,
  };
}

function ratesOf(pods: readonly MeasuredPod[], rates: CpuRates): (id: string) => number | undefined {
  const found = new Map<string, number | undefined>();
  for (const { sandbox, stats, containers } of pods) {
    const usages = [
      { id: sandbox.id, cpu: stats?.linux?.cpu },
      ...containers.map(({ container, stats: { cpu } }) => ({ id: container.id, cpu })),
    ];
    for (const { id, cpu } of usages) {
      if (cpu?.usageCoreNanoSeconds === undefined) continue;
      found.set(id, rates.rate(id, cpu.timestamp, BigInt(cpu.usageCoreNanoSeconds.value)));
    }
  }
  return (id) => found.get(id);
}

/** Most containers share one mount point, so each is read once. */
async function layerFileSystems(
  pods: readonly MeasuredPod[],
  machine: Machine,
): Promise<ReadonlyMap<string, FsStats>> {
  const mountpoints = new Set(
    pods.flatMap(({ containers }) =>
      containers.flatMap(({ stats }) => stats.writableLayer?.fsId?.mountpoint ?? []),
    ),
  );
  const found = new Map<string, FsStats>();
  for (const mountpoint of mountpoints) {
    // A layer that this process cannot see keeps the runtime's numbers.
    const fs = await machine.fileSystem(mountpoint).catch(() => undefined);
    if (fs !== undefined) found.set(mountpoint, fs);
  }
  return found;
}

async function podStorage(
  { machine, rootDir, podLogsDir, volumesOf }: StatsProviderOptions,
  { namespace, name, uid, containers }: MeasuredPod,
  nodeFs: FsStats,
  fileSystems: ReadonlyMap<string, FsStats>,
): Promise<PodStorage> {
  const directory = path.join(podLogsDir, `${namespace}_${name}_${uid}`);
  const logs = new Map<string, DirectoryUsage>();
  let podLogs = nothing;
  if (podLogsDir !== '') {
    podLogs = await machine.filesIn(directory);
    for (const container of containers) {
      logs.set(container.name, await machine.filesIn(path.join(directory, container.name)));
    }
  }
  // A pod on the host's network has none.
  const hostsFile = await machine.tree(path.join(rootDir, 'pods', uid, 'etc-hosts')).catch(() => nothing);
  return {
    nodeFs,
    layerFs: (mountpoint) => fileSystems.get(mountpoint),
    containerLogs: (container) => logs.get(container) ?? nothing,
    podLogs,
    hostsFile,
    volumes: volumesOf?.(uid),
  };
}
