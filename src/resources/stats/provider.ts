/** Serves the node's statistics: pods measured by the runtime and the machine measured by the kernel, in one summary. */
import type { Clock } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type CadvisorPage, type CadvisorScrapeOptions, cadvisorScrape } from './cadvisor-scrape.js';
import type { CgroupSampler } from './cgroup-sampler.js';
import type { Machine } from './machine.js';
import { measurements } from './measure.js';
import type { MeasuredBy } from './measured-by.js';
import type { PodVolumeUsage } from './pod-summary.js';
import { type RuntimeScrapeOptions, runtimeScrape } from './runtime-metrics.js';
import type { MeasuredPod } from './stats-set.js';
import type { NodeStatsSummary, Summary } from './summary-types.js';

export interface StatsProviderOptions {
  readonly cri: Pick<
    CriRuntime,
    'listPodSandbox' | 'listContainers' | 'listContainerStats' | 'listPodSandboxStats' | 'imageFsInfo'
  > &
    Partial<Pick<CriRuntime, 'podSandboxStatus'>>;
  readonly machine: Machine;
  readonly clock: Clock;
  readonly nodeName: string;
  /** Its file system is the node's. */
  readonly rootDir: string;
  /** The parent of the pods' log directories; empty if there is none. */
  readonly podLogsDir: string;
  /** Cgroups to report by name besides the pods; unreadable ones are omitted. */
  readonly systemCgroups?: () => Promise<readonly SystemCgroup[]>;
  /** Reads cgroups; without it all figures of pods are the runtime's. */
  readonly cgroups?: CgroupSampler;
  /** Gives a lookup of pods' cgroups by UID, as the pods are now; undefined for a pod without one. */
  readonly podCgroups?: () => (podUid: string) => string | undefined;
  /** The cgroup of all pods. */
  readonly podsCgroup?: string | undefined;
  /** Memory that is set aside as huge pages. */
  readonly hugePagesBytes?: () => Promise<number>;
  /** What `/metrics/cadvisor` tells beside cgroups. */
  readonly scrape: Pick<CadvisorScrapeOptions, 'fileSystems' | 'disks' | 'machine' | 'version' | 'oomKills'>;
  /** Who measures pods. Default: the kernel, and the runtime where the kernel does not tell. */
  readonly measuredBy?: () => Promise<MeasuredBy>;
  /** The runtime's own metrics, shown where it measures pods. */
  readonly runtimeMetrics?: RuntimeScrapeOptions['cri'];
  /** The usage of a pod's volumes; undefined while unknown. */
  readonly volumesOf?: (podUid: string) => PodVolumeUsage | undefined;
  /** Waits between the first two readings of a summary; without it, what is read for the first time has the rate 0. */
  readonly betweenReadings?: () => Promise<void>;
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

/** The node without its pods. */
export interface NodeLook {
  readonly node: NodeStatsSummary;
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
  summary(options?: {
    readonly onlyCpuAndMemory?: boolean;
    /** Whether CPU rates are needed: what was never read is then read twice. Default: yes. */
    readonly rates?: boolean;
  }): Promise<Summary>;
  /** `fresh`: begun after the call, so that what was done before it shows. */
  measured(options?: {
    readonly onlyCpuAndMemory?: boolean;
    readonly fresh?: boolean;
  }): Promise<MeasuredNode>;
  /** The node alone, begun after the call: pods cost more than all the rest. */
  measuredNode(): Promise<NodeLook>;
  /** `/metrics/cadvisor`; never rejects: the page itself says what failed. */
  scrape(): Promise<CadvisorPage>;
}

export function statsProvider(options: StatsProviderOptions): StatsProvider {
  const measure = measurements(options);
  const underway = new Map<boolean, Promise<MeasuredNode>>();
  /** Concurrent callers share one measurement. */
  const measured = (onlyCpuAndMemory: boolean): Promise<MeasuredNode> => {
    const known = underway.get(onlyCpuAndMemory);
    if (known !== undefined) return known;
    const reading = measure.all(onlyCpuAndMemory).finally(() => underway.delete(onlyCpuAndMemory));
    underway.set(onlyCpuAndMemory, reading);
    return reading;
  };
  const { measuredBy = async () => 'kernel', runtimeMetrics, betweenReadings } = options;
  const ofKernel = cadvisorScrape({
    cri: options.cri,
    clock: options.clock,
    cgroups: options.cgroups,
    systemCgroups: async () => (await options.systemCgroups?.()) ?? [],
    podCgroups: options.podCgroups ?? (() => () => undefined),
    measured: () => measured(false),
    ...options.scrape,
  });
  const ofRuntime = runtimeMetrics && runtimeScrape({ cri: runtimeMetrics, machine: options.scrape.machine });
  const scrape = async (): Promise<CadvisorPage> =>
    ofRuntime !== undefined && (await measuredBy()) === 'runtime' ? ofRuntime() : ofKernel();
  let scraping: Promise<CadvisorPage> | undefined;
  return {
    async summary({ onlyCpuAndMemory = false, rates = true } = {}) {
      const { firstReadings } = measure;
      const { summary } = await measured(onlyCpuAndMemory);
      if (!rates || betweenReadings === undefined || measure.firstReadings === firstReadings) return summary;
      await betweenReadings();
      options.cgroups?.expire();
      return (await measured(onlyCpuAndMemory)).summary;
    },
    measured({ onlyCpuAndMemory = false, fresh = false } = {}) {
      if (!fresh) return measured(onlyCpuAndMemory);
      options.cgroups?.expire();
      return measure.all(onlyCpuAndMemory);
    },
    measuredNode() {
      options.cgroups?.expire();
      return measure.node();
    },
    scrape() {
      scraping ??= scrape().finally(() => {
        scraping = undefined;
      });
      return scraping;
    },
  };
}
