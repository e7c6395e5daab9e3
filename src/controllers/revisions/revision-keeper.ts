/** Writes the revisions of a template to the API. */
import { type ControllerRevision, type KubeObject, semanticEqual } from '../../kube/index.js';
import { isAlreadyExists, isNotFound, resources } from '../../kube-client/index.js';
import type { ControllerContext } from '../driver/context.js';
import { refOf } from '../driver/kind-cache.js';
import { controllerOf, isControlledBy } from '../ownership/owner-references.js';
import { decideRevision, expiredRevisions, type RevisionInput } from './controller-revisions.js';

export type KeptRevision =
  | {
      readonly kind: 'current';
      readonly current: ControllerRevision;
      readonly all: readonly ControllerRevision[];
    }
  /** Another object has the name: the owner counts one collision more and tries again. */
  | { readonly kind: 'collision' };

export class RevisionKeeper {
  readonly #context: Pick<ControllerContext, 'api' | 'caches'>;

  constructor(context: Pick<ControllerContext, 'api' | 'caches'>) {
    this.#context = context;
    context.caches.of(resources.controllerRevisions);
  }

  of(owner: KubeObject): readonly ControllerRevision[] {
    const cache = this.#context.caches.of(resources.controllerRevisions);
    return cache.ownedBy(owner.metadata.uid ?? '').filter((one) => isControlledBy(one, owner));
  }

  async keep(input: Omit<RevisionInput, 'revisions'>, signal: AbortSignal): Promise<KeptRevision> {
    const { api } = this.#context;
    const revisions = this.of(input.owner);
    const step = decideRevision({ ...input, revisions });
    switch (step.kind) {
      case 'keep':
        return { kind: 'current', current: step.current, all: revisions };
      case 'renumber': {
        const body = { revision: step.revision };
        const patch = { type: 'merge', body } as const;
        const current = await api.patch(resources.controllerRevisions, refOf(step.current), patch, {
          signal,
        });
        return { kind: 'current', current, all: revisions };
      }
      case 'create':
        return this.#create(step.wanted, input.owner, revisions, signal);
    }
  }

  async #create(
    wanted: ControllerRevision,
    owner: KubeObject,
    revisions: readonly ControllerRevision[],
    signal: AbortSignal,
  ): Promise<KeptRevision> {
    const { api } = this.#context;
    try {
      const current = await api.create(resources.controllerRevisions, wanted, { signal });
      return { kind: 'current', current, all: [...revisions, current] };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await api.get(resources.controllerRevisions, refOf(wanted), { signal });
    if (!semanticEqual(existing.data, wanted.data)) return { kind: 'collision' };
    if (isControlledBy(existing, owner))
      return { kind: 'current', current: existing, all: [...revisions, existing] };
    if (controllerOf(existing) !== undefined) return { kind: 'collision' };
    // An owner that was deleted without its dependents left it behind.
    const body = { metadata: { ownerReferences: wanted.metadata.ownerReferences } };
    const patch = { type: 'merge', body } as const;
    const current = await api.patch(resources.controllerRevisions, refOf(existing), patch, { signal });
    return { kind: 'current', current, all: [...revisions, current] };
  }

  async expire(
    revisions: readonly ControllerRevision[],
    isUsed: (revision: ControllerRevision) => boolean,
    limit: number,
    signal: AbortSignal,
  ): Promise<void> {
    for (const old of expiredRevisions(revisions, isUsed, limit)) {
      try {
        await this.#context.api.delete(resources.controllerRevisions, refOf(old), { signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }
}
