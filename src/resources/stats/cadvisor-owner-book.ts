/** Knows whose the cgroups of a scrape are. The runtime is asked only when there are other cgroups than the last time. */
import { BoundedMap } from '../../async/index.js';
import { ContainerState, type CriRuntime } from '../../cri/index.js';
import {
  type CgroupOwner,
  isNamedById,
  type OwnedCgroups,
  ownedCgroups,
  ownersOf,
} from './cadvisor-owners.js';
import { subjectLabels } from './cadvisor-subject.js';
import { cgroupCandidates } from './cgroup-names.js';
import type { CgroupSampler } from './cgroup-sampler.js';
import { sandboxImages } from './sandbox-images.js';

export interface OwnerBookOptions {
  readonly cri: Pick<CriRuntime, 'listPodSandbox' | 'listContainers'> &
    Partial<Pick<CriRuntime, 'podSandboxStatus'>>;
  readonly sampler: Pick<CgroupSampler, 'isThere'>;
  /** Gives a lookup of pods' cgroups by UID, as the pods are now. */
  readonly podCgroups: () => (podUid: string) => string | undefined;
}

export interface KnownOwners extends OwnedCgroups {
  /** All that are shown. */
  readonly shown: ReadonlySet<string>;
  /** The labels of each of them, in the text form. */
  readonly labels: ReadonlyMap<string, string>;
}

/** More than the containers of a node. */
const maxKnown = 4_096;

export class OwnerBook {
  readonly #options: OwnerBookOptions;
  readonly #images: ReturnType<typeof sandboxImages>;
  /** Where containers were found that are not where pods are. */
  readonly #elsewhere = new BoundedMap<string, string>({ maxEntries: maxKnown });
  #last: { readonly listed: readonly string[]; readonly owners: KnownOwners } | undefined;

  constructor(options: OwnerBookOptions) {
    this.#options = options;
    this.#images = sandboxImages(options.cri);
  }

  /** `podsCgroup` is undefined where pods have no cgroup of their own. */
  async of(listed: readonly string[], podsCgroup: string | undefined): Promise<KnownOwners> {
    // A container has a cgroup named by its id, and what is shown of it never changes.
    if (this.#last !== undefined && areSame(this.#last.listed, listed)) return this.#last.owners;
    this.#last = undefined;
    const { cri, podCgroups } = this.#options;
    const [{ items }, { containers }] = await Promise.all([cri.listPodSandbox({}), cri.listContainers({})]);
    const images = await this.#images(items.map(({ id }) => id));
    const podCgroup = podCgroups();
    // What is about to start is known only later, maybe with the same cgroups.
    let isSettled =
      podsCgroup !== undefined && images.isComplete && !containers.some(({ state }) => isUnsettled(state));
    const owned = ownedCgroups({
      listed,
      owners: ownersOf(items, containers, (id) => images.of(id)),
      elsewhere: (owner) => {
        const cgroup = this.#find(owner, podCgroup);
        if (cgroup !== undefined || owner.isRunning) isSettled = false;
        return cgroup;
      },
      podCgroup,
      podsCgroup,
    });
    const shown = new Set([...listed, ...owned.owners.keys()]);
    const labels = new Map<string, string>();
    for (const cgroup of shown) {
      const of = owned.owners.get(cgroup)?.labels ?? owned.pods.get(cgroup);
      labels.set(cgroup, subjectLabels({ ...of, id: cgroup }));
    }
    const owners = { ...owned, shown, labels };
    const hasStrangers = listed.some((cgroup) => isNamedById(cgroup) && !owned.owners.has(cgroup));
    if (isSettled && !hasStrangers) this.#last = { listed, owners };
    return owners;
  }

  #find({ id, podUid }: CgroupOwner, podCgroup: (uid: string) => string | undefined): string | undefined {
    const { sampler } = this.#options;
    const earlier = this.#elsewhere.get(id);
    if (earlier !== undefined && sampler.isThere(earlier)) return earlier;
    const cgroup = cgroupCandidates(podCgroup(podUid), id).find((name) => sampler.isThere(name));
    if (cgroup !== undefined) this.#elsewhere.set(id, cgroup);
    return cgroup;
  }
}

function isUnsettled(state: ContainerState): boolean {
  return state !== ContainerState.CONTAINER_RUNNING && state !== ContainerState.CONTAINER_EXITED;
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at]);
}
