import { expect, it } from 'vitest';
import { Alarm } from './alarm.js';
import { VirtualClock } from './virtual-clock.js';

function start() {
  const clock = new VirtualClock();
  const rungMs: number[] = [];
  return { clock, rungMs, alarm: new Alarm(clock, () => rungMs.push(clock.monotonic())) };
}

it.each<[string, readonly number[], readonly number[]]>([
  ['rings once after its delay', [30], [30]],
  ['rings at the earliest wish', [30, 10, 20], [10]],
  ['a later wish changes nothing', [10, 30], [10]],
])('%s', async (_, wishesMs, expected) => {
  const { clock, rungMs, alarm } = start();
  for (const wishMs of wishesMs) alarm.within(wishMs);
  expect(clock.pendingTimers).toBe(1);
  await clock.advance(100);
  expect(rungMs).toEqual(expected);
});

it('rings again when it is wanted again', async () => {
  const { clock, rungMs, alarm } = start();
  alarm.within(10);
  await clock.advance(20);
  alarm.within(10);
  await clock.advance(20);
  expect(rungMs).toEqual([10, 30]);
});

it('does not ring once it is cancelled, and can be wanted anew', async () => {
  const { clock, rungMs, alarm } = start();
  alarm.within(10);
  alarm.cancel();
  expect(clock.pendingTimers).toBe(0);
  alarm.within(50);
  await clock.advance(100);
  expect(rungMs).toEqual([50]);
});
