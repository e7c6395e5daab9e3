/** The node's own part of a measurement: the machine, its disks, and the cgroups that are reported by name. */
import { errorText } from '../../async/index.js';
import type { CpuRates } from './cpu-rates.js';
import { statsTime } from './cri-usage.js';
import type { MachineUsage } from './machine.js';
import type { NodeLook, StatsProviderOptions } from './provider.js';
import { runtimeFileSystems } from './runtime-file-systems.js';
import type { ContainerStatsSummary, MemoryStats, NodeStatsSummary } from './summary-types.js';

export function machineUsage({ machine }: Pick<StatsProviderOptions, 'machine'>): Promise<MachineUsage> {
  return failingAs('failed to get root cgroup stats', machine.usage());
}

export async function measureNode(
  options: StatsProviderOptions,
  rates: CpuRates,
  usage: MachineUsage,
  onlyCpuAndMemory: boolean,
): Promise<NodeLook> {
  const { clock, nodeName } = options;
  const { systemContainers, podsBytes } = await systemStats(options, rates, onlyCpuAndMemory);
  const node = nodeSummary(options, usage, {
    nodeName,
    systemContainers,
    rateNanoCores: rates.rate('/', usage.timestampNs, usage.usageCoreNanoSeconds) ?? 0,
    hugePagesBytes: (await options.hugePagesBytes?.()) ?? 0,
    onlyCpuAndMemory,
  });
  const memoryLimits = { nodeBytes: usage.memoryLimitBytes, podsBytes };
  if (onlyCpuAndMemory) return { node, memoryLimits };
  const { limits, ...rest } = await nodeRest(options);
  const rlimit = { time: statsTime(clock.now()), ...limits };
  return { node: { ...node, io: usage.io, ...rest, rlimit }, memoryLimits };
}

interface NodeFacts {
  readonly nodeName: string;
  readonly systemContainers: ContainerStatsSummary[];
  readonly rateNanoCores: number;
  readonly hugePagesBytes: number;
  readonly onlyCpuAndMemory: boolean;
}

function nodeSummary(
  { cgroups }: Pick<StatsProviderOptions, 'cgroups'>,
  usage: MachineUsage,
  { nodeName, systemContainers, rateNanoCores, hugePagesBytes, onlyCpuAndMemory }: NodeFacts,
): NodeStatsSummary {
  const startMs =
    onlyCpuAndMemory && cgroups !== undefined ? cgroups.sample('/').usage.createdAtMs : usage.bootTimeMs;
  return {
    nodeName,
    ...(systemContainers.length === 0 ? {} : { systemContainers }),
    startTime: statsTime(startMs),
    cpu: { ...usage.cpu, usageNanoCores: rateNanoCores },
    memory: withoutHugePages(usage.memory, hugePagesBytes),
    swap: usage.swap,
  };
}

/** Memory that is set aside as huge pages is not available for other use. */
export function withoutHugePages(memory: MemoryStats, hugePagesBytes: number): MemoryStats {
  if (memory.availableBytes === undefined) return memory;
  return { ...memory, availableBytes: Math.max(memory.availableBytes - hugePagesBytes, 0) };
}

async function nodeRest({ cri, machine, rootDir }: StatsProviderOptions) {
  const [network, limits, fs, { imageFs, containerFs }] = await Promise.all([
    failingAs('failed to get network stats', machine.network()),
    failingAs('failed to get rlimit stats', machine.limits()),
    failingAs('failed to get rootFs stats', machine.fileSystem(rootDir)),
    failingAs('failed to get imageFs stats', runtimeFileSystems(cri, machine)),
  ]);
  return { network, limits, fs, runtime: { imageFs, containerFs } };
}

async function systemStats(
  { machine, systemCgroups }: StatsProviderOptions,
  rates: CpuRates,
  onlyCpuAndMemory: boolean,
): Promise<{ systemContainers: ContainerStatsSummary[]; podsBytes: number | undefined }> {
  const told: ContainerStatsSummary[] = [];
  let podsBytes: number | undefined;
  for (const { name, cgroup, startedAtMs } of (await systemCgroups?.()) ?? []) {
    const usage = await machine.cgroup(cgroup).catch(() => undefined);
    if (usage === undefined) continue;
    if (name === 'pods') podsBytes = usage.memoryLimitBytes;
    const { createdAtMs, timestampNs, usageCoreNanoSeconds, cpu, memory, swap, io } = usage;
    told.push({
      name,
      startTime: statsTime(startedAtMs ?? createdAtMs),
      cpu: { ...cpu, usageNanoCores: rates.rate(cgroup, timestampNs, usageCoreNanoSeconds) ?? 0 },
      memory,
      swap,
      ...(onlyCpuAndMemory || io === undefined ? {} : { io }),
    });
  }
  return { systemContainers: told, podsBytes };
}

export async function failingAs<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${errorText(error)}`, { cause: error });
  }
}
