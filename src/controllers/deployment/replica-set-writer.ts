/** Makes, scales, annotates and deletes the ReplicaSets of a Deployment, and tells it in events. */
import { clone, type Deployment, type ReplicaSet, semanticEqual } from '../../kube/index.js';
import { isNotFound, resources } from '../../kube-client/index.js';
import type { ControllerContext } from '../driver/context.js';
import { refOf } from '../driver/kind-cache.js';
import { controllerReference } from '../ownership/owner-references.js';
import { shortHash, templateWithout } from '../pods/pod-template.js';
import { type DeploymentRevisions, hashLabel, newSetAnnotations, sizeAnnotations } from './revisions.js';
import { wantedReplicas } from './rollout-bounds.js';
import type { SetScale } from './scale-steps.js';

const component = 'deployment-controller';

/** The ReplicaSet of the Deployment's current template, not made yet. */
export function newReplicaSet(
  deployment: Deployment,
  { oldSets }: DeploymentRevisions,
  replicas: number,
): ReplicaSet {
  const { metadata, spec, status } = deployment;
  const template = clone(spec.template);
  const hash = shortHash(templateWithout(template, hashLabel), status?.collisionCount ?? 0);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${metadata.name}-${hash}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels,
      annotations: { ...newSetAnnotations(deployment, undefined, oldSets), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(resources.deployments, deployment)],
    },
    spec: {
      replicas,
      minReadySeconds: spec.minReadySeconds ?? 0,
      selector: {
        ...clone(spec.selector),
        matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

export class ReplicaSetWriter {
  readonly #context: Pick<ControllerContext, 'api' | 'events'>;

  constructor(context: Pick<ControllerContext, 'api' | 'events'>) {
    this.#context = context;
  }

  tell(object: Deployment, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.record({
      component,
      resource: resources.deployments,
      object,
      type,
      reason,
      message,
    });
  }

  async create(deployment: Deployment, set: ReplicaSet, signal: AbortSignal): Promise<ReplicaSet> {
    const made = await this.#context.api.create(resources.replicaSets, set, { signal });
    if (wantedReplicas(made) > 0) this.#tellScaled(deployment, made, 0, wantedReplicas(made));
    return made;
  }

  /** Also tells the ReplicaSet the Deployment's size. */
  async scale(deployment: Deployment, { set, replicas }: SetScale, signal: AbortSignal): Promise<void> {
    const sizes = sizeAnnotations(deployment);
    const before = wantedReplicas(set);
    const { annotations = {}, resourceVersion } = set.metadata;
    const isTold = Object.entries(sizes).every(([name, value]) => annotations[name] === value);
    if (before === replicas && isTold) return;
    // The version makes a decision from an old copy fail.
    const body = { metadata: { resourceVersion, annotations: sizes }, spec: { replicas } };
    await this.#context.api.patch(resources.replicaSets, refOf(set), { type: 'merge', body }, { signal });
    if (before !== replicas) this.#tellScaled(deployment, set, before, replicas);
  }

  /** The set with its revision, its Deployment's annotations and its `minReadySeconds`. */
  async annotate(
    deployment: Deployment,
    revisions: DeploymentRevisions,
    signal: AbortSignal,
  ): Promise<ReplicaSet | undefined> {
    const { newSet, oldSets } = revisions;
    if (newSet === undefined) return undefined;
    const annotations = newSetAnnotations(deployment, newSet, oldSets);
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    const isRight =
      semanticEqual(annotations, newSet.metadata.annotations) &&
      (newSet.spec.minReadySeconds ?? 0) === minReadySeconds;
    if (isRight) return newSet;
    const { resourceVersion } = newSet.metadata;
    const body = { metadata: { resourceVersion, annotations }, spec: { minReadySeconds } };
    return this.#context.api.patch(resources.replicaSets, refOf(newSet), { type: 'merge', body }, { signal });
  }

  async remove(set: ReplicaSet, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = set.metadata;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    try {
      await this.#context.api.delete(resources.replicaSets, refOf(set), {
        preconditions,
        propagationPolicy: 'Background',
        signal,
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #tellScaled(deployment: Deployment, set: ReplicaSet, from: number, to: number): void {
    const direction = to > from ? 'up' : 'down';
    const message = `Scaled ${direction} replica set ${set.metadata.name} from ${from} to ${to}`;
    this.tell(deployment, 'Normal', 'ScalingReplicaSet', message);
  }
}
