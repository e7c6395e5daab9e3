/** The recent changes of a storage: what watchers have not read yet, and what a list begun before goes on with. */
import type { KubeObject } from '../../kube/types/index.js';
import { kubeApiLimits } from '../limits.js';

export interface StorageChange {
  readonly revision: number;
  readonly resource: string;
  /** Undefined when it was created; a removed one has the version of its removal. */
  readonly before: KubeObject | undefined;
  /** What the change has replaced. */
  readonly replaced: KubeObject | undefined;
  /** Undefined when it was removed. */
  readonly after: KubeObject | undefined;
}

interface RememberedChange {
  readonly change: StorageChange;
  /** Of the object as it was before, which nobody else keeps. */
  readonly bytes: number;
}

const { rememberedChanges, rememberedBytes } = kubeApiLimits;
/** Forgotten changes leave holes at the front of the lists; this many are closed at once. */
const holesAtOnce = 256;

/** Bounded for all resources together; watchers hold nothing but the revision up to which they have read. */
export class ChangeHistory {
  /** Oldest first. */
  readonly #all = new Queue<RememberedChange>();
  readonly #byResource = new Map<string, Queue<StorageChange>>();
  /** The revision of the newest change that is forgotten, by resource. */
  readonly #forgotten = new Map<string, number>();
  #bytes = 0;
  /** What was before this is not known of any resource. */
  #base: number;

  constructor(base: number) {
    this.#base = base;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Changes of the resource up to this revision are forgotten. */
  forgottenUpTo(resource: string): number {
    return Math.max(this.#base, this.#forgotten.get(resource) ?? 0);
  }

  remember(change: StorageChange, bytes: number): void {
    this.#all.push({ change, bytes });
    this.#ofResource(change.resource).push(change);
    this.#bytes += bytes;
    while (this.#all.size > rememberedChanges || (this.#bytes > rememberedBytes && this.#all.size > 1))
      this.#forgetOldest();
  }

  /** Whether a change of the resource after a revision is forgotten. */
  lacksAfter(resource: string, revision: number): boolean {
    return (this.#forgotten.get(resource) ?? 0) > revision;
  }

  /** The first change of the resource after a revision. */
  next(resource: string, revision: number): StorageChange | undefined {
    return this.#byResource.get(resource)?.firstWhere((change) => change.revision > revision);
  }

  /** Oldest first. */
  after(resource: string, revision: number): StorageChange[] {
    return this.#byResource.get(resource)?.fromWhere((change) => change.revision > revision) ?? [];
  }

  /** Forgets all changes; what was before a revision is as unknown. */
  forget(base: number): void {
    while (this.#all.size > 0) this.#forgetOldest();
    this.#base = base;
  }

  /** Begins anew, as if nothing had ever changed. */
  reset(base: number): void {
    this.forget(base);
    this.#forgotten.clear();
  }

  #forgetOldest(): void {
    const oldest = this.#all.shift();
    if (oldest === undefined) return;
    const { resource, revision } = oldest.change;
    this.#ofResource(resource).shift();
    this.#forgotten.set(resource, revision);
    this.#bytes -= oldest.bytes;
  }

  #ofResource(resource: string): Queue<StorageChange> {
    const found = this.#byResource.get(resource) ?? new Queue<StorageChange>();
    this.#byResource.set(resource, found);
    return found;
  }
}

/** A list that grows at its end and shrinks at its front. */
class Queue<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first++] = undefined;
    if (this.#first >= holesAtOnce) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  /** The condition holds for all after the first for which it holds. */
  firstWhere(holds: (item: T) => boolean): T | undefined {
    return this.#items[this.#indexWhere(holds)];
  }

  fromWhere(holds: (item: T) => boolean): T[] {
    return this.#items.slice(this.#indexWhere(holds)).filter((item) => item !== undefined);
  }

  #indexWhere(holds: (item: T) => boolean): number {
    let low = this.#first;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.#items[middle];
      if (item !== undefined && holds(item)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
