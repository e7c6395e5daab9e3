/** Rolls out Deployments: keeps the ReplicaSets of their revisions, and reports how far they are. */
import { errorText } from '../../async/index.js';
import { type Deployment, type ReplicaSet, semanticEqual } from '../../kube/index.js';
import { isAlreadyExists, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import { claimObjects } from '../ownership/claim-objects.js';
import { controllerOf, isControlledBy, isEmptySelector, selects } from '../ownership/owner-references.js';
import { isNamespaceTerminating } from '../pods/pod-control.js';
import { isFinished } from '../pods/pod-facts.js';
import { templateWithout } from '../pods/pod-template.js';
import { deploymentStatus, isComplete, untilTimeoutMs } from './deployment-status.js';
import { newReplicaSet, ReplicaSetWriter } from './replica-set-writer.js';
import { type DeploymentRevisions, findRevisions, hashLabel, revisionAnnotation } from './revisions.js';
import { decideRollout, expiredSets } from './rollout-steps.js';
import { isScaling, scaleSteps } from './scale-steps.js';

const resource = resources.deployments;
/** Timestamps have whole seconds: a look at the very moment could come too early. */
const timeoutSlackMs = 1000;

interface RolloutOutcome {
  readonly created?: string;
  readonly createError?: unknown;
  readonly collided?: boolean;
}

export function createDeploymentController(context: ControllerContext): Controller {
  const { api, clock, caches } = context;
  const deployments = caches.of(resource);
  const sets = caches.of(resources.replicaSets);
  const pods = caches.of(resources.pods);
  const writer = new ReplicaSetWriter(context);

  const queue = queueOf(context, { name: 'Deployment', keys: resource, sync });
  sets.onChange(({ before, after }) => {
    for (const set of [before, after]) if (set !== undefined) wakeOwners(set);
  });
  // A Deployment that recreates its pods waits until the last one is gone.
  pods.onChange(({ before, after }) => {
    if (before === undefined || (after !== undefined && !isFinished(after))) return;
    const owner = controllerOf(before);
    const set = owner === undefined ? undefined : sets.byUid(owner.uid);
    if (set !== undefined) wakeOwners(set);
  });

  function wakeOwners(set: ReplicaSet): void {
    const owner = controllerOf(set);
    const { namespace = '' } = set.metadata;
    if (owner?.kind === resource.kind) queue.add(keyOf({ namespace, name: owner.name }));
    if (owner !== undefined) return;
    for (const deployment of deployments.inNamespace(namespace))
      if (selects(deployment.spec.selector, set)) queue.add(keyOfObject(deployment));
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const deployment = deployments.get(refOfKey(key));
    if (deployment === undefined) return {};
    if (isEmptySelector(deployment.spec.selector)) {
      const message = 'This deployment is selecting all pods. A non-empty selector is required.';
      writer.tell(deployment, 'Warning', 'SelectingAll', message);
      return {};
    }
    const owned = await claimObjects({
      api,
      ownerResource: resource,
      owner: deployment,
      selector: deployment.spec.selector,
      resource: resources.replicaSets,
      objects: sets.inNamespace(deployment.metadata.namespace ?? ''),
      signal,
    });
    const revisions = findRevisions(deployment, owned);
    if (deployment.metadata.deletionTimestamp !== undefined) return report(deployment, revisions, {}, signal);
    const newSet = await writer.annotate(deployment, revisions, signal);
    const current: DeploymentRevisions = { ...revisions, newSet };
    const numbered = await withRevision(deployment, newSet, signal);
    const outcome = await advance(numbered, current, signal);
    return report(numbered, current, outcome, signal);
  }

  /** The Deployment carries the number of its current revision. */
  async function withRevision(
    deployment: Deployment,
    newSet: ReplicaSet | undefined,
    signal: AbortSignal,
  ): Promise<Deployment> {
    const revision = newSet?.metadata.annotations?.[revisionAnnotation];
    if (revision === undefined || deployment.metadata.annotations?.[revisionAnnotation] === revision)
      return deployment;
    const body = { metadata: { annotations: { [revisionAnnotation]: revision } } };
    return api.patch(resource, refOf(deployment), { type: 'merge', body }, { signal });
  }

  async function advance(
    deployment: Deployment,
    revisions: DeploymentRevisions,
    signal: AbortSignal,
  ): Promise<RolloutOutcome> {
    if (deployment.spec.paused === true || isScaling(deployment, revisions)) {
      for (const scale of scaleSteps(deployment, revisions)) await writer.scale(deployment, scale, signal);
      return {};
    }
    const step = decideRollout({ deployment, revisions, hasOldPods: hasOldPods(revisions) });
    switch (step.kind) {
      case 'wait':
        return {};
      case 'scale':
        for (const scale of step.scales) await writer.scale(deployment, scale, signal);
        return {};
      case 'create':
        return create(deployment, revisions, step.replicas, signal);
    }
  }

  function hasOldPods({ oldSets }: DeploymentRevisions): boolean {
    return oldSets.some(({ metadata }) => pods.ownedBy(metadata.uid ?? '').some((pod) => !isFinished(pod)));
  }

  async function create(
    deployment: Deployment,
    revisions: DeploymentRevisions,
    replicas: number,
    signal: AbortSignal,
  ): Promise<RolloutOutcome> {
    const wanted = newReplicaSet(deployment, revisions, replicas);
    try {
      const made = await writer.create(deployment, wanted, signal);
      return { created: made.metadata.name ?? '' };
    } catch (error) {
      if (isNamespaceTerminating(error) || signal.aborted) return {};
      if (!isAlreadyExists(error)) return { createError: error };
    }
    // It was made before and is not in the copy yet, or another template has the same hash.
    const existing = await api.get(resources.replicaSets, refOf(wanted), { signal });
    const { template } = existing.spec;
    const isSame =
      isControlledBy(existing, deployment) &&
      template !== undefined &&
      semanticEqual(
        templateWithout(template, hashLabel),
        templateWithout(deployment.spec.template, hashLabel),
      );
    return isSame ? {} : { collided: true };
  }

  async function report(
    deployment: Deployment,
    revisions: DeploymentRevisions,
    outcome: RolloutOutcome,
    signal: AbortSignal,
  ): Promise<KeyOutcome> {
    const nowMs = clock.now();
    const { created, createError, collided } = outcome;
    const status = deploymentStatus({
      deployment,
      revisions,
      created,
      createError: createError === undefined ? undefined : errorText(createError),
      nowMs,
    });
    if (collided === true) status.collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    let current = deployment;
    if (!semanticEqual(deployment.status, status))
      current = await api.update(resource, { ...deployment, status }, { subresource: 'status', signal });
    if (createError !== undefined) throw createError;
    if (isComplete(deployment, status) || deployment.spec.paused === true) {
      for (const set of expiredSets(deployment, revisions.oldSets)) await writer.remove(set, signal);
    }
    if (collided === true) return { againAfterMs: 1 };
    const leftMs = untilTimeoutMs(current, nowMs);
    return { againAfterMs: leftMs === undefined ? undefined : Math.max(0, leftMs) + timeoutSlackMs };
  }

  return { name: 'Deployment', run: (signal) => queue.run(signal) };
}
