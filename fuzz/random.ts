/** Numbers that only look random: the same for the same seed, target and input, so that every input can be made again. */

export interface Random {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** True once in so many times. */
  oneIn(count: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** The numbers that belong to one input of one target. */
export function randomOf(seed: number, target: string, input: number): Random {
  let state = seed >>> 0;
  for (const char of target) state = Math.imul(state ^ char.charCodeAt(0), 0x01000193) >>> 0;
  state = (state ^ Math.imul(input >>> 0, 0x9e3779b1) ^ Math.floor(input / 2 ** 32)) >>> 0;
  const next = (): number => {
    // Mulberry32: one state word, good enough to choose mutations by.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    oneIn: (count) => below(count) === 0,
    pick: (items) => {
      const item = items[below(items.length)];
      // The index is below the length, and nobody picks from nothing.
      return item as (typeof items)[number];
    },
  };
}
