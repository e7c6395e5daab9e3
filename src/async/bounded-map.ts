/** A map with limits; past them it drops the entries set or used longest ago. */

export interface BoundedMapOptions<K, V> {
  readonly maxEntries: number;
  /** Limit on the sum of `bytesOf` over all entries. A larger entry stays only while it is the newest. */
  readonly maxBytes?: number;
  /** Size of an entry. Must not change while the entry is in the map. */
  readonly bytesOf?: (key: K, value: V) => number;
}

export class BoundedMap<K, V> {
  readonly #options: BoundedMapOptions<K, V>;
  /** In eviction order: the first entry goes first. */
  readonly #entries = new Map<K, V>();
  #bytes = 0;

  constructor(options: BoundedMapOptions<K, V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Like `get`, and marks the entry as recently used. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#bytes += this.#options.bytesOf?.(key, value) ?? 0;
    const { maxEntries, maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#bytes <= maxBytes) return;
      if (oldest !== key) this.delete(oldest);
    }
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key);
    // A value may be undefined.
    if (value === undefined && !this.#entries.has(key)) return false;
    this.#entries.delete(key);
    // The key is present, so the value is the one set with it.
    this.#bytes -= this.#options.bytesOf?.(key, value as V) ?? 0;
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  /** In eviction order. */
  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }
}

const beyondLatin1 = /[\u0100-\uffff]/;
const headerBytes = 16;

/** Memory taken by texts: one byte per character, or two if any character is beyond Latin-1. */
export function textBytes(...texts: readonly (string | undefined)[]): number {
  let bytes = 0;
  for (const text of texts) {
    if (text === undefined) continue;
    // The regex test also flattens a concatenated string, so that its parts are not kept.
    bytes += headerBytes + text.length * (beyondLatin1.test(text) ? 2 : 1);
  }
  return bytes;
}
