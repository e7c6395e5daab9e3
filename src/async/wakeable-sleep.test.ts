import { expect, it } from 'vitest';
import { Cancelled } from './clock.js';
import { VirtualClock } from './virtual-clock.js';
import { WakeableSleep } from './wakeable-sleep.js';

it('ends after its duration, when woken, or when aborted', async () => {
  const clock = new VirtualClock();
  const rest = new WakeableSleep();
  const stop = new AbortController();
  const sleeps = async (): Promise<string> => {
    const startMs = clock.monotonic();
    await rest.sleep(clock, 1_000, stop.signal);
    return `${clock.monotonic() - startMs} ms`;
  };
  const whole = sleeps();
  await clock.advance(1_000);
  expect(await whole).toBe('1000 ms');

  const woken = sleeps();
  await clock.advance(300);
  rest.wake();
  expect(await woken).toBe('300 ms');

  rest.wake();
  const cancelled = sleeps();
  stop.abort();
  await expect(cancelled).rejects.toThrow(Cancelled);
});
