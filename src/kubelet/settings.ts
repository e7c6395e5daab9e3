/** What every part of one kubelet is built from: its options, with all defaults filled in. */
import { type Clock, systemClock } from '../async/index.js';
import {
  baselineConfiguration,
  type FeatureGates,
  type KubeletConfiguration,
  resolveFeatureGates,
} from '../config/index.js';
import { abortableCri, type CriRuntime, checkedCri } from '../cri/index.js';
import { type DurableFiles, type Host, linuxHost } from '../host/index.js';
import { Registry } from '../metrics/index.js';
import { type HostFacts, readHostFacts } from '../runtime-manager/config/index.js';
import { Timeline } from '../timeline/index.js';
import { createMetrics, type KubeletMetrics } from './metrics/metrics.js';
import type { KubeletOptions } from './options.js';
import { recordedDurableFiles } from './start-up/durable-files.js';

export interface KubeletContext {
  readonly options: KubeletOptions;
  readonly nodeName: string;
  readonly rootDir: string;
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly metrics: KubeletMetrics;
  readonly host: HostFacts;
  /** Its files and mounts. */
  readonly machine: Host;
  /** What must be found again after a crash is written through this. */
  readonly durable: DurableFiles;
  /** Every call has its deadline, its answer is checked and it is counted; all end with the kubelet. */
  readonly cri: CriRuntime;
  readonly stopping: AbortController;
  readonly random: () => number;
  /** Whether pods have folders on this machine. */
  readonly podDirectories: boolean;
  /** Empty when pods have no folders: logs in the usual place belong to another agent of the machine then. */
  readonly podLogsDir: string;
  readonly containerLogsDir: string | undefined;
}

export async function readContext(options: KubeletOptions): Promise<KubeletContext> {
  const { nodeName, rootDir, clock = systemClock, podDirectories = true, containerLogsDir } = options;
  const gates = options.gates ?? resolveFeatureGates({}).gates;
  const config: KubeletConfiguration = { ...baselineConfiguration(gates), ...options.config };
  const registry = options.registry ?? new Registry();
  const metrics = options.metrics ?? createMetrics(registry, nodeName);
  const stopping = new AbortController();
  const checked = checkedCri(options.runtime, {
    requestTimeoutMs: config.runtimeRequestTimeout,
    clock,
    onCall: metrics.criCall,
  });
  const timeline = options.timeline ?? new Timeline({ clock });
  const machine = options.machine ?? linuxHost();
  return {
    options,
    nodeName,
    rootDir,
    config,
    gates,
    clock,
    timeline,
    registry,
    metrics,
    host: options.host ?? (await readHostFacts()),
    machine,
    durable: recordedDurableFiles({ files: machine.files, clock, timeline, nodeName }),
    cri: abortableCri(checked, stopping.signal),
    stopping,
    random: options.random ?? Math.random,
    podDirectories,
    podLogsDir: podDirectories ? config.podLogsDir : '',
    containerLogsDir,
  };
}
