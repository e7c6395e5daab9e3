/** Ends pods of an API, and waits until they are gone from it: then nothing of them runs. */
import { type Clock, sleep } from '../../../async/index.js';
import type { KubeObject, ObjectMeta } from '../../../kube/index.js';
import { isNotFound, type KubeApi, type Resource, resources } from '../../../kube-client/index.js';
import type { PodRef } from '../../../timeline/index.js';

/** Their controllers first, or they would make the pods anew. */
const owners = [
  resources.cronJobs,
  resources.jobs,
  resources.deployments,
  resources.replicaSets,
  resources.statefulSets,
  resources.daemonSets,
];
const pollMs = 100;

export interface EndPodsContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Resolves when no pod is left. */
export async function endAllPods(context: EndPodsContext, graceSeconds?: number): Promise<void> {
  const { api } = context;
  for (const resource of owners) {
    const { items } = await api.list<KubeObject>(resource);
    for (const { metadata } of items) await remove(api, resource, metadata, undefined);
  }
  const { items } = await api.list(resources.pods);
  for (const { metadata } of items) await remove(api, resources.pods, metadata, graceSeconds);
  await untilGone(context, () => true);
}

/** Resolves when these pods are gone; a workload may have made others instead. */
export async function endPods(
  context: EndPodsContext,
  pods: readonly PodRef[],
  graceSeconds?: number,
): Promise<void> {
  for (const pod of pods) await remove(context.api, resources.pods, pod, graceSeconds);
  const uids = new Set(pods.map(({ uid }) => uid));
  await untilGone(context, (uid) => uids.has(uid));
}

async function remove(
  api: KubeApi,
  resource: Resource,
  { namespace, name = '', uid }: ObjectMeta,
  graceSeconds: number | undefined,
): Promise<void> {
  const options = {
    propagationPolicy: 'Background' as const,
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
  };
  const ref = namespace === undefined ? { name } : { name, namespace };
  await api.delete(resource, ref, options).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

async function untilGone(
  { api, clock, signal }: EndPodsContext,
  isMeant: (uid: string) => boolean,
): Promise<void> {
  for (;;) {
    const { items } = await api.list(resources.pods);
    if (!items.some(({ metadata }) => isMeant(metadata.uid))) return;
    await sleep(clock, pollMs, signal);
  }
}
