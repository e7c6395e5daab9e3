import { expect, it } from 'vitest';
import { RecentlyRemoved } from './recently-removed.js';

it('remembers the last thousand', () => {
  const removals = new RecentlyRemoved();
  for (let n = 0; n <= 1000; n++) removals.add(`id-${n}`);
  expect([0, 1, 1000, 1001].map((n) => removals.has(`id-${n}`))).toEqual([false, true, true, false]);
});
