import { describe, expect, it } from 'vitest';
import { type Clock, VirtualClock } from '../../async/index.js';
import { RelistSchedule } from './relist-schedule.js';

/** Like real clocks: a timer may fire before its time by the other clock. */
function earlyClock(time: VirtualClock, earlyMs: number): Clock {
  return {
    now: () => time.now(),
    monotonic: () => time.monotonic(),
    setTimer: (delayMs, fire) => time.setTimer(Math.max(delayMs - earlyMs, earlyMs), fire),
  };
}

describe('RelistSchedule', () => {
  it('wakes when a relist is due even if the timer fired early', async () => {
    const time = new VirtualClock();
    const dueAtWake: boolean[] = [];
    const schedule = new RelistSchedule(earlyClock(time, 1), () => dueAtWake.push(schedule.isDue));
    schedule.ended(1_000);
    schedule.start();
    await time.advance(999);
    expect(dueAtWake).toEqual([]);
    await time.advance(1);
    expect(dueAtWake).toEqual([true]);
    schedule.stop();
  });
});
