/** Makes room for a critical pod: ends the pods that were chosen, and waits until their containers have stopped. */
import { type Clock, isCancelled } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { applyKiller } from '../../pods/status/index.js';
import { killPodAndWait, type PodWorkers } from '../../pods/workers/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { KubeletMetrics } from '../metrics.js';
import { type Admission, refusedFor, type Shortage } from './admission.js';
import { choosePreempted, requirementsText } from './preemption.js';

export interface PreemptContext {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly workers: Pick<PodWorkers, 'update'>;
  readonly metrics: Pick<KubeletMetrics, 'preemptions'>;
  /** Whether a pod for which there is no room is refused for the shortage, instead of for the failed attempt. */
  readonly namesShortage: boolean;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Nobody else is admitted meanwhile, and a pod may ask for a grace period of days. One that takes longer goes on stopping
 * beside the critical pod.
 */
export const preemptionPatienceSeconds = 60;

const eventMessage = 'Preempted in order to admit critical pod';

/** What became of the attempt: the pods that were ended, or why there is no room. */
export type MadeRoom =
  | { readonly kind: 'room'; readonly ended: readonly Pod[] }
  | { readonly kind: 'refused'; readonly refusal: Admission };

export async function makeRoom(
  context: PreemptContext,
  preemptor: Pod,
  active: readonly Pod[],
  shortages: readonly Shortage[],
): Promise<MadeRoom> {
  const choice = choosePreempted(preemptor, active, shortages);
  if (choice.kind === 'impossible') {
    if (context.namesShortage) return { kind: 'refused', refusal: refusedFor(shortages) };
    const missing = requirementsText(choice.missing);
    const message = `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: ${missing}`;
    return { kind: 'refused', refusal: { admit: false, reason: 'UnexpectedAdmissionError', message } };
  }
  const [first] = shortages;
  // All at once: the critical pod waits for the slowest of them and not for the sum.
  await Promise.all(choice.pods.map((pod) => end(context, pod, preemptor, first?.resource ?? '')));
  return { kind: 'room', ended: choice.pods };
}

async function end(
  { clock, timeline, workers, metrics, signal }: Omit<PreemptContext, 'namesShortage'>,
  pod: Pod,
  preemptor: Pod,
  resource: string,
): Promise<void> {
  const by = `${preemptor.metadata.namespace}/${preemptor.metadata.name}`;
  timeline.record({
    kind: 'decision',
    what: 'pod.preempted',
    message: `the pod makes room for the critical pod ${by}`,
    because: `the node does not have enough ${resource} for both`,
    pod: podRef(pod),
    data: { by },
    level: 'warn',
  });
  timeline.event(podRef(pod), 'Warning', 'Preempting', eventMessage);
  try {
    await killPodAndWait({ clock, timeline, workers, signal }, pod, {
      evict: true,
      patienceSeconds: preemptionPatienceSeconds,
      statusOverride: (status) =>
        void Object.assign(status, applyKiller(pod, status, { by: 'preemption' }, clock.now())),
    });
    metrics.preemptions.inc({ preemption_signal: resource });
  } catch (error) {
    // Whoever stops the pod tells of a kill that takes too long, and goes on with it.
    if (isCancelled(error)) throw error;
  }
}
