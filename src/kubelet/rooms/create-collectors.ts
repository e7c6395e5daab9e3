/** Builds what cleans up: dead containers and sandboxes, logs that grow, images that nobody uses. */

import type { KubeletConfiguration } from '../../config/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { parseQuantity, quantityValue } from '../../kube/index.js';
import { WorkQueueWatch } from '../../metrics/index.js';
import { GarbageCollector } from '../../runtime-manager/gc/index.js';
import {
  createImageMetrics,
  ImageCollector,
  type ImageGcPolicy,
  type PullRecords,
  readUsage,
} from '../../runtime-manager/images/index.js';
import type { ContainerRemover, PodStates, RuntimeManager } from '../../runtime-manager/index.js';
import { LogRotator } from '../../runtime-manager/logs/index.js';
import type { KubeletSettings } from '../settings.js';

export interface Collectors {
  readonly garbage: GarbageCollector;
  readonly images: ImageCollector;
  readonly rotator: LogRotator;
}

export function createCollectors(
  settings: Pick<
    KubeletSettings,
    | 'config'
    | 'gates'
    | 'cri'
    | 'clock'
    | 'timeline'
    | 'tracer'
    | 'registry'
    | 'nodeName'
    | 'podLogsDir'
    | 'containerLogsDir'
    | 'deadContainers'
    | 'logFiles'
    | 'outside'
  >,
  {
    podStates,
    remover,
    runtime,
    onRemove,
    pullRecords,
    allSourcesReady,
    peek,
    mountedImages,
  }: {
    readonly podStates: PodStates;
    readonly remover: ContainerRemover;
    readonly runtime: Pick<RuntimeManager, 'killOrphan' | 'isBusy' | 'podsWait'>;
    readonly onRemove: (sandboxId: string) => void;
    readonly pullRecords?: PullRecords | undefined;
    readonly allSourcesReady: () => boolean;
    /** What was last seen of a pod, or why it could not be seen. */
    readonly peek: (podUid: string) => { readonly status: ObservedPodStatus } | { readonly error: Error };
    /** Images that are mounted as volumes; undefined while nobody knows. */
    readonly mountedImages: () => ReadonlySet<string> | undefined;
  },
): Collectors {
  const { config, cri, clock, timeline, tracer, registry, nodeName, podLogsDir, containerLogsDir } = settings;
  const { host } = settings.logFiles;
  return {
    garbage: new GarbageCollector({
      host,
      cri,
      clock,
      timeline,
      tracer,
      nodeName,
      policy: settings.deadContainers,
      podStates,
      remover,
      kill: (container) => runtime.killOrphan(container),
      allSourcesReady,
      isBusy: () => runtime.isBusy,
      podsWait: () => runtime.podsWait,
      onRemove,
      podLogsDir,
      containerLogsDir,
    }),
    images: new ImageCollector({
      usageOf: settings.outside.port('image disk', () => readUsage),
      cri,
      clock,
      timeline,
      tracer,
      nodeName,
      policy: imageGcPolicy(config),
      mountedImages,
      namesHandlers: settings.gates.enabled('RuntimeClassInImageCriApi'),
      metrics: registry.once(createImageMetrics),
      ...(pullRecords === undefined ? {} : { onFreed: (sinceMs, kept) => pullRecords.prune(sinceMs, kept) }),
    }),
    rotator: new LogRotator({
      host,
      cri,
      clock,
      timeline,
      maxSizeBytes: Number(quantityValue(parseQuantity(config.containerLogMaxSize))),
      maxFiles: config.containerLogMaxFiles,
      workers: config.containerLogMaxWorkers,
      periodMs: config.containerLogMonitorInterval,
      queue: new WorkQueueWatch(registry, 'kubelet_log_rotate_manager', () => clock.monotonic()),
      knownPath: (podUid, containerId) => {
        const known = peek(podUid);
        if (!('status' in known)) return undefined;
        return known.status.containers.find(({ id }) => id === containerId)?.logPath || undefined;
      },
    }),
  };
}

export function imageGcPolicy(config: KubeletConfiguration): ImageGcPolicy {
  return {
    highThresholdPercent: config.imageGCHighThresholdPercent,
    lowThresholdPercent: config.imageGCLowThresholdPercent,
    minAgeMs: config.imageMinimumGCAge,
    maxAgeMs: config.imageMaximumGCAge,
  };
}
