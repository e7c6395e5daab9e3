/** Chance that a replay has again: the record holds its seed. */
import { createHash } from 'node:crypto';

/** Numbers in [0, 1), the same ones for the same seed. */
export function randomOf(seed: string): () => number {
  let block = createHash('sha256').update(seed).digest();
  let used = 0;
  return () => {
    if (used + 6 > block.length) {
      block = createHash('sha256').update(block).digest();
      used = 0;
    }
    const drawn = block.readUIntBE(used, 6);
    used += 6;
    return drawn / 2 ** 48;
  };
}
