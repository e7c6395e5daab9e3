/** The history of a StatefulSet's or DaemonSet's template: which revision is the current one, and which may go. */
import {
  type ControllerRevision,
  clone,
  type KubeObject,
  type PodTemplateSpec,
  semanticEqual,
} from '../../kube/index.js';
import type { Resource } from '../../kube-client/index.js';
import { controllerReference } from '../ownership/owner-references.js';
import { shortHash } from '../pods/pod-template.js';

export const revisionHashLabel = 'controller-revision-hash';

/** As a patch that brings the template back: clients undo a rollout with it. */
export function revisionData(template: PodTemplateSpec): unknown {
  return { spec: { template: { ...clone(template), $patch: 'replace' } } };
}

/** The template of a revision; undefined when its data is of another kind. */
export function revisionTemplate({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const template = memberOf(memberOf(data, 'spec'), 'template');
  if (typeof template !== 'object' || template === null || !('spec' in template)) return undefined;
  const { $patch: _, ...plain } = clone(template as Record<string, unknown>);
  // Only this room and clients that restore it write revisions, and both write templates.
  return plain as unknown as PodTemplateSpec;
}

export type RevisionStep =
  | { readonly kind: 'keep'; readonly current: ControllerRevision }
  /** An older one has the template again: it becomes the newest. */
  | { readonly kind: 'renumber'; readonly current: ControllerRevision; readonly revision: number }
  | { readonly kind: 'create'; readonly wanted: ControllerRevision };

export interface RevisionInput {
  readonly owner: KubeObject;
  readonly ownerResource: Resource;
  readonly template: PodTemplateSpec;
  readonly collisionCount: number;
  /** The owner's revisions. */
  readonly revisions: readonly ControllerRevision[];
}

export function decideRevision(input: RevisionInput): RevisionStep {
  const { owner, ownerResource, template, collisionCount, revisions } = input;
  const byAge = inOrder(revisions);
  const newest = byAge.at(-1);
  const data = revisionData(template);
  const same = byAge.findLast((one) => semanticEqual(one.data, data));
  if (same !== undefined && newest !== undefined) {
    return same === newest
      ? { kind: 'keep', current: same }
      : { kind: 'renumber', current: same, revision: newest.revision + 1 };
  }
  const hash = shortHash(data, collisionCount);
  const { name = '', namespace } = owner.metadata;
  const wanted: ControllerRevision = {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: {
        ...template.metadata?.labels,
        [revisionHashLabel]: hash,
        'controller.kubernetes.io/hash': hash,
      },
      ownerReferences: [controllerReference(ownerResource, owner)],
    },
    data,
    revision: (newest?.revision ?? 0) + 1,
  };
  return { kind: 'create', wanted };
}

/** Revisions that nobody uses beyond the history that is kept, the oldest first. */
export function expiredRevisions(
  revisions: readonly ControllerRevision[],
  isUsed: (revision: ControllerRevision) => boolean,
  limit: number,
): readonly ControllerRevision[] {
  const idle = inOrder(revisions).filter((one) => !isUsed(one));
  return idle.slice(0, Math.max(0, idle.length - limit));
}

export function revisionHash({ metadata }: ControllerRevision): string {
  return metadata.labels?.[revisionHashLabel] ?? metadata.name ?? '';
}

function inOrder(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return [...revisions].sort(
    (a, b) => a.revision - b.revision || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
}
