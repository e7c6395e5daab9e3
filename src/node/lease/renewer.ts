/** Renews the node's lease, the heartbeat that tells the cluster the node is alive. */
import { type Clock, errorText, isCancelled, jitter, sleep, WakeableSleep } from '../../async/index.js';
import type { Lease, OwnerReference } from '../../kube/index.js';
import { isConflict, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type LeaseSettings, leaseNamespace, leaseOwner, needsOwner, renewedLease } from './lease.js';

export interface LeaseRenewerOptions extends LeaseSettings {
  /** The client without a rate limit. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly onRepeatedFailure?: () => void;
}

const renewShare = 0.25;
const periodJitter = 0.04;
const updateTries = 5;
const firstBackoffMs = 200;
const longestBackoffMs = 7_000;

type EnsuredLease =
  | { readonly kind: 'found' | 'created'; readonly lease: Lease }
  /** No lease was created, as its owner, the node, does not exist. */
  | { readonly kind: 'ownerless' };

export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  #latest: Lease | undefined;
  #failing = '';
  #ownerAppeared = false;
  readonly #rest = new WakeableSleep();

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
  }

  /** The lease as last written. */
  get latest(): Lease | undefined {
    return this.#latest;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random, durationSeconds } = this.#options;
    for (;;) {
      this.#ownerAppeared = false;
      await this.sync(signal);
      await this.#waitForBeat(jitter(durationSeconds * 1000 * renewShare, random, periodJitter), signal);
    }
  }

  /** Call when the cluster has the node, so that a lease waiting for its owner need not wait for the next interval. */
  nodeRegistered(): void {
    this.#ownerAppeared = true;
    if (this.#latest === undefined) this.#rest.wake();
  }

  /** Sleeps, unless the node that a missing lease waits for has appeared. */
  async #waitForBeat(durationMs: number, signal: AbortSignal): Promise<void> {
    if (this.#latest === undefined && this.#ownerAppeared) return;
    await this.#rest.sleep(this.#options.clock, durationMs, signal);
  }

  async sync(signal: AbortSignal): Promise<void> {
    if (this.#latest !== undefined && (await this.#renew(this.#latest, signal))) return;
    const ensured = await this.#ensureWithBackoff(signal);
    this.#latest = ensured.kind === 'ownerless' ? undefined : ensured.lease;
    if (ensured.kind === 'found') await this.#renew(ensured.lease, signal);
    if (ensured.kind === 'created') this.#recovered('was created');
  }

  /** Returns whether one of the attempts succeeded. */
  async #renew(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { api } = this.#options;
    let current = base;
    for (let attempt = 0; attempt < updateTries; attempt++) {
      try {
        const lease = await this.#renewed(current, signal);
        this.#latest = await api.update(resources.leases, lease, { signal });
        this.#recovered('is renewed again');
        return true;
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#failed(error);
        if (error instanceof OwnerUnknown) return false;
        if (isConflict(error)) {
          const ensured = await this.#ensureWithBackoff(signal);
          if (ensured.kind === 'ownerless') return false;
          current = ensured.lease;
        } else if (attempt > 0) this.#options.onRepeatedFailure?.();
      }
    }
    return false;
  }

  async #ensureWithBackoff(signal: AbortSignal): Promise<EnsuredLease> {
    for (let waitMs = firstBackoffMs; ; waitMs = Math.min(waitMs * 2, longestBackoffMs)) {
      try {
        return await this.#ensure(signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#failed(error);
      }
      await sleep(this.#options.clock, waitMs, signal);
    }
  }

  async #ensure(signal: AbortSignal): Promise<EnsuredLease> {
    const { api, nodeName } = this.#options;
    try {
      const ref = { namespace: leaseNamespace, name: nodeName };
      return { kind: 'found', lease: await api.get(resources.leases, ref, { signal }) };
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    let wanted: Lease;
    try {
      wanted = await this.#renewed(undefined, signal);
    } catch (error) {
      // Without its node the lease has no purpose; the next interval tries again.
      if (error instanceof OwnerUnknown) return { kind: 'ownerless' };
      throw error;
    }
    return { kind: 'created', lease: await api.create(resources.leases, wanted, { signal }) };
  }

  async #renewed(base: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const owner = needsOwner(base) ? await this.#owner(signal) : undefined;
    return renewedLease(base, this.#options, this.#options.clock.now(), owner);
  }

  async #owner(signal: AbortSignal): Promise<OwnerReference> {
    const { api, nodeName } = this.#options;
    try {
      return leaseOwner(await api.get(resources.nodes, { name: nodeName }, { signal }));
    } catch (error) {
      if (isCancelled(error)) throw error;
      throw new OwnerUnknown(`the lease's node cannot be read: ${errorText(error)}`, { cause: error });
    }
  }

  #failed(error: unknown): void {
    const text = errorText(error);
    if (text === this.#failing) return;
    this.#failing = text;
    const message = `the node's lease is not renewed: ${text}`;
    this.#options.timeline.record({ kind: 'problem', what: 'node.lease', message, data: { renewed: false } });
  }

  #recovered(what: string): void {
    if (this.#failing === '' && what !== 'was created') return;
    this.#failing = '';
    this.#options.timeline.record({
      kind: 'transition',
      what: 'node.lease',
      message: `the node's lease ${what}`,
      because: 'the cluster must know that the node is alive',
      data: { renewed: true },
    });
  }
}

class OwnerUnknown extends Error {
  override readonly name = 'OwnerUnknown';
}
