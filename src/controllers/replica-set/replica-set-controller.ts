/** Keeps the number of pods of each ReplicaSet. */
import { errorText } from '../../async/index.js';
import type { Pod, ReplicaSet } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOfKey } from '../driver/kind-cache.js';
import { claimObjects } from '../ownership/claim-objects.js';
import { controllerOf, isEmptySelector, selects } from '../ownership/owner-references.js';
import { inGrowingBatches, PodControl, type PodOwner } from '../pods/pod-control.js';
import { isActive, isFinished, untilAvailableMs } from '../pods/pod-facts.js';
import { podFromTemplate } from '../pods/pod-template.js';
import { decideReplicas, isStatusNew, type ReplicaFailure, replicaSetStatus } from './decide.js';

const component = 'replicaset-controller';
const resource = resources.replicaSets;

export function createReplicaSetController(context: ControllerContext): Controller {
  const { api, clock, caches, events } = context;
  const sets = caches.of(resource);
  const pods = caches.of(resources.pods);
  const control = new PodControl(context);

  const queue = queueOf(context, { name: 'ReplicaSet', keys: resource, sync });
  pods.onChange(({ before, after }) => {
    for (const pod of [before, after]) if (pod !== undefined) wakeOwners(pod);
  });

  function wakeOwners(pod: Pod): void {
    const owner = controllerOf(pod);
    const { namespace } = pod.metadata;
    if (owner !== undefined) {
      if (owner.kind === resource.kind) queue.add(keyOf({ namespace, name: owner.name }));
      return;
    }
    for (const set of sets.inNamespace(namespace)) {
      if (selects(set.spec.selector, pod)) queue.add(keyOfObject(set));
    }
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const replicaSet = sets.get(refOfKey(key));
    if (replicaSet === undefined) {
      control.expectations.forget(key);
      return {};
    }
    const owner: PodOwner = { component, resource, object: replicaSet, key };
    if (isEmptySelector(replicaSet.spec.selector)) {
      const message = 'This ReplicaSet is selecting all pods. A non-empty selector is required.';
      events.record({
        component,
        resource,
        object: replicaSet,
        type: 'Warning',
        reason: 'SelectingAll',
        message,
      });
      return {};
    }
    const isSettled = control.expectations.isMet(key, clock.now());
    const claimed = await claimObjects({
      api,
      ownerResource: resource,
      owner: replicaSet,
      selector: replicaSet.spec.selector,
      resource: resources.pods,
      objects: pods.inNamespace(replicaSet.metadata.namespace ?? ''),
      mayAdopt: isActive,
      signal,
    });
    const active = claimed.filter(isActive);
    let failure: ReplicaFailure | undefined;
    let failed: unknown;
    if (isSettled && replicaSet.metadata.deletionTimestamp === undefined) {
      ({ failure, failed } = await apply(replicaSet, active, owner, signal));
    }
    const nowMs = clock.now();
    const terminating = claimed.filter(
      (pod) => pod.metadata.deletionTimestamp !== undefined && !isFinished(pod),
    ).length;
    const status = replicaSetStatus({ replicaSet, active, terminating, failure, nowMs });
    if (isStatusNew(replicaSet.status, status))
      await api.update(resource, { ...replicaSet, status }, { subresource: 'status', signal });
    if (failed !== undefined) throw failed;
    return { againAfterMs: untilAvailableMs(active, replicaSet.spec.minReadySeconds ?? 0, nowMs) };
  }

  async function apply(
    replicaSet: ReplicaSet,
    active: readonly Pod[],
    owner: PodOwner,
    signal: AbortSignal,
  ): Promise<{ failure?: ReplicaFailure; failed?: unknown }> {
    const step = decideReplicas(replicaSet, active);
    const { template } = replicaSet.spec;
    switch (step.kind) {
      case 'none':
        return {};
      case 'create': {
        if (template === undefined) return {};
        const pod = podFromTemplate({ template, ownerResource: resource, owner: replicaSet });
        const { error } = await inGrowingBatches(Array.from({ length: step.count }), () =>
          control.create(owner, pod, signal),
        );
        return outcomeOf('FailedCreate', error);
      }
      case 'delete': {
        const { error } = await inGrowingBatches(step.pods, (pod) => control.delete(owner, pod, signal));
        return outcomeOf('FailedDelete', error);
      }
    }
  }

  return { name: 'ReplicaSet', run: (signal) => queue.run(signal) };
}

function outcomeOf(
  reason: ReplicaFailure['reason'],
  failed: unknown,
): { failure?: ReplicaFailure; failed?: unknown } {
  return failed === undefined ? {} : { failure: { reason, message: errorText(failed) }, failed };
}
