/** What is decided at a shutdown of the machine: groups, graces, the state file, and how long logind must wait. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import {
  podsByGroup,
  type ShutdownPeriods,
  shutdownDelayMs,
  shutdownGraceSeconds,
  shutdownGroups,
} from './groups.js';
import { ensureInhibitDelay, logindOverridePath, logindOverrideText } from './inhibit-delay.js';
import { PrepareEvents } from './prepare-events.js';
import { parseShutdownState, shutdownStateText, unixSeconds } from './state.js';

const periods = (totalMs: number, criticalMs: number): ShutdownPeriods => ({
  shutdownGracePeriod: totalMs,
  shutdownGracePeriodCriticalPods: criticalMs,
  shutdownGracePeriodByPodPriority: [],
});

const pod = (name: string, priority?: number, graceSeconds?: number): Pod => ({
  metadata: { name, uid: name, namespace: 'default' },
  spec: { containers: [], priority, terminationGracePeriodSeconds: graceSeconds },
});

describe('groups', () => {
  it.each<[rule: string, config: ShutdownPeriods, groups: readonly (readonly [number, number])[]]>([
    ['no period, no groups', periods(0, 0), []],
    [
      'the part of critical pods comes last',
      periods(300_000, 120_000),
      [
        [0, 180],
        [2_000_000_000, 120],
      ],
    ],
    [
      'parts of a second are cut',
      periods(10_900, 2_500),
      [
        [0, 8],
        [2_000_000_000, 2],
      ],
    ],
    [
      'critical pods may have no time of their own',
      periods(30_000, 0),
      [
        [0, 30],
        [2_000_000_000, 0],
      ],
    ],
    [
      'groups by priority are sorted',
      {
        ...periods(0, 0),
        shutdownGracePeriodByPodPriority: [
          { priority: 1000, shutdownGracePeriodSeconds: 5 },
          { priority: -10, shutdownGracePeriodSeconds: 7 },
        ],
      },
      [
        [-10, 7],
        [1000, 5],
      ],
    ],
  ])('%s', (_rule, config, groups) => {
    expect(shutdownGroups(config).map(({ priority, periodSeconds }) => [priority, periodSeconds])).toEqual(
      groups,
    );
  });

  it('the delay is the sum of all groups', () => {
    expect(shutdownDelayMs(shutdownGroups(periods(300_000, 120_000)))).toBe(300_000);
  });

  const groups = [0, 1000, 100_000].map((priority) => ({ priority, periodSeconds: 60 }));

  it.each<[priority: number | undefined, group: number]>([
    [-5, 0],
    [undefined, 0],
    [999, 0],
    [1000, 1000],
    [5_000_000, 100_000],
  ])('a pod of priority %s is in the group of %s', (priority, group) => {
    expect(podsByGroup(groups, [pod('a', priority)]).map((each) => each.priority)).toEqual([group]);
  });

  it('groups without pods are left out, the others go by priority', () => {
    const found = podsByGroup(groups, [pod('high', 100_001), pod('low', 1), pod('other', 2)]);
    expect(
      found.map(({ priority, pods }) => [priority, ...pods.map(({ metadata }) => metadata.name)]),
    ).toEqual([
      [0, 'low', 'other'],
      [100_000, 'high'],
    ]);
  });

  it.each<[podGrace: number | undefined, grace: number]>([
    [30, 30],
    [120, 60],
    [undefined, 60],
  ])('a pod with a grace of %s s has %s s in a group of 60 s', (podGrace, grace) => {
    expect(shutdownGraceSeconds({ priority: 0, periodSeconds: 60 }, pod('a', 0, podGrace))).toBe(grace);
  });
});

describe('the state file', () => {
  const startMs = Date.UTC(2026, 0, 2, 3, 4, 5, 600);

  it('has the names and the zero time of the reference', () => {
    expect(shutdownStateText({ startMs, endMs: undefined })).toBe(
      '{"startTime":"2026-01-02T03:04:05.600Z","endTime":"0001-01-01T00:00:00Z"}',
    );
  });

  it('is read back, and as the reference writes it', () => {
    expect(parseShutdownState(shutdownStateText({ startMs, endMs: undefined }))).toEqual({
      startMs,
      endMs: undefined,
    });
    expect(
      parseShutdownState(
        '{"startTime":"2026-01-02T04:04:05.600000001+01:00","endTime":"2026-01-02T03:04:06Z"}',
      ),
    ).toEqual({ startMs, endMs: startMs + 400 });
    expect(parseShutdownState('{}')).toEqual({ startMs: undefined, endMs: undefined });
  });

  it.each(['', '{', 'null', '7', '{"startTime":5}', '{"startTime":"soon"}'])('refuses %s', (text) => {
    expect(() => parseShutdownState(text)).toThrow();
  });

  it('counts whole seconds', () => {
    expect([unixSeconds(startMs), unixSeconds(undefined)]).toEqual([1_767_323_045, 0]);
  });
});

describe('the delay of logind', () => {
  /** A logind that has the given delays, one for each time it is asked. */
  async function ensure(delaysMs: readonly number[], wantedMs: number, writeFile = async () => {}) {
    const clock = new VirtualClock();
    const calls: string[] = [];
    const left = [...delaysMs];
    const outcome = ensureInhibitDelay(
      {
        clock,
        logind: {
          inhibitDelayMaxMs: async () => {
            calls.push(`read at ${clock.monotonic()}`);
            return left.shift() ?? delaysMs.at(-1) ?? 0;
          },
          reloadConfiguration: async () => void calls.push('reload'),
        },
        writeFile: async (path) => {
          await writeFile();
          calls.push(`write ${path}`);
        },
      },
      wantedMs,
      new AbortController().signal,
    ).then(
      () => 'enough',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    );
    await clock.advance(10_000);
    return { outcome: await outcome, calls };
  }

  it('is left alone where it is long enough', async () => {
    expect(await ensure([30_000], 30_000)).toEqual({ outcome: 'enough', calls: ['read at 0'] });
  });

  it('is overridden and read again with growing pauses', async () => {
    expect(await ensure([5_000, 5_000, 5_000, 300_000], 300_000)).toEqual({
      outcome: 'enough',
      calls: [
        'read at 0',
        `write ${logindOverridePath}`,
        'reload',
        'read at 0',
        'read at 100',
        'read at 300',
      ],
    });
    expect(logindOverrideText(300_000)).toBe('# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=300\n');
  });

  it('is given up after five attempts', async () => {
    const { outcome, calls } = await ensure([5_000], 300_000);
    expect(outcome).toBe(
      'node shutdown manager was timed out after 5 attempts waiting for logind InhibitDelayMaxSec to update to 5m0s (ShutdownGracePeriod), current value is 5s',
    );
    expect(calls.filter((call) => call.startsWith('read')).at(-1)).toBe('read at 1500');
  });

  it('is given up where it cannot be overridden', async () => {
    const { outcome } = await ensure([5_000], 300_000, () =>
      Promise.reject(new Error('read-only file system')),
    );
    expect(outcome).toBe('unable to override inhibit delay by shutdown manager: read-only file system');
  });
});

describe('signals that wait', () => {
  it('are kept in order, the same one once, and never many', () => {
    const events = new PrepareEvents(() => {});
    events.add(true);
    events.add(true);
    events.add(false);
    expect([events.take(), events.take(), events.take()]).toEqual([true, false, undefined]);
    for (let signal = 0; signal < 1001; signal++) events.add(signal % 2 === 0);
    let taken = 0;
    let last: boolean | undefined;
    for (let next = events.take(); next !== undefined; next = events.take()) {
      last = next;
      taken += 1;
    }
    expect([taken <= 8, last]).toEqual([true, true]);
  });
});
