/** When the watchdog of systemd hears from the agent. */
import { describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../async/index.js';
import { Timeline } from '../timeline/index.js';
import { runWatchdog, watchdogPeriodMs } from './watchdog.js';

const create = 'create health checker: configure watchdog';

describe('watchdogPeriodMs', () => {
  it.each<[string, NodeJS.ProcessEnv, number | undefined | string]>([
    ['not asked for', {}, undefined],
    ['empty', { WATCHDOG_USEC: '' }, undefined],
    ['ten seconds', { WATCHDOG_USEC: '10000000' }, 5_000],
    ['meant for this process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '7' }, 5_000],
    ['meant for another process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '8' }, undefined],
    ['too short, but for another process', { WATCHDOG_USEC: '500000', WATCHDOG_PID: '8' }, undefined],
    ['zero', { WATCHDOG_USEC: '0' }, `${create}: error WATCHDOG_USEC must be a positive number`],
    [
      'zero for another process',
      { WATCHDOG_USEC: '0', WATCHDOG_PID: '8' },
      `${create}: error WATCHDOG_USEC must be a positive number`,
    ],
    ['negative', { WATCHDOG_USEC: '-5' }, `${create}: error WATCHDOG_USEC must be a positive number`],
    ['half a second', { WATCHDOG_USEC: '500000' }, `${create} timeout too small: 500ms`],
    ['one second', { WATCHDOG_USEC: '1000000' }, `${create} timeout too small: 1s`],
    [
      'no number',
      { WATCHDOG_USEC: 'abc' },
      `${create}: error converting WATCHDOG_USEC: strconv.Atoi: parsing "abc": invalid syntax`,
    ],
    [
      'more than 64 bits',
      { WATCHDOG_USEC: '9223372036854775808' },
      `${create}: error converting WATCHDOG_USEC: strconv.Atoi: parsing "9223372036854775808": value out of range`,
    ],
    [
      'a process that is no number',
      { WATCHDOG_USEC: '10000000', WATCHDOG_PID: 'me' },
      `${create}: error converting WATCHDOG_PID: strconv.Atoi: parsing "me": invalid syntax`,
    ],
  ])('%s', (_rule, env, expected) => {
    if (typeof expected === 'string') expect(() => watchdogPeriodMs(env, 7)).toThrow(new Error(expected));
    else expect(watchdogPeriodMs(env, 7)).toBe(expected);
  });
});

interface Watched {
  readonly clock: VirtualClock;
  readonly tasks: TaskGroup;
  /** When systemd was told, in milliseconds from the start. */
  readonly told: number[];
  readonly problems: (string | undefined)[];
}

function watch(
  notify: () => Promise<boolean>,
  checks: Parameters<typeof runWatchdog>[0]['checks'] = [],
): Watched {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const told: number[] = [];
  const problems: (string | undefined)[] = [];
  timeline.subscribe(({ because, error }) => void problems.push(because ?? error));
  const tasks = new TaskGroup({ onError: () => {} });
  const tell = async (): Promise<boolean> => {
    told.push(clock.monotonic());
    return notify();
  };
  const options = { clock, timeline, periodMs: 5_000, checks, notify: tell, random: () => 0.5 };
  tasks.start('watchdog', (signal) => runWatchdog(options, signal));
  return { clock, tasks, told, problems };
}

it('tells systemd at once and every period while all checks pass', async () => {
  let problem: string | undefined;
  const checks = ['first', 'syncloop', 'last'].map((name) => ({
    name,
    check: () => (name === 'first' ? undefined : problem),
  }));
  const { clock, tasks, told, problems } = watch(async () => true, checks);
  await clock.advance(5_000);
  problem = 'stuck';
  await clock.advance(10_000);
  problem = undefined;
  await clock.advance(5_000);
  expect(told).toEqual([0, 5_000, 20_000]);
  expect(problems).toEqual(['checker syncloop failed: stuck', 'checker syncloop failed: stuck']);
  await tasks.stop();
});

it('tries once more, a second later, when systemd cannot be told', async () => {
  let failures = 1;
  const { clock, tasks, told, problems } = watch(async () => {
    failures -= 1;
    if (failures >= 0) throw new Error('no room');
    return true;
  });
  await clock.advance(2_000);
  expect([told, problems]).toEqual([[0, 1_050], []]);
  failures = 2;
  await clock.advance(6_000);
  expect([told, problems]).toEqual([[0, 1_050, 6_050, 7_100], ['no room']]);
  await tasks.stop();
});

it('does not try again where nobody listens', async () => {
  const { clock, tasks, told, problems } = watch(async () => false);
  await clock.advance(4_000);
  expect([told, problems]).toEqual([[0], ['NOTIFY_SOCKET is not set']]);
  await tasks.stop();
});
