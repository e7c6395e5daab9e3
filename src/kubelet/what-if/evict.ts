/** Tells an eviction forecast as data for people and programs. */
import { formatDuration, type Pod, thresholdUnits } from '../../kube/index.js';
import {
  type EvictionForecast,
  type ForecastSignal,
  overLimitGraceSeconds,
  signalFacts,
} from '../../resources/eviction/index.js';
import { bounded, type EvictionOutlook, type OutlookPod, type SignalOutlook } from './contracts.js';

export function evictionOutlook(forecast: EvictionForecast, off: string | undefined): EvictionOutlook {
  const { conditions, signals, overLimits } = forecast;
  return {
    ...(off === undefined ? {} : { off }),
    next: off === undefined ? nextText(forecast) : 'Nothing is evicted.',
    conditions,
    overLimits: bounded(
      overLimits.map(({ pod, excess }) => ({
        ...outlookPod(pod),
        graceSeconds: overLimitGraceSeconds,
        because: excess.message.trim(),
      })),
    ),
    signals: signals.map(signalOutlook),
  };
}

export function outlookPod({ metadata: { namespace, name, uid } }: Pod): OutlookPod {
  return { namespace, name, uid };
}

function signalOutlook({ signal, reading, thresholds, reclaim, ranking }: ForecastSignal): SignalOutlook {
  const { unit } = signalFacts[signal];
  let place = 0;
  return {
    signal,
    unit,
    ...(reading === undefined ? {} : { available: reading.available, capacity: reading.capacity }),
    thresholds: thresholds.map(({ threshold, isMet }) => {
      return {
        kind: threshold.graceMs === 0 ? 'hard' : 'soft',
        value: thresholdUnits(threshold.value, reading?.capacity ?? 0),
        gracePeriod: formatDuration(threshold.graceMs),
        met: isMet,
      };
    }),
    reclaimFirst: reclaim,
    pods: bounded(
      ranking.map(({ pod, priority, usage, request, because, passedOver, graceSeconds }) => ({
        ...outlookPod(pod),
        priority,
        ...(usage === undefined ? {} : { usage }),
        request,
        ...(passedOver === undefined ? { place: ++place } : { passedOver }),
        graceSeconds,
        because,
      })),
    ),
  };
}

const freed = { containers: 'dead containers', images: 'unused images' } as const;

function nextText({ next, signals, overLimits }: EvictionForecast): string {
  switch (next.kind) {
    case 'nothing':
      return `The next pass does nothing: ${next.because}.`;
    case 'limits':
      return `The next pass ends ${overLimits.length === 1 ? 'the pod' : `the ${overLimits.length} pods`} beyond a limit of local storage.`;
    case 'signal': {
      const found = signals.find(({ signal }) => signal === next.signal);
      const first = found?.ranking.find(({ passedOver }) => passedOver === undefined)?.pod.metadata;
      const reclaim = found?.reclaim.map((step) => freed[step]).join(' and ') ?? '';
      const goes =
        first === undefined ? 'no pod may be evicted' : `${first.namespace}/${first.name} is evicted`;
      return `The next pass acts on ${next.signal}: ${reclaim === '' ? goes : `it removes ${reclaim}; if that is not enough, ${goes}`}.`;
    }
  }
}
