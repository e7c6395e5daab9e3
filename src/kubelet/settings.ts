/** The settings of one kubelet: its options with every default filled in, and what is opened from them. */
import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { type Clock, systemClock } from '../async/index.js';
import {
  baselineConfiguration,
  type FeatureGates,
  type KubeletConfiguration,
  resolveFeatureGates,
} from '../config/index.js';
import { type CriRuntime, createCriMetrics, withCallRules } from '../cri/index.js';
import { type DurableFiles, type Host, linuxHost } from '../host/index.js';
import { type Node, pageSizeName } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { type ProbeNetwork, systemNetwork } from '../probes/index.js';
import {
  type MachineFacts,
  machineNodeFiles,
  type NodeFiles,
  readMachineFacts,
} from '../runtime-manager/config/index.js';
import type { PullSource } from '../runtime-manager/images/index.js';
import { type LogFiles, machineLogFiles } from '../runtime-manager/index.js';
import { criEvents, type RuntimeEventSource } from '../runtime-manager/pleg/index.js';
import { Timeline } from '../timeline/index.js';
import { forwardingTracer, type Tracer } from '../tracing/index.js';
import { createKubeletMetrics, type KubeletMetrics } from './metrics.js';
import { readStandaloneNode, type StandaloneNode } from './node/standalone-node.js';
import type { AddedSource, DeadContainerPolicy, KubeletOptions } from './options.js';
import { type Outside, plainOutside } from './outside.js';
import { recordedDurableFiles } from './start-up/durable-files.js';
import type { KubeletManagers } from './start-up/managers.js';

/**
 * Whatever builds a room takes a `Pick` of these, so that its signature tells what the room depends on. Calls of the
 * runtime go through `cri`, never through the option `runtime`.
 */
export interface KubeletSettings extends Omit<KubeletOptions, 'runtime' | 'runtimeEndsCalls'> {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly tracer: Tracer;
  readonly registry: Registry;
  readonly metrics: KubeletMetrics;
  readonly host: MachineFacts;
  readonly machine: Host;
  /** Whether the machine is the one that this runs on, so that its programs can work on its disks. */
  readonly isOwnMachine: boolean;
  /** What must be found again after a crash is written through this. */
  readonly durable: DurableFiles;
  /** Every call has its deadline, its answer is checked and it is counted; all end with the kubelet. */
  readonly cri: CriRuntime;
  readonly stopping: AbortController;
  readonly random: () => number;
  readonly outside: Outside;
  /** The files of this machine that pods get; runtimes use them, whatever `machine` is. */
  readonly nodeFiles: NodeFiles;
  /** The same for the logs of containers. */
  readonly logFiles: LogFiles;
  readonly podDirectories: boolean;
  /** Empty when pods have no directories: logs in the usual place belong to another agent of the machine then. */
  readonly podLogsDir: string;
  readonly eventSources: readonly ((cri: CriRuntime) => RuntimeEventSource)[];
  readonly pulls: (() => PullSource) | undefined;
  readonly sources: readonly AddedSource[];
  readonly startsAtOnce: number;
  readonly deadContainers: DeadContainerPolicy;
  readonly probeNetwork: ProbeNetwork;
  readonly node: () => Node | undefined;
  /** The node that is built here; undefined where others tell of it. */
  readonly standaloneNode: StandaloneNode | undefined;
  readonly managers: KubeletManagers;
}

/** A described machine has nothing that a kernel would have to be asked for. */
async function machineFacts(described: KubeletOptions['describedMachine']): Promise<MachineFacts> {
  if (described === undefined) return await readMachineFacts();
  return {
    memoryCapacityBytes: described.memoryBytes,
    swapCapacityBytes: described.swapBytes ?? 0,
    isSwapControllerAvailable: false,
    hugePageSizes: (described.hugePages ?? []).map(({ pageSizeBytes }) => pageSizeName(pageSizeBytes)),
    cgroupVersion: 2,
    isCpuQuotaAvailable: true,
    thermalThrottlePaths: [],
    isSelinuxEnabled: false,
    isAppArmorEnabled: false,
  };
}

/** Enough to keep the cores busy while some starts wait, few enough that pods finish one after another. */
export function defaultStartsAtOnce(): number {
  return availableParallelism() + 2;
}

export async function readSettings({
  runtime,
  runtimeEndsCalls = false,
  ...options
}: KubeletOptions): Promise<KubeletSettings> {
  const { nodeName, clock = systemClock, podDirectories = true } = options;
  const outside = options.outside ?? plainOutside(clock);
  const gates = options.gates ?? resolveFeatureGates({}).gates;
  const config: KubeletConfiguration = { ...baselineConfiguration(gates), ...options.config };
  const registry = options.registry ?? new Registry();
  const metrics = registry.once(createKubeletMetrics);
  metrics.nodeName.set(1, { node: nodeName });
  const stopping = new AbortController();
  // Each read of a record listens to it, and a node that starts reads those of all pods.
  setMaxListeners(0, stopping.signal);
  const cri = withCallRules(
    outside.port('runtime', () => runtime),
    {
      requestTimeoutMs: config.runtimeRequestTimeout,
      clock,
      metrics: registry.once(createCriMetrics),
      signal: stopping.signal,
      runtimeEndsCalls,
      listStreaming: gates.enabled('CRIListStreaming'),
    },
  );
  const timeline = options.timeline ?? new Timeline({ clock });
  const machine = outside.port('machine', () => options.machine ?? linuxHost());
  const standaloneNode =
    options.node === undefined
      ? await readStandaloneNode(
          {
            nodeName,
            rootDir: options.rootDir,
            config,
            gates,
            timeline,
            machine,
            describedMachine: options.describedMachine,
          },
          {
            ...options.standalone,
            ignoreEvictionReservation: options.eviction?.boundsAllocatable === false,
            hostIps: options.hostIps ?? options.nodeIps ?? [],
          },
        )
      : undefined;
  return {
    ...options,
    config,
    gates,
    clock,
    timeline,
    tracer: options.tracer ?? forwardingTracer(),
    registry,
    metrics,
    host:
      options.host ??
      (await outside
        .port('machine facts', () => ({ read: () => machineFacts(options.describedMachine) }))
        .read()),
    machine,
    isOwnMachine: options.machine === undefined,
    durable: recordedDurableFiles({
      files: machine.files,
      clock,
      timeline,
      nodeName,
      signal: stopping.signal,
    }),
    cri,
    stopping,
    random: options.random ?? Math.random,
    outside,
    nodeFiles: outside.port('node files', machineNodeFiles),
    logFiles: outside.port('log files', machineLogFiles),
    podDirectories,
    podLogsDir: podDirectories ? config.podLogsDir : '',
    eventSources: options.eventSources ?? [criEvents],
    pulls: options.pulls,
    sources: options.sources ?? [],
    startsAtOnce: options.startsAtOnce ?? defaultStartsAtOnce(),
    deadContainers: options.deadContainers ?? { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
    probeNetwork: outside.port('probe network', () => options.probeNetwork ?? systemNetwork),
    node: options.node ?? (() => standaloneNode?.known),
    standaloneNode,
    managers: options.managers ?? {},
  };
}
