import { describe, expect, it } from 'vitest';
import { Backoff } from '../../async/index.js';
import type { Container } from '../../kube/index.js';
import { type BackOffInput, crashLoopKey, crashLoopWait } from '../plan/back-off.js';
import { container, exited, makePod, makeStatus } from '../test-fixtures.js';
import { beginAttempt, crashLoopDelays } from './crash-loop.js';

interface Check extends Omit<BackOffInput, 'backOff'> {
  readonly container: Container;
}

/** The message of a start that must wait; undefined when it was attempted. */
function attempt(backoff: Backoff, { container: one, ...check }: Check) {
  const wait = crashLoopWait({ ...check, backOff: backoff }, one);
  if (wait === undefined) beginAttempt(backoff, check, one)();
  return wait;
}

describe('crash-loop back-off', () => {
  const pod = makePod({ containers: [container('app')] });
  const app = pod.spec.containers[0]!;
  const ended = (atMs: number, wanted = pod) =>
    makeStatus(wanted, [exited('app', 1, { finishedAtNs: BigInt(atMs) * 1_000_000n })]);
  /** How long each restart waited when every run lasts `runMs`. */
  function waits(
    backoff: Backoff,
    restarts: number,
    runMs: number,
    startMs = 1_000_000,
  ): { list: number[]; endMs: number } {
    const list: number[] = [];
    let nowMs = startMs;
    for (let i = 0; i < restarts; i++) {
      const exitMs = nowMs + runMs;
      const check = (atMs: number) =>
        attempt(backoff, { pod, container: app, status: ended(exitMs), nowMs: atMs });
      const waiting = check(exitMs);
      nowMs = waiting?.untilMs ?? exitMs;
      if (waiting !== undefined) {
        expect(check(nowMs - 1)?.untilMs).toBe(nowMs);
        expect(check(nowMs)).toBeUndefined();
      }
      list.push((nowMs - exitMs) / 1000);
    }
    return { list, endMs: nowMs };
  }

  it('delays double up to the maximum, and a long run resets them', () => {
    const backoff = new Backoff(crashLoopDelays());
    const first = waits(backoff, 8, 0);
    expect(first.list).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    expect(waits(backoff, 1, 600_001, first.endMs).list).toEqual([0]);
    expect(waits(backoff, 2, 0, first.endMs + 600_001).list).toEqual([10, 20]);
  });

  it('another image starts at once', () => {
    const backoff = new Backoff(crashLoopDelays());
    waits(backoff, 3, 0);
    const edited = container('app', { image: 'example/app:2' });
    expect(
      attempt(backoff, { pod, container: edited, status: ended(5_000_000), nowMs: 5_000_000 }),
    ).toBeUndefined();
    expect(crashLoopKey(pod, edited)).not.toBe(crashLoopKey(pod, app));
    expect(crashLoopKey(pod, container('app', { resources: { limits: { cpu: '1' } } }))).not.toBe(
      crashLoopKey(pod, app),
    );
  });

  it('has its delay, its container and its end', () => {
    const backoff = new Backoff(crashLoopDelays());
    waits(backoff, 4, 0);
    const status = ended(1_500_000);
    const wait = attempt(backoff, { pod, container: app, status, nowMs: 1_501_000 });
    expect(wait?.message).toBe('back-off 1m20s restarting failed container=app pod=web_shop(uid-1)');
    expect(wait?.untilMs).toBe(1_580_000);
  });

  it('a start that was not attempted sets no delay', () => {
    const backoff = new Backoff(crashLoopDelays());
    const check = { pod, status: ended(1_000_000), nowMs: 1_000_000 };
    for (let i = 0; i < 2; i++) {
      expect(crashLoopWait({ ...check, backOff: backoff }, app)).toBeUndefined();
      beginAttempt(backoff, check, app);
    }
    expect(backoff.size).toBe(0);
  });

  it('a start during a back-off keeps the delay', () => {
    const backoff = new Backoff(crashLoopDelays());
    const check = { pod, container: app, status: ended(1_000_000), nowMs: 1_000_000 };
    attempt(backoff, check);
    beginAttempt(backoff, check, app)();
    expect(backoff.delayMs(crashLoopKey(pod, app))).toBe(10_000);
  });

  it('a container that never exited does not wait', () => {
    const backoff = new Backoff(crashLoopDelays());
    expect(attempt(backoff, { pod, container: app, status: makeStatus(pod, []), nowMs: 0 })).toBeUndefined();
    expect(backoff.size).toBe(0);
  });
});

describe('crashLoopDelays', () => {
  it.each([
    ['10 s to 5 min by default', {}, 10_000, 300_000],
    ['up to the configured maximum', { maxMs: 60_000 }, 10_000, 60_000],
    ['a maximum below the first delay is the first delay', { maxMs: 2_000 }, 2_000, 2_000],
    ['1 s to 1 min when reduced', { reduced: true }, 1_000, 60_000],
    ['the configured maximum holds when reduced, too', { maxMs: 300_000, reduced: true }, 1_000, 300_000],
  ])('%s', (_, settings, initialMs, maxMs) => {
    expect(crashLoopDelays(settings)).toEqual({ initialMs, maxMs, resetAfterMs: 600_000 });
  });
});
