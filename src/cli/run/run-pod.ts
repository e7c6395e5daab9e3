/** One pod of a run, and what it becomes when its manifest changes or it is to stop. */
import { configHashAnnotation, hashStaticPod, type Pod } from '../../kube/index.js';
import type { JobParallelism } from './workload-pods.js';

export interface RunPod {
  readonly pod: Pod;
  /** The place that it fills, such as `Deployment default/web 0`: another pod for it replaces this one. */
  readonly slot: string;
  readonly job?: JobParallelism | undefined;
}

/** A pod that the kubelet was told of, as the next process of the run must find it. */
export interface KeptPod extends RunPod {
  /** The manifests asked for it. */
  readonly isWanted: boolean;
}

/** The pod as it follows another one in its place: never with a UID that was used before. */
export function successor(pod: Pod, earlierUid: string): Pod {
  return withUid(pod, hashStaticPod([pod.metadata.uid, earlierUid], []));
}

/** The running pod with what its changed manifest says. */
export function updatedPod({ metadata, status }: Pod, next: Pod): Pod {
  const { metadata: wanted, ...rest } = withUid(next, metadata.uid);
  return {
    ...rest,
    metadata: { ...wanted, generation: (metadata.generation ?? 0) + 1 },
    ...(status === undefined ? {} : { status }),
  };
}

export function stoppingPod(pod: Pod, nowMs: number, graceSeconds: number | undefined): Pod {
  const { metadata, spec } = pod;
  const grace = graceSeconds ?? metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
  return {
    ...pod,
    metadata: {
      ...metadata,
      deletionTimestamp: metadata.deletionTimestamp ?? new Date(nowMs).toISOString(),
      deletionGracePeriodSeconds: grace ?? 30,
    },
  };
}

function withUid({ metadata, ...rest }: Pod, uid: string): Pod {
  return {
    ...rest,
    metadata: { ...metadata, uid, annotations: { ...metadata.annotations, [configHashAnnotation]: uid } },
  };
}
