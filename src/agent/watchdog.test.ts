/** When the watchdog of systemd hears from the agent. */
import { describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../async/index.js';
import { Timeline } from '../timeline/index.js';
import { runWatchdog, watchdogPeriodMs } from './watchdog.js';

describe('watchdogPeriodMs', () => {
  it.each<[string, NodeJS.ProcessEnv, number | undefined | RegExp]>([
    ['not asked for', {}, undefined],
    ['zero', { WATCHDOG_USEC: '0' }, undefined],
    ['ten seconds', { WATCHDOG_USEC: '10000000' }, 5_000],
    ['meant for this process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '7' }, 5_000],
    ['meant for another process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '8' }, undefined],
    ['half a second', { WATCHDOG_USEC: '500000' }, /configure watchdog timeout too small: 500ms/],
    ['no number', { WATCHDOG_USEC: 'soon' }, /create health checker: configure watchdog: /],
  ])('%s', (_rule, env, expected) => {
    if (expected instanceof RegExp) expect(() => watchdogPeriodMs(env, 7)).toThrow(expected);
    else expect(watchdogPeriodMs(env, 7)).toBe(expected);
  });
});

it('tells systemd every period while all checks pass', async () => {
  const clock = new VirtualClock();
  const told: string[] = [];
  let problem: string | undefined;
  const tasks = new TaskGroup({ onError: () => {} });
  tasks.start('watchdog', (signal) =>
    runWatchdog(
      {
        clock,
        timeline: new Timeline({ clock }),
        periodMs: 5_000,
        checks: [{ name: 'syncloop', check: () => problem }],
        notify: async (state) => void told.push(state),
      },
      signal,
    ),
  );
  await clock.advance(10_000);
  problem = 'stuck';
  await clock.advance(10_000);
  expect(told).toEqual(['WATCHDOG=1', 'WATCHDOG=1']);
  await tasks.stop();
});
