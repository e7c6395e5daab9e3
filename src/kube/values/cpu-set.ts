/** Sets of CPUs, written as Linux writes them: `0-3,8`. */

/** No machine has more CPUs. A larger range is a typing mistake and must not fill the memory. */
const highestCpu = (1 << 16) - 1;
/** CPUs may be listed twice, but a list that says them over and over must not hold up the agent. */
const mostListed = 4 * (highestCpu + 1);

/** Immutable. Equal sets have equal texts. */
export class CpuSet implements Iterable<number> {
  static readonly empty = new CpuSet([]);

  /** Bit b of word w is CPU 32·w + b; the last word is never 0. */
  readonly #words: readonly number[];
  /** Counted when first asked for: -1 until then. */
  #size = -1;

  private constructor(words: readonly number[]) {
    this.#words = words;
  }

  static of(cpus: Iterable<number>): CpuSet {
    const words: number[] = [];
    for (const cpu of cpus) {
      if (!Number.isInteger(cpu) || cpu < 0 || cpu > highestCpu) throw new Error(beyond(cpu));
      const word = cpu >>> 5;
      while (words.length <= word) words.push(0);
      words[word] = (words[word] ?? 0) | (1 << (cpu & 31));
    }
    return CpuSet.#made(words);
  }

  /** Throws an error with the reason when the text is not a CPU list. */
  static parse(text: string): CpuSet {
    if (text === '') return CpuSet.empty;
    const cpus = new Set<number>();
    let listed = 0;
    for (const part of text.split(',')) {
      const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
      if (from === undefined) throw new Error(`"${part}" is neither a CPU number nor a range such as 0-3`);
      const first = Number(from);
      const last = Number(to);
      if (first > last) throw new Error(`invalid range "${part}" (${first} > ${last})`);
      if (last > highestCpu) throw new Error(beyond(last));
      listed += last - first + 1;
      if (listed > mostListed) throw new Error('the list names the same CPUs too often');
      for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
    }
    return CpuSet.of(cpus);
  }

  static union(sets: Iterable<CpuSet>): CpuSet {
    const words: number[] = [];
    for (const set of sets) {
      const others = set.#words;
      for (let at = 0; at < others.length; at++) words[at] = (words[at] ?? 0) | (others[at] ?? 0);
    }
    return CpuSet.#made(words);
  }

  get size(): number {
    if (this.#size < 0) this.#size = this.#words.reduce((sum, word) => sum + bitCount(word), 0);
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#words.length === 0;
  }

  has(cpu: number): boolean {
    return (((this.#words[cpu >>> 5] ?? 0) >>> (cpu & 31)) & 1) === 1;
  }

  union(other: CpuSet): CpuSet {
    const others = other.#words;
    const length = Math.max(this.#words.length, others.length);
    return CpuSet.#made(Array.from({ length }, (_, at) => (this.#words[at] ?? 0) | (others[at] ?? 0)));
  }

  intersection(other: CpuSet): CpuSet {
    const others = other.#words;
    return CpuSet.#made(this.#words.slice(0, others.length).map((word, at) => word & (others[at] ?? 0)));
  }

  difference(other: CpuSet): CpuSet {
    const others = other.#words;
    return CpuSet.#made(this.#words.map((word, at) => word & ~(others[at] ?? 0)));
  }

  isSubsetOf(other: CpuSet): boolean {
    return this.difference(other).isEmpty;
  }

  equals(other: CpuSet): boolean {
    const others = other.#words;
    return this.#words.length === others.length && this.#words.every((word, at) => word === others[at]);
  }

  /** How many CPUs are in both sets. */
  sizeWith(other: CpuSet): number {
    const [words, others] = [this.#words, other.#words];
    let size = 0;
    for (let at = Math.min(words.length, others.length) - 1; at >= 0; at--) {
      size += bitCount((words[at] ?? 0) & (others[at] ?? 0));
    }
    return size;
  }

  /** By ascending id. */
  toArray(): number[] {
    const cpus: number[] = [];
    for (let at = 0; at < this.#words.length; at++) {
      for (let left = this.#words[at] ?? 0; left !== 0; left &= left - 1) {
        cpus.push(32 * at + 31 - Math.clz32(left & -left));
      }
    }
    return cpus;
  }

  /** By ascending id. */
  [Symbol.iterator](): IterableIterator<number> {
    return this.toArray().values();
  }

  toString(): string {
    const ranges: { readonly first: number; last: number }[] = [];
    for (const cpu of this.toArray()) {
      const range = ranges.at(-1);
      if (range !== undefined && cpu === range.last + 1) range.last = cpu;
      else ranges.push({ first: cpu, last: cpu });
    }
    return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
  }

  /** Takes over the words. */
  static #made(words: number[]): CpuSet {
    while (words.at(-1) === 0) words.pop();
    return words.length === 0 ? CpuSet.empty : new CpuSet(words);
  }
}

function bitCount(word: number): number {
  // Sums of pairs of bits, then of four, then of eight; the product adds the four bytes.
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function beyond(cpu: number): string {
  return `CPU ${cpu} is beyond any machine`;
}
