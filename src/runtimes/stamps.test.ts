/** How stamps follow a clock. */
import { expect, it } from 'vitest';
import { createStamps } from './stamps.js';

it.each([
  ['a clock that stands still', [5, 5, 5], [5_000_000n, 5_000_001n, 5_000_002n]],
  ['a clock that goes on', [5, 6], [5_000_000n, 6_000_000n]],
  ['a clock that is a little behind', [5, 4], [5_000_000n, 5_000_001n]],
  ['a clock that was set back an hour', [3_600_005, 5, 6], [3_600_005_000_000n, 5_000_000n, 6_000_000n]],
])('%s', (_, nowMs, expected) => {
  let at = 0;
  const stamp = createStamps(() => nowMs[at++]!);
  expect(nowMs.map(() => stamp())).toEqual(expected);
});
