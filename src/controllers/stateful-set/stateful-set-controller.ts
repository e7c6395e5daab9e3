/** Keeps the pods of StatefulSets, each with its name, its place in the order and its claims. */
import { errorText } from '../../async/index.js';
import { type ControllerRevision, type Pod, type StatefulSet, semanticEqual } from '../../kube/index.js';
import { isAlreadyExists, isNotFound, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import { claimObjects } from '../ownership/claim-objects.js';
import { controllerOf, isEmptySelector, selects } from '../ownership/owner-references.js';
import { isNamespaceTerminating } from '../pods/pod-control.js';
import { untilAvailableMs } from '../pods/pod-facts.js';
import { revisionTemplate } from '../revisions/controller-revisions.js';
import { RevisionKeeper } from '../revisions/revision-keeper.js';
import { ClaimWriter } from './claim-writer.js';
import { decideStateful, isCondemned, type StatefulStep, statefulStatus } from './decide.js';
import { ordinalOf, podName, revisionOfPod, statefulPod } from './stateful-pod.js';

const component = 'statefulset-controller';
const resource = resources.statefulSets;

export function createStatefulSetController(context: ControllerContext): Controller {
  const { api, clock, caches, events } = context;
  const sets = caches.of(resource);
  const pods = caches.of(resources.pods);
  const keeper = new RevisionKeeper(context);
  const claims = new ClaimWriter(context);

  const queue = queueOf(context, { name: 'StatefulSet', keys: resource, sync });
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
    if (set === undefined) return {};
    if (isEmptySelector(set.spec.selector)) {
      tell(
        set,
        'Warning',
        'SelectingAll',
        'This stateful set is selecting all pods. A non-empty selector is required.',
      );
      return {};
    }
    if (set.metadata.deletionTimestamp !== undefined) return {};
    const owned = await claimObjects({
      api,
      ownerResource: resource,
      owner: set,
      selector: set.spec.selector,
      resource: resources.pods,
      objects: pods.inNamespace(set.metadata.namespace ?? ''),
      mayAdopt: (pod) => ordinalOf(set, pod) !== undefined,
      signal,
    });
    const collisionCount = set.status?.collisionCount ?? 0;
    const kept = await keeper.keep(
      { owner: set, ownerResource: resource, template: set.spec.template, collisionCount },
      signal,
    );
    if (kept.kind === 'collision') {
      const status = { replicas: 0, ...set.status, collisionCount: collisionCount + 1 };
      await api.update(resource, { ...set, status }, { subresource: 'status', signal });
      return { againAfterMs: 1 };
    }
    const updateRevision = kept.current.metadata.name ?? '';
    const isKnown = kept.all.some(({ metadata }) => metadata.name === set.status?.currentRevision);
    const currentRevision = isKnown ? (set.status?.currentRevision ?? updateRevision) : updateRevision;
    const nowMs = clock.now();
    const input = { set, pods: owned, currentRevision, updateRevision, nowMs };
    let failed: unknown;
    try {
      for (const pod of owned) {
        const ordinal = ordinalOf(set, pod);
        if (ordinal !== undefined)
          await claims.own(set, ordinal, isCondemned(set, pod) ? pod : undefined, signal);
      }
      for (const step of decideStateful(input)) await apply(set, step, kept.all, signal);
    } catch (error) {
      failed = error;
    }
    const status = statefulStatus(input, set.status?.collisionCount);
    if (!semanticEqual(set.status, status))
      await api.update(resource, { ...set, status }, { subresource: 'status', signal });
    if (failed !== undefined) throw failed;
    const isUsed = ({ metadata }: ControllerRevision): boolean =>
      [updateRevision, currentRevision].includes(metadata.name ?? '') ||
      owned.some((pod) => revisionOfPod(pod) === metadata.name);
    await keeper.expire(kept.all, isUsed, set.spec.revisionHistoryLimit ?? 10, signal);
    return { againAfterMs: untilAvailableMs(owned, set.spec.minReadySeconds ?? 0, nowMs) };
  }

  async function apply(
    set: StatefulSet,
    step: StatefulStep,
    revisions: readonly ControllerRevision[],
    signal: AbortSignal,
  ): Promise<void> {
    if (step.kind === 'delete') {
      await remove(set, step.pod, step.because, signal);
      return;
    }
    const { ordinal, revision } = step;
    const found = revisions.find(({ metadata }) => metadata.name === revision);
    const template = (found === undefined ? undefined : revisionTemplate(found)) ?? set.spec.template;
    const what = `create Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`;
    const told = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      tell(set, type, reason, message);
    await claims.ensure(set, ordinal, told, signal);
    try {
      await api.create(resources.pods, statefulPod({ set, template, ordinal, revision }), { signal });
      tell(set, 'Normal', 'SuccessfulCreate', `${what} successful`);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      // Either the copy is old, or another pod has the name: then the set waits for it to go.
      if (isAlreadyExists(error)) {
        if (pods.get({ namespace: set.metadata.namespace ?? '', name: podName(set, ordinal) }) !== undefined)
          tell(set, 'Warning', 'FailedCreate', `${what} failed error: ${errorText(error)}`);
        throw error;
      }
      tell(set, 'Warning', 'FailedCreate', `${what} failed error: ${errorText(error)}`);
      throw error;
    }
  }

  async function remove(set: StatefulSet, pod: Pod, because: string, signal: AbortSignal): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    if (because === 'ended') {
      const message = `StatefulSet ${namespace}/${set.metadata.name} is recreating ${pod.status?.phase} Pod ${name}`;
      tell(set, 'Warning', 'RecreatingTerminatedPod', message);
    }
    try {
      await api.delete(resources.pods, refOf(pod), { preconditions: { uid }, signal });
      tell(
        set,
        'Normal',
        'SuccessfulDelete',
        `delete Pod ${name} in StatefulSet ${set.metadata.name} successful`,
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  function tell(object: StatefulSet, type: 'Normal' | 'Warning', reason: string, message: string): void {
    events.record({ component, resource, object, type, reason, message });
  }

  return { name: 'StatefulSet', run: (signal) => queue.run(signal) };
}
