/** Tells the start latency of pods how long their images took: pulls are not the node's own time. */
import type { PodStartLatency } from '../../pods/status/api-sync-start-latency.js';
import type { Timeline } from '../../timeline/index.js';

/** Follows the timeline until the signal; the container stands for its image. */
export function followPulls(
  timeline: Pick<Timeline, 'subscribe'>,
  latency: Pick<PodStartLatency, 'pullStarted' | 'pullEnded'>,
  signal: AbortSignal,
): void {
  const unsubscribe = timeline.subscribe(({ pod, container = '', event }) => {
    if (pod === undefined || event === undefined) return;
    if (event.reason === 'Pulling') latency.pullStarted(pod.uid, container);
    else if (event.reason === 'Pulled' || event.reason === 'Failed') latency.pullEnded(pod.uid, container);
  });
  signal.addEventListener('abort', unsubscribe, { once: true });
}
