/** Keeps one pod of each DaemonSet on the node. */
import { Backoff } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { semanticEqual } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOfKey } from '../driver/kind-cache.js';
import { claimObjects } from '../ownership/claim-objects.js';
import { controllerOf, isEmptySelector, selects } from '../ownership/owner-references.js';
import { inGrowingBatches, PodControl, type PodOwner } from '../pods/pod-control.js';
import { untilAvailableMs } from '../pods/pod-facts.js';
import { revisionHash } from '../revisions/controller-revisions.js';
import { RevisionKeeper } from '../revisions/revision-keeper.js';
import { daemonFit, daemonPod } from './daemon-pod.js';
import { daemonStatus, decideDaemon, isUpToDate } from './decide.js';

const component = 'daemonset-controller';
const resource = resources.daemonSets;

export function createDaemonSetController(context: ControllerContext): Controller {
  const { api, clock, caches, events, nodeName } = context;
  const sets = caches.of(resource);
  const pods = caches.of(resources.pods);
  const nodes = caches.of(resources.nodes);
  const control = new PodControl(context);
  const keeper = new RevisionKeeper(context);
  /** Pauses before a pod that ended is made anew. */
  const pauses = new Backoff({ initialMs: 1000, maxMs: 900_000, resetAfterMs: 1_800_000 });

  const queue = queueOf(context, { name: 'DaemonSet', keys: resource, sync });
  nodes.onChange(({ before, after }) => {
    const facts = (node: typeof after): string => JSON.stringify([node?.metadata.labels, node?.spec]);
    if (facts(before) !== facts(after)) for (const set of sets.list()) queue.add(keyOfObject(set));
  });
  pods.onChange(({ before, after }) => {
    for (const pod of [before, after]) if (pod !== undefined) wakeOwners(pod);
  });
  function wakeOwners(pod: Pod): void {
    const owner = controllerOf(pod);
    const { namespace } = pod.metadata;
    if (owner?.kind === resource.kind) queue.add(keyOf({ namespace, name: owner.name }));
    if (owner !== undefined) return;
    for (const set of sets.inNamespace(namespace))
      if (selects(set.spec.selector, pod)) queue.add(keyOfObject(set));
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const set = sets.get(refOfKey(key));
    if (set === undefined) {
      control.expectations.forget(key);
      return {};
    }
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      events.record({ component, resource, object: set, type, reason, message });
    if (isEmptySelector(set.spec.selector)) {
      tell(
        'Warning',
        'SelectingAll',
        'This daemon set is selecting all pods. A non-empty selector is required.',
      );
      return {};
    }
    if (set.metadata.deletionTimestamp !== undefined) return {};
    const kept = await keeper.keep(
      {
        owner: set,
        ownerResource: resource,
        template: set.spec.template,
        collisionCount: set.status?.collisionCount ?? 0,
      },
      signal,
    );
    if (kept.kind === 'collision') {
      const status = {
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
        ...set.status,
      };
      const collisionCount = (set.status?.collisionCount ?? 0) + 1;
      await api.update(
        resource,
        { ...set, status: { ...status, collisionCount } },
        { subresource: 'status', signal },
      );
      return { againAfterMs: 1 };
    }
    const isSettled = control.expectations.isMet(key, clock.now());
    const owned = await claimObjects({
      api,
      ownerResource: resource,
      owner: set,
      selector: set.spec.selector,
      resource: resources.pods,
      objects: pods.inNamespace(set.metadata.namespace ?? ''),
      signal,
    });
    const hash = revisionHash(kept.current);
    const nowMs = clock.now();
    const input = { set, fit: daemonFit(set, nodes.get({ name: nodeName })), pods: owned, hash, nowMs };
    const status = daemonStatus(input, set.status?.collisionCount);
    if (!semanticEqual(set.status, status))
      await api.update(resource, { ...set, status }, { subresource: 'status', signal });
    const againAfterMs = untilAvailableMs(owned, set.spec.minReadySeconds ?? 0, nowMs);
    if (!isSettled) return { againAfterMs };
    const plan = decideDaemon(input);
    const owner: PodOwner = { component, resource, object: set, key };
    if (plan.ended.length > 0 && pauses.isWaitingSinceAdvance(key, nowMs))
      return { againAfterMs: pauses.delayMs(key) };
    if (plan.ended.length > 0) pauses.advance(key, nowMs, nowMs);
    for (const { metadata, status: state } of plan.ended) {
      const word = state?.phase === 'Failed' ? 'failed' : 'succeeded';
      const reason = word === 'failed' ? 'FailedDaemonPod' : 'SucceededDaemonPod';
      const message = `Found ${word} daemon pod ${metadata.namespace}/${metadata.name} on node ${nodeName}, will try to ${word === 'failed' ? 'kill' : 'delete'} it`;
      tell(word === 'failed' ? 'Warning' : 'Normal', reason, message);
    }
    const gone = await inGrowingBatches([...plan.ended, ...plan.delete], (pod) =>
      control.delete(owner, pod, signal),
    );
    if (gone.error !== undefined) throw gone.error;
    if (plan.create) await control.create(owner, daemonPod(set, nodeName, hash), signal);
    const isUsed = (one: (typeof kept.all)[number]): boolean =>
      one.metadata.name === kept.current.metadata.name ||
      owned.some((pod) => isUpToDate(pod, revisionHash(one)));
    await keeper.expire(kept.all, isUsed, set.spec.revisionHistoryLimit ?? 10, signal);
    return { againAfterMs };
  }

  return { name: 'DaemonSet', run: (signal) => queue.run(signal) };
}
