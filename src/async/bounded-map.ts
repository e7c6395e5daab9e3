/** A map with limits: beyond them it forgets what was set or used longest ago. */

export interface BoundedMapOptions<K, V> {
  readonly maxEntries: number;
  /** Of what `bytesOf` says of all entries together. A larger entry is kept only while it is the newest. */
  readonly maxBytes?: number;
  /** What an entry takes. It must say the same of an entry for as long as the entry is there. */
  readonly bytesOf?: (key: K, value: V) => number;
}

export class BoundedMap<K, V> {
  readonly #options: BoundedMapOptions<K, V>;
  /** The one to forget next is the first. */
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

  /** As `get`; what is used is forgotten later. */
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
    // The key is there, so the value is what was set with it.
    this.#bytes -= this.#options.bytesOf?.(key, value as V) ?? 0;
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  /** Those that are forgotten first come first. */
  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }
}

const beyondLatin1 = /[\u0100-\uffff]/;
const headerBytes = 16;

/** What texts take in memory: a byte for each character, or two where one of them is beyond Latin-1. */
export function textBytes(...texts: readonly (string | undefined)[]): number {
  let bytes = 0;
  for (const text of texts) {
    if (text === undefined) continue;
    // The test also makes one piece of a text that was put together, which is then kept without its parts.
    bytes += headerBytes + text.length * (beyondLatin1.test(text) ? 2 : 1);
  }
  return bytes;
}
