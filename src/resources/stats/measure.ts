/** One measurement of the node: lists pods, reads the machine and the cgroups, and puts the summary together. */
import { BoundedMap } from '../../async/index.js';
import { cgroupCandidates } from './cgroup-names.js';
import type { CgroupSampler } from './cgroup-sampler.js';
import { CpuRates } from './cpu-rates.js';
import { networkOf, statsTime } from './cri-usage.js';
import type { CgroupUsage, Machine } from './machine.js';
import { summaryInterface } from './machine-files.js';
import { failingAs, machineUsage, measureNode } from './measure-node.js';
import { layerFileSystems, podStorage } from './pod-storage.js';
import { type CgroupFigures, type PodFigures, podSummary } from './pod-summary.js';
import type { MeasuredNode, NodeLook, StatsProviderOptions } from './provider.js';
import { type ListedByRuntime, type MeasuredPod, measuredPods } from './stats-set.js';
import type { Summary } from './summary-types.js';
import { type WholePods, wholePods } from './whole-pods.js';

/** More than the containers of a node. */
const maxKnownCgroups = 4_096;

export interface Measurements {
  all(onlyCpuAndMemory: boolean): Promise<MeasuredNode>;
  /** How many figures of CPU had none before them to tell a rate from, so far. */
  readonly firstReadings: number;
  /** No pod is measured, and the runtime lists none. */
  node(): Promise<NodeLook>;
}

export function measurements(options: StatsProviderOptions): Measurements {
  const state: MeasureState = {
    rates: new CpuRates(options.clock),
    cgroups: new BoundedMap<string, string>({ maxEntries: maxKnownCgroups }),
    sandboxStats: wholePods(options),
  };
  return {
    all: (onlyCpuAndMemory) => measure(options, state, onlyCpuAndMemory),
    get firstReadings() {
      return state.rates.firstReadings;
    },
    node: async () => measureNode(options, state.rates, await machineUsage(options), false),
  };
}

interface MeasureState {
  readonly rates: CpuRates;
  /** Cgroups found earlier; containers do not move. */
  readonly cgroups: BoundedMap<string, string>;
  readonly sandboxStats: WholePods;
}

async function measure(
  options: StatsProviderOptions,
  state: MeasureState,
  onlyCpuAndMemory: boolean,
): Promise<MeasuredNode> {
  const { machine, clock } = options;
  const { rates } = state;
  const byRuntime = (await options.measuredBy?.()) === 'runtime';
  const [{ pods, cgroups, figures }, usage] = await Promise.all([
    byRuntime ? podsOfRuntime(options) : podsOfKernel(options, state),
    machineUsage(options),
  ]);
  const { node, memoryLimits } = await measureNode(options, rates, usage, onlyCpuAndMemory);
  rates.forgetOld();
  const rate = ratesOf(pods, rates);
  const shared = { pods, memoryLimits, cgroups };
  const none: PodFigures = { container: () => undefined };
  const nowMs = clock.now();
  // Only CPU and memory were asked for.
  if (node.fs === undefined) {
    const summaries = pods.map((pod) =>
      podSummary({ pod, nowMs, rate, storage: undefined, figures: figures.get(pod.sandbox.id) ?? none }),
    );
    return { ...shared, summary: { node, pods: summaries } };
  }
  const fileSystems = await layerFileSystems(pods, machine);
  const summaries: Summary['pods'] = [];
  for (const pod of pods) {
    const storage = await podStorage(options, pod, node.fs, fileSystems);
    const processes = await processesOf(machine, pod, cgroups);
    const podFigures = figures.get(pod.sandbox.id) ?? none;
    summaries.push(podSummary({ pod, nowMs, rate, storage, processes, figures: podFigures }));
  }
  return { ...shared, summary: { node, pods: summaries } };
}

interface SeenPods {
  readonly pods: readonly MeasuredPod[];
  readonly cgroups: ReadonlyMap<string, string>;
  /** What the kernel tells, by sandbox. */
  readonly figures: ReadonlyMap<string, PodFigures>;
}

async function podsOfKernel(options: StatsProviderOptions, state: MeasureState): Promise<SeenPods> {
  const listed = await failingAs('failed to list pod stats', list(options.cri));
  const found = measuredPods({ ...listed, sandboxStats: undefined });
  const cgroups = await cgroupsOf(options, state, found);
  const figures = new Map(
    found.map((pod) => [pod.sandbox.id, figuresOf(options, state.rates, pod, cgroups)]),
  );
  const isWhole = [...figures.values()].every(
    ({ pod, network }) => pod !== undefined && network !== undefined,
  );
  // The runtime measures what the kernel's files did not tell.
  const pods = isWhole ? found : measuredPods({ ...listed, sandboxStats: await state.sandboxStats() });
  return { pods, cgroups, figures };
}

/** All that the runtime says, and nothing else. */
async function podsOfRuntime({ cri }: StatsProviderOptions): Promise<SeenPods> {
  const [sandboxes, containers, sandboxStats] = await failingAs(
    'failed to list pod stats',
    Promise.all([cri.listPodSandbox({}), cri.listContainers({}), cri.listPodSandboxStats({})]),
  );
  const pods = measuredPods({
    sandboxes: sandboxes.items,
    containers: containers.containers,
    containerStats: sandboxStats.stats.flatMap(({ linux }) => linux?.containers ?? []),
    sandboxStats: sandboxStats.stats,
  });
  return { pods, cgroups: new Map(), figures: new Map() };
}

/** What the kernel's files tell of a pod, where its cgroups are known. */
function figuresOf(
  { cgroups: sampler, podsCgroup, clock }: StatsProviderOptions,
  rates: CpuRates,
  { uid, sandbox }: MeasuredPod,
  cgroups: ReadonlyMap<string, string>,
): PodFigures {
  if (sampler === undefined) return { container: () => undefined };
  const figures = (cgroup: string | undefined): CgroupFigures | undefined => {
    const usage = cgroup === undefined ? undefined : usageOrNone(sampler, cgroup);
    if (cgroup === undefined || usage === undefined) return undefined;
    const rateNanoCores = rates.rate(cgroup, usage.timestampNs, usage.usageCoreNanoSeconds);
    return { usage, rateNanoCores };
  };
  const own = cgroups.get(uid);
  const [pid] = cgroups.has(sandbox.id) ? sampler.pids(cgroups.get(sandbox.id) ?? '') : [];
  const interfaces = pid === undefined ? undefined : sampler.network(pid);
  const pod = figures(own);
  return {
    // Where all pods share one cgroup, it is no pod's.
    pod: own === podsCgroup ? undefined : pod,
    container: (id) => figures(cgroups.get(id)),
    network: interfaces && networkOf(statsTime(clock.now()), interfaces.map(summaryInterface)),
  };
}

function usageOrNone(sampler: CgroupSampler, cgroup: string): CgroupUsage | undefined {
  try {
    return sampler.sample(cgroup).usage;
  } catch {
    return undefined;
  }
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
  { machine, podCgroups }: StatsProviderOptions,
  { cgroups: known }: Pick<MeasureState, 'cgroups'>,
  pods: readonly MeasuredPod[],
): Promise<Map<string, string>> {
  const podCgroup = podCgroups?.();
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

async function list(cri: StatsProviderOptions['cri']): Promise<Omit<ListedByRuntime, 'sandboxStats'>> {
  const [sandboxes, containers, containerStats] = await Promise.all([
    cri.listPodSandbox({}),
    cri.listContainers({}),
    cri.listContainerStats({}),
  ]);
  return {
    sandboxes: sandboxes.items,
    containers: containers.containers,
    containerStats: containerStats.stats,
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
