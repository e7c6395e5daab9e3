import { expect, it } from 'vitest';
import { isOwnDelay } from './own-delay.js';

it.each([
  ['refused at once', { timeoutMs: 1000, tookMs: 3, busyMs: 3 }, false],
  ['refused while busy', { timeoutMs: 1000, tookMs: 900, busyMs: 890 }, false],
  ['timed out, nothing else to do', { timeoutMs: 1000, tookMs: 1002, busyMs: 5 }, false],
  ['timed out, a timer late as usual', { timeoutMs: 1000, tookMs: 1090, busyMs: 100 }, false],
  ['timed out, the timer was late', { timeoutMs: 1000, tookMs: 1101, busyMs: 0 }, true],
  ['timed out, busy for half of it', { timeoutMs: 1000, tookMs: 1001, busyMs: 501 }, true],
  ['timed out, busy for less', { timeoutMs: 1000, tookMs: 1001, busyMs: 500 }, false],
  ['a long timeout allows for more', { timeoutMs: 30_000, tookMs: 32_000, busyMs: 4000 }, false],
])('%s', (_, times, expected) => {
  expect(isOwnDelay(times)).toBe(expected);
});
