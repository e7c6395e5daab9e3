/** The claims that pods of this node use: who refers to them, and how far drivers have come with them. */
import { type ClaimDriver, type ClaimRecord, claimKey, type PreparedDevice } from './contracts.js';

/** A claim with what a restart forgets. */
export interface CachedClaim extends ClaimRecord {
  readonly isPrepared: boolean;
  /** Nobody may join it until that has succeeded. */
  readonly isBeingUnprepared: boolean;
}

/** Keyed by namespace and name. Records are never changed, only replaced. */
export class ClaimCache {
  readonly #claims = new Map<string, CachedClaim>();

  /** Takes what an earlier run knew; whether drivers still have it prepared is not known. */
  restore(records: readonly ClaimRecord[]): void {
    for (const record of records) {
      this.#claims.set(claimKey(record), { ...record, isPrepared: false, isBeingUnprepared: false });
    }
  }

  get(namespace: string, name: string): CachedClaim | undefined {
    return this.#claims.get(claimKey({ namespace, name }));
  }

  list(): readonly CachedClaim[] {
    return [...this.#claims.values()];
  }

  ofPod(podUid: string): readonly CachedClaim[] {
    return this.list().filter(({ podUids }) => podUids.has(podUid));
  }

  podUids(): ReadonlySet<string> {
    return new Set(this.list().flatMap(({ podUids }) => [...podUids]));
  }

  /** Adds the pod's reference, and the claim if it is new. */
  join(
    claim: Omit<ClaimRecord, 'podUids' | 'drivers'>,
    skips: ReadonlyMap<string, readonly string[]>,
    podUid: string,
  ): void {
    const known = this.get(claim.namespace, claim.name);
    if (known !== undefined) {
      this.#put({ ...known, podUids: new Set([...known.podUids, podUid]) });
      return;
    }
    const drivers = new Map<string, ClaimDriver>(
      [...skips].map(([driver, skipNodeOperations]) => [driver, { devices: undefined, skipNodeOperations }]),
    );
    const { uid, name, namespace } = claim;
    this.#put({
      uid,
      name,
      namespace,
      podUids: new Set([podUid]),
      drivers,
      isPrepared: false,
      isBeingUnprepared: false,
    });
  }

  /** Replaces the driver's devices of a claim that is still the same. */
  setDevices(claim: ClaimRecord, driver: string, devices: readonly PreparedDevice[]): void {
    const known = this.#same(claim);
    if (known === undefined) return;
    const { skipNodeOperations } = known.drivers.get(driver) ?? { skipNodeOperations: [] };
    this.#put({ ...known, drivers: new Map(known.drivers).set(driver, { devices, skipNodeOperations }) });
  }

  setPrepared(claim: ClaimRecord): void {
    const known = this.#same(claim);
    if (known !== undefined && !known.isBeingUnprepared) this.#put({ ...known, isPrepared: true });
  }

  setBeingUnprepared(claim: ClaimRecord): void {
    const known = this.#same(claim);
    if (known !== undefined) this.#put({ ...known, isPrepared: false, isBeingUnprepared: true });
  }

  /** Takes one pod's reference away; the claim stays. */
  leave(claim: ClaimRecord, podUid: string): void {
    const known = this.#same(claim);
    if (known === undefined) return;
    this.#put({ ...known, podUids: new Set([...known.podUids].filter((uid) => uid !== podUid)) });
  }

  delete(claim: ClaimRecord): void {
    if (this.#same(claim) !== undefined) this.#claims.delete(claimKey(claim));
  }

  #same({ namespace, name, uid }: ClaimRecord): CachedClaim | undefined {
    const known = this.get(namespace, name);
    return known?.uid === uid ? known : undefined;
  }

  #put(claim: CachedClaim): void {
    this.#claims.set(claimKey(claim), claim);
  }
}
