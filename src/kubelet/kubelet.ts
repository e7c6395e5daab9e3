/** What a kubelet is for those who run it. */
import type { Clock } from '../async/index.js';
import type { KubeletConfiguration } from '../config/index.js';
import type { CriRuntime, ObservedPod } from '../cri/index.js';
import type { Pod, PodStatus } from '../kube/index.js';
import type { NativeBuckets, Registry } from '../metrics/index.js';
import type { Timeline } from '../timeline/index.js';
import type { VolumeFigures } from '../volumes/index.js';
import type { NodeDescription } from './describe-node/contracts.js';
import type { WhatIf } from './what-if/contracts.js';

export interface Kubelet {
  readonly nodeName: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly clock: Clock;
  /** The effective configuration. */
  readonly config: KubeletConfiguration;
  /** For requests about containers: what they print, and commands and streams in them. */
  readonly runtime: Pick<
    CriRuntime,
    'containerStatus' | 'execSync' | 'exec' | 'attach' | 'portForward' | 'checkpointContainer'
  >;
  /** Starts everything. Never rejects: it resolves only when a task that the kubelet cannot do without fails, with its error. */
  start(): Promise<Error>;
  /** Stops everything; containers keep running. */
  stop(): Promise<void>;
  /** The configured pods with their current statuses. */
  pods(): Pod[];
  /** The active pods as if they asked for what they were given. */
  allocatedPods(): readonly Pod[];
  status(uid: string): PodStatus | undefined;
  /** Calls back with each change of a pod's status; returns how to stop that. */
  onStatus(listener: (change: { readonly uid: string; readonly status: PodStatus }) => void): () => void;
  /** Calls back when a pod came, changed or went; returns how to stop that. */
  onPods(listener: () => void): () => void;
  /** Calls back with each pod that has ended and of which nothing is left to clean up; returns how to stop that. */
  onFinished(listener: (uid: string) => void): () => void;
  /** Where a volume of a pod lies on the machine; undefined while it is not mounted. */
  volumeDirectory(pod: Pod, volumeName: string): string | undefined;
  /** The name of the driver that serves a mounted volume; undefined if none does. */
  volumeDriver(pod: Pod, volumeName: string): string | undefined;
  /** How full a volume of a pod is, where its driver tells. */
  measureVolume(pod: Pod, volumeName: string, signal: AbortSignal): Promise<VolumeFigures | undefined>;
  runningPods(): Promise<readonly ObservedPod[]>;
  /** With all that a scrape waits for; `registry.text()` has the rest at once. */
  metricsText(): Promise<string>;
  /** The metrics of probes, of which there are some for each. */
  probeMetricsText(): string;
  /** Their histograms in narrow buckets, by series; none without the gate NativeHistograms. */
  probeHistograms(): ReadonlyMap<string, NativeBuckets>;
  /** Why no pod is synced now; empty when all is well. */
  blockers(): readonly string[];
  /** Tells what eviction, garbage collection and the like would do now; changes nothing. */
  readonly whatIf: WhatIf;
  /** Tells what the node has, what is reserved, who was given what, and what is free. */
  describeNode(): Promise<NodeDescription>;
  readonly healthChecks: readonly { readonly name: string; check(): string | undefined }[];
}
