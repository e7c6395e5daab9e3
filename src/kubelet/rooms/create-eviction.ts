/** Builds eviction: gives it the node's figures, what the node can free by itself, and the pods. */
import type { TaskGroup } from '../../async/index.js';
import type { KubeletConfiguration } from '../../config/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { type Pod, readEvictionThresholds } from '../../kube/index.js';
import { applyKiller } from '../../pods/status/index.js';
import { killPodAndWait, nothingRuns, type PodWorkers } from '../../pods/workers/index.js';
import {
  createEvictionMetrics,
  type EvictionForecast,
  EvictionManager,
  type EvictionSettings,
  withAllocatableMemory,
} from '../../resources/eviction/index.js';
import type { PressureNow } from '../admission/pressure.js';
import type { Link } from '../link.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';
import type { Collectors } from './create-collectors.js';

export interface NodeEviction extends PressureNow {
  readonly start: StartManager | undefined;
  /** Why no pod is ever evicted; undefined where pods are. */
  readonly off: string | undefined;
  /** What eviction would do now, with the given configuration or its own; undefined where nobody sees the node. */
  readonly forecast: ((config?: EvictionConfig) => Promise<EvictionForecast>) | undefined;
}

/** What eviction takes from the configuration. */
export type EvictionConfig = Pick<
  KubeletConfiguration,
  | 'evictionHard'
  | 'evictionSoft'
  | 'evictionSoftGracePeriod'
  | 'evictionMinimumReclaim'
  | 'enforceNodeAllocatable'
  | 'evictionPressureTransitionPeriod'
  | 'evictionMaxPodGracePeriod'
  | 'localStorageCapacityIsolation'
  | 'kernelMemcgNotification'
>;

const noStatistics = 'pods are not evicted in a run';
const notAsked =
  'without a cluster pods are evicted only when the configuration names thresholds, such as evictionHard';

/** Throws for thresholds that cannot be read. */
export function createEviction(
  settings: Pick<
    KubeletSettings,
    'config' | 'gates' | 'clock' | 'timeline' | 'nodeName' | 'registry' | 'eviction'
  >,
  {
    workers,
    collectors,
    activePods,
    peek,
  }: {
    readonly workers: Link<Pick<PodWorkers, 'update' | 'stateOf'>>;
    readonly collectors: Pick<Collectors, 'garbage' | 'images'>;
    readonly activePods: () => readonly Pod[];
    /** What was last seen of a pod, or why it could not be seen. */
    readonly peek: (uid: string) => { readonly status: ObservedPodStatus } | { readonly error: Error };
  },
): NodeEviction {
  const { config, clock, timeline, nodeName, registry, eviction } = settings;
  const resizesMemoryVolumes = settings.gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes');
  const separatesDisks = settings.gates.enabled('KubeletSeparateDiskGC');
  const settingsOf = (from: EvictionConfig): EvictionSettings => ({
    ...evictionSettings(from, eviction?.boundsAllocatable ?? true),
    resizesMemoryVolumes,
    separatesDisks,
  });
  const own = settingsOf(config);
  const runsHere = (uid: string): boolean => {
    const seen = peek(uid);
    return 'status' in seen && !nothingRuns(seen.status);
  };
  if (eviction === undefined) {
    return { start: undefined, off: noStatistics, forecast: undefined, conditions: () => [], runsHere };
  }
  const manager = new EvictionManager({
    clock,
    timeline,
    nodeName,
    settings: own,
    stats: eviction.stats,
    metrics: createEvictionMetrics(registry),
    pods: {
      active: activePods,
      isFinished: (uid) => (workers.target.stateOf(uid)?.kind ?? 'finished') === 'finished',
      kill: (pod, { graceSeconds, message, isDisruption }, signal) =>
        killPodAndWait({ clock, timeline, workers: workers.target, signal }, pod, {
          evict: true,
          graceOverrideSeconds: graceSeconds,
          statusOverride: (status) => {
            const by = isDisruption ? 'eviction' : 'localStorage';
            Object.assign(status, applyKiller(pod, status, { by, message }, clock.now()));
          },
        }),
    },
    reclaim: {
      containers: () => collectors.garbage.deleteUnused(),
      images: async () => void (await collectors.images.deleteUnused()),
    },
  });
  const evicts = eviction.evicts ?? true;
  return {
    start: evicts
      ? async (tasks: TaskGroup) => tasks.start('eviction', (signal) => manager.run(signal))
      : undefined,
    off: evicts ? undefined : notAsked,
    forecast: (other) => manager.forecast(other === undefined ? own : settingsOf(other)),
    conditions: () => manager.conditions,
    runsHere,
  };
}

/** Throws for thresholds that cannot be read. */
export function evictionSettings(config: EvictionConfig, boundsAllocatable: boolean): EvictionSettings {
  const { thresholds, problems } = readEvictionThresholds(config);
  const [problem] = problems;
  if (problem !== undefined) throw new Error(`${problem.field}: ${problem.text}`);
  const bounds = boundsAllocatable && config.enforceNodeAllocatable.includes('pods');
  return {
    thresholds: bounds ? withAllocatableMemory(thresholds) : thresholds,
    transitionPeriodMs: config.evictionPressureTransitionPeriod,
    maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
    limitsLocalStorage: config.localStorageCapacityIsolation,
    watchesMemory: config.kernelMemcgNotification,
  };
}
