/** Says what eviction would do under each signal, by the same decisions as a pass; nothing is done. */
import { type EvictionSignal, type EvictionThreshold, evictionSignals, type Pod } from '../../kube/index.js';
import type { PodStatsSummary } from '../stats/index.js';
import { evictionGraceSeconds, immediateGraceSeconds } from './grace.js';
import type { FileSystemLayout } from './layout.js';
import { type LocalStorageExcess, localStorageExcess } from './local-storage.js';
import type { EvictionSettings } from './manager.js';
import { decidePass, type PassState } from './pass.js';
import { statsByUid } from './pod-usage.js';
import { type RankedPod, rankPods, whyPassedOver } from './ranking.js';
import { type NodeReclaim, reclaimFor } from './reclaim.js';
import { type NodeFigures, type PressureCondition, readSignals, type SignalReading } from './signals.js';
import { isMet } from './thresholds.js';

export interface ForecastThreshold {
  readonly threshold: EvictionThreshold;
  readonly isMet: boolean;
}

export interface ForecastPod extends RankedPod {
  /** Why the pod would be passed over; undefined for one that would go when its turn comes. */
  readonly passedOver: string | undefined;
  readonly graceSeconds: number;
}

export interface ForecastSignal {
  readonly signal: EvictionSignal;
  /** Undefined for a signal that cannot be read: its thresholds are never met. */
  readonly reading: SignalReading | undefined;
  readonly thresholds: readonly ForecastThreshold[];
  /** What the node would free before any pod has to go, in order. */
  readonly reclaim: readonly NodeReclaim[];
  readonly ranking: readonly ForecastPod[];
}

/** What the next pass would do. */
export type NextEviction =
  | { readonly kind: 'nothing'; readonly because: string }
  /** Ends all pods that use more local storage than they may. */
  | { readonly kind: 'limits' }
  | { readonly kind: 'signal'; readonly signal: EvictionSignal };

export interface EvictionForecast {
  readonly conditions: readonly PressureCondition[];
  readonly signals: readonly ForecastSignal[];
  readonly overLimits: readonly { readonly pod: Pod; readonly excess: LocalStorageExcess }[];
  readonly next: NextEviction;
}

export interface ForecastInput {
  readonly state: PassState;
  readonly settings: Omit<EvictionSettings, 'thresholds'>;
  /** As they follow from the file systems. */
  readonly thresholds: readonly EvictionThreshold[];
  readonly layout: FileSystemLayout;
  readonly figures: Omit<NodeFigures, 'nowMs'>;
  /** What each pod uses. */
  readonly stats: readonly PodStatsSummary[];
  readonly candidates: readonly Pod[];
  readonly isBeingEvicted: (uid: string) => boolean;
  readonly nowMs: number;
}

export function forecastEviction(input: ForecastInput): EvictionForecast {
  const { settings, thresholds, layout, figures, candidates: pods, isBeingEvicted, nowMs } = input;
  const readings = readSignals({ ...figures, nowMs });
  const statsOf = statsByUid(input.stats);
  const { conditions, met, act } = decidePass(
    // What was measured for the last pass counts here, too.
    { ...input.state, readings: undefined },
    { thresholds, readings, nowMs, transitionPeriodMs: settings.transitionPeriodMs },
  );
  const signals = evictionSignals
    .filter((signal) => thresholds.some((threshold) => threshold.signal === signal))
    .map((signal): ForecastSignal => {
      const own = thresholds.filter((threshold) => threshold.signal === signal);
      // The threshold that would act: one that is met, else the one with the least patience.
      const acting =
        own.find((threshold) => met.includes(threshold)) ??
        own.reduce((least, threshold) => (threshold.graceMs < least.graceMs ? threshold : least));
      return {
        signal,
        reading: readings.get(signal),
        thresholds: own.map((threshold) => ({
          threshold,
          isMet: met.includes(threshold) || isMet(threshold, readings),
        })),
        reclaim: reclaimFor(signal, layout),
        ranking: rankPods({ signal, layout, pods, statsOf }).map((ranked) => ({
          ...ranked,
          passedOver: whyPassedOver(ranked.pod, isBeingEvicted),
          graceSeconds: evictionGraceSeconds(acting, ranked.pod, settings.maxPodGraceSeconds),
        })),
      };
    });
  const overLimits = settings.limitsLocalStorage
    ? pods.flatMap((pod) => {
        const stats = isBeingEvicted(pod.metadata.uid) ? undefined : statsOf(pod.metadata.uid);
        const { resizesMemoryVolumes } = settings;
        const excess = stats && localStorageExcess(pod, stats, { ...layout, resizesMemoryVolumes });
        return excess === undefined ? [] : [{ pod, excess }];
      })
    : [];
  return { conditions, signals, overLimits, next: nextEviction(overLimits.length, act, met) };
}

/** How long a pod beyond its limits would be given to stop. */
export const overLimitGraceSeconds = immediateGraceSeconds;

function nextEviction(
  overLimits: number,
  act: readonly EvictionThreshold[],
  met: readonly EvictionThreshold[],
): NextEviction {
  if (overLimits > 0) return { kind: 'limits' };
  const [first] = act;
  if (first !== undefined) return { kind: 'signal', signal: first.signal };
  const [waiting] = met;
  return {
    kind: 'nothing',
    because:
      waiting === undefined
        ? 'no threshold is met'
        : `the soft threshold of ${waiting.signal} is met, but not yet for its grace period`,
  };
}
