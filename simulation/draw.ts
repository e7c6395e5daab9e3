/** Draws by chance that can be repeated. */
import { seededRandom } from '../test/sim/seeded-random.js';

export class Draw {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A whole number from 0 on. */
  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  of<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }

  /** By weights. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T | undefined {
    let left = this.random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return undefined;
  }
}

/** Another seed for each pair of numbers. */
export function mixedSeed(seed: number, number: number): number {
  let mixed = (seed ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0;
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
