/** Counts observations in many narrow buckets, made as they are needed: what Prometheus calls a native histogram. */

/** Each bound is at most this much larger than the one before. */
const growth = 1.1;
/** Beyond it neighbours are put together, so that odd values cannot make a series large. */
const maxBuckets = 160;
/** Smaller values count as zero. */
export const zeroThreshold = 2 ** -128;

/** The finest resolution whose buckets grow by no more: 2^schema of them for each doubling. */
const firstSchema = Math.ceil(-Math.log2(Math.log2(growth)));

export class NativeBuckets {
  #schema = firstSchema;
  #zeroCount = 0;
  /** Counts by bucket: bucket `i` ends at 2^(i/2^schema). */
  #positive = new Map<number, number>();
  #negative = new Map<number, number>();

  get schema(): number {
    return this.#schema;
  }

  get zeroCount(): number {
    return this.#zeroCount;
  }

  /** In ascending order. */
  get positive(): readonly (readonly [index: number, count: number])[] {
    return sorted(this.#positive);
  }

  get negative(): readonly (readonly [index: number, count: number])[] {
    return sorted(this.#negative);
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) return;
    if (Math.abs(value) <= zeroThreshold) {
      this.#zeroCount++;
      return;
    }
    const buckets = value > 0 ? this.#positive : this.#negative;
    const index = bucketOf(Math.abs(value), this.#schema);
    buckets.set(index, (buckets.get(index) ?? 0) + 1);
    while (this.#positive.size + this.#negative.size > maxBuckets) this.#coarsen();
  }

  #coarsen(): void {
    this.#schema--;
    this.#positive = halved(this.#positive);
    this.#negative = halved(this.#negative);
  }
}

/** The bucket whose upper bound is the first that is not below the value. */
function bucketOf(value: number, schema: number): number {
  const perDoubling = 2 ** schema;
  const guess = Math.ceil(Math.log2(value) * perDoubling);
  // Logarithms of bounds are not exact.
  return 2 ** ((guess - 1) / perDoubling) >= value ? guess - 1 : guess;
}

function halved(buckets: ReadonlyMap<number, number>): Map<number, number> {
  const wider = new Map<number, number>();
  for (const [index, count] of buckets) {
    const into = Math.ceil(index / 2);
    wider.set(into, (wider.get(into) ?? 0) + count);
  }
  return wider;
}

function sorted(buckets: ReadonlyMap<number, number>): readonly (readonly [number, number])[] {
  return [...buckets].sort(([a], [b]) => a - b);
}
