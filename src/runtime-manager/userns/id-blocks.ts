/** Allocates blocks of host user ids, one per pod with a user namespace, so that no two pods share an id. */

/** A mapping as in the CRI and the pod's file. */
export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface UserNamespaceMapping {
  readonly uidMappings: readonly IdMapping[];
  readonly gidMappings: readonly IdMapping[];
}

export interface IdBlocksOptions {
  /** Ids per block. */
  readonly idsPerPod: number;
  /** @default the second block: the first one belongs to the machine */
  readonly firstId?: number;
  readonly blocks: number;
}

const largestId = 2 ** 32 - 1;

export class IdBlocks {
  readonly #options: IdBlocksOptions;
  readonly #byPod = new Map<string, number>();
  readonly #taken = new Set<number>();

  constructor(options: IdBlocksOptions) {
    this.#options = options;
  }

  get #firstId(): number {
    return this.#options.firstId ?? this.#options.idsPerPod;
  }

  has(uid: string): boolean {
    return this.#byPod.has(uid);
  }

  pods(): readonly string[] {
    return [...this.#byPod.keys()];
  }

  /** The pod's block, or a free one. */
  allocate(uid: string): UserNamespaceMapping {
    const { idsPerPod, blocks } = this.#options;
    const firstId = this.#firstId;
    const known = this.#byPod.get(uid);
    if (known !== undefined) return this.#mapping(known);
    for (let block = 0; block < blocks && firstId + (block + 1) * idsPerPod - 1 <= largestId; block++) {
      if (this.#taken.has(block)) continue;
      this.#take(uid, block);
      return this.#mapping(block);
    }
    throw new Error(`could not find an empty slot to allocate a user namespace: all ${blocks} are in use`);
  }

  /** Restores a block that an earlier run gave to the pod; throws if it is not a valid block. */
  restore(uid: string, { uidMappings, gidMappings }: UserNamespaceMapping): void {
    const { idsPerPod, blocks } = this.#options;
    const [first] = uidMappings;
    if (first === undefined || uidMappings.length !== 1 || gidMappings.length !== 1) {
      throw new Error('expected exactly one mapping of user ids and one of group ids');
    }
    const { hostId, containerId, length } = first;
    const [groups] = gidMappings;
    if (groups?.hostId !== hostId || groups.length !== length || groups.containerId !== containerId) {
      throw new Error('the mappings of user ids and group ids differ');
    }
    const block = (hostId - this.#firstId) / idsPerPod;
    if (
      containerId !== 0 ||
      length !== idsPerPod ||
      !Number.isInteger(block) ||
      block < 0 ||
      block >= blocks
    ) {
      throw new Error(
        `ids ${hostId} to ${hostId + length - 1} are not a block of ${idsPerPod} that this node allocates`,
      );
    }
    if (this.#taken.has(block)) throw new Error(`ids from ${hostId} on belong to another pod`);
    this.#take(uid, block);
  }

  release(uid: string): void {
    const block = this.#byPod.get(uid);
    if (block === undefined) return;
    this.#byPod.delete(uid);
    this.#taken.delete(block);
  }

  #take(uid: string, block: number): void {
    this.#byPod.set(uid, block);
    this.#taken.add(block);
  }

  #mapping(block: number): UserNamespaceMapping {
    const { idsPerPod } = this.#options;
    const mapping = { hostId: this.#firstId + block * idsPerPod, containerId: 0, length: idsPerPod };
    return { uidMappings: [mapping], gidMappings: [mapping] };
  }
}
