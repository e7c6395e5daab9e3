/** The revisions of a Deployment: which ReplicaSet has its template, which are older, and how they are numbered. */
import { type Deployment, type ReplicaSet, semanticEqual } from '../../kube/index.js';
import { createdMs } from '../pods/pod-facts.js';
import { templateWithout } from '../pods/pod-template.js';
import { rolloutBounds } from './rollout-bounds.js';

export const hashLabel = 'pod-template-hash';
export const revisionAnnotation = 'deployment.kubernetes.io/revision';
const historyAnnotation = 'deployment.kubernetes.io/revision-history';
const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
export const maxReplicasAnnotation = 'deployment.kubernetes.io/max-replicas';

/** Annotations of the Deployment that are not its ReplicaSets'. */
const ownAnnotations: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxReplicasAnnotation,
]);
const historyChars = 2000;

export interface DeploymentRevisions {
  /** The ReplicaSet of the current template. */
  readonly newSet: ReplicaSet | undefined;
  /** All others, the oldest first. */
  readonly oldSets: readonly ReplicaSet[];
}

export function findRevisions({ spec }: Deployment, sets: readonly ReplicaSet[]): DeploymentRevisions {
  const byAge = [...sets].sort(
    (a, b) => createdMs(a) - createdMs(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
  // Two may match after a collision; the oldest is taken, so that all readers agree.
  const newSet = byAge.find(
    ({ spec: { template } }) =>
      template !== undefined &&
      semanticEqual(templateWithout(template, hashLabel), templateWithout(spec.template, hashLabel)),
  );
  return { newSet, oldSets: byAge.filter((set) => set !== newSet) };
}

export function revisionOf({ metadata }: Deployment | ReplicaSet): number {
  const text = metadata.annotations?.[revisionAnnotation] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The number of the newest revision: one more than all older ones. */
export function nextRevision(oldSets: readonly ReplicaSet[]): number {
  return oldSets.reduce((most, set) => Math.max(most, revisionOf(set)), 0) + 1;
}

/** The annotations that the ReplicaSet of the current template must have. */
export function newSetAnnotations(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
): Record<string, string> {
  const inherited = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !ownAnnotations.has(name),
  );
  const current = newSet?.metadata.annotations ?? {};
  const wanted = nextRevision(oldSets);
  const had = newSet === undefined ? 0 : revisionOf(newSet);
  const revision = Math.max(had, wanted);
  const history = had > 0 && had < wanted ? withRevision(current[historyAnnotation], had) : undefined;
  return {
    ...current,
    ...Object.fromEntries(inherited),
    [revisionAnnotation]: String(revision),
    ...(history === undefined ? {} : { [historyAnnotation]: history }),
  };
}

/** The former numbers of a ReplicaSet that was rolled back to; the oldest go when there are too many. */
function withRevision(history: string | undefined, revision: number): string {
  const numbers = [...(history === undefined || history === '' ? [] : history.split(',')), String(revision)];
  while (numbers.join(',').length > historyChars) numbers.shift();
  return numbers.join(',');
}

/** What a ReplicaSet remembers of the Deployment's size, so that a later change of it is noticed. */
export function sizeAnnotations(deployment: Deployment): Record<string, string> {
  const { replicas, maxSurge } = rolloutBounds(deployment);
  return { [desiredAnnotation]: String(replicas), [maxReplicasAnnotation]: String(replicas + maxSurge) };
}

/** Whether somebody changed the Deployment's size since the ReplicaSet was scaled. */
export function isResized(deployment: Deployment, { metadata }: ReplicaSet): boolean {
  const told = metadata.annotations?.[desiredAnnotation];
  return told !== undefined && told !== String(rolloutBounds(deployment).replicas);
}
