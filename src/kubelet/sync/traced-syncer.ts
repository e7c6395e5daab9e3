/** The steps of pods as spans. */
import type { PodSyncer, SyncOutcome } from '../../pods/workers/index.js';
import { podRef } from '../../timeline/index.js';
import { type Attributes, podAttributes, type TracedPod, type Tracer, traced } from '../../tracing/index.js';

export function tracedSyncer(tracer: Tracer, syncer: PodSyncer): PodSyncer {
  const step = (
    name: string,
    pod: TracedPod,
    work: () => Promise<SyncOutcome>,
    more: Attributes = {},
  ): Promise<SyncOutcome> => {
    if (!tracer.isRecording) return work();
    return traced(tracer, { name, pod, attributes: { ...podAttributes(pod), ...more } }, async (span) => {
      const outcome = await work();
      if (outcome.kind === 'retry') {
        const { error } = outcome;
        span.fail(error instanceof Error ? error.message : String(error));
      }
      return outcome;
    });
  };
  return {
    syncPod: (request) =>
      step('syncPod', podRef(request.pod), () => syncer.syncPod(request), {
        'k8s.pod.update_type': request.type,
      }),
    syncTerminatingPod: (request) =>
      step('syncTerminatingPod', podRef(request.pod), () => syncer.syncTerminatingPod(request)),
    syncTerminatingRuntimePod: (pod) =>
      step('syncTerminatingRuntimePod', pod, () => syncer.syncTerminatingRuntimePod(pod)),
    syncTerminatedPod: (request) =>
      step('syncTerminatedPod', podRef(request.pod), () => syncer.syncTerminatedPod(request)),
  };
}
