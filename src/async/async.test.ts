import { describe, expect, it } from 'vitest';
import { Backoff } from './backoff.js';
import {
  Cancelled,
  isCausedByCancellation,
  jitter,
  sleep,
  systemClock,
  TimedOut,
  withTimeout,
} from './clock.js';
import { systemErrorCode } from './error-text.js';
import { Gate } from './gate.js';
import { TaskGroup } from './task-group.js';
import { settle, VirtualClock } from './virtual-clock.js';
import { WorkQueue } from './work-queue.js';

describe('errors', () => {
  const wrap = (cause: unknown): Error => new Error('context canceled', { cause });
  it.each([
    ['itself', new Cancelled(), true],
    ['a cause', wrap(wrap(new Cancelled())), true],
    ['a cancelled gRPC call', wrap(Object.assign(new Error('x'), { codeName: 'Canceled' })), true],
    ['another code', Object.assign(new Error('x'), { codeName: 'Unknown' }), false],
    ['the text alone', wrap(undefined), false],
    ['no error', 'context canceled', false],
  ])('tell a cancellation by what they are: %s', (_, error, expected) => {
    expect(isCausedByCancellation(error)).toBe(expected);
  });
  it.each([
    ['a cause', wrap(Object.assign(new Error('x'), { code: 'ENOENT', syscall: 'connect' })), 'ENOENT'],
    ['not a code of another kind', Object.assign(new Error('x'), { code: 5 }), undefined],
    ['not the text', new Error('connect ENOENT /x'), undefined],
  ])('tell the code of a system error: %s', (_, error, code) => {
    expect(systemErrorCode(error)).toBe(code);
  });
});

describe('VirtualClock', () => {
  it('fires timers in order of their due time', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.setTimer(20, () => fired.push('b'));
    clock.setTimer(10, () => fired.push('a'));
    clock.setTimer(30, () => fired.push('c'));
    await clock.advance(20);
    expect(fired).toEqual(['a', 'b']);
    expect(clock.pendingTimers).toBe(1);
  });
  it('lets the work of one timer settle before the next', async () => {
    const clock = new VirtualClock();
    const stamps: number[] = [];
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 100);
        stamps.push(clock.monotonic());
      }
    };
    const running = loop();
    await clock.advance(1000);
    await running;
    expect(stamps).toEqual([100, 200, 300]);
  });
});

describe('systemClock', () => {
  it('never fires a timer early, though Node does', async () => {
    const earlyMs: number[] = [];
    const measure = async (): Promise<void> => {
      const sinceMs = systemClock.monotonic();
      await sleep(systemClock, 5);
      const spentMs = systemClock.monotonic() - sinceMs;
      if (spentMs < 5) earlyMs.push(spentMs);
    };
    // Started at all fractions of a millisecond to show Node's rounding: 1 in 60 of its own timers is early.
    for (let round = 0; round < 20; round++) {
      const timers: Promise<void>[] = [];
      for (let index = 0; index < 100; index++) timers.push(measure());
      await Promise.all(timers);
    }
    expect(earlyMs).toEqual([]);
  });

  it('does not fire a cancelled timer', async () => {
    let fired = false;
    systemClock.setTimer(1, () => (fired = true)).cancel();
    await sleep(systemClock, 5);
    expect(fired).toBe(false);
  });
});

describe('sleep and withTimeout', () => {
  it('sleep rejects at once on abort and leaves no timer', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, 1000, stop.signal);
    stop.abort();
    await expect(sleeping).rejects.toBeInstanceOf(Cancelled);
    expect(clock.pendingTimers).toBe(0);
  });
  it('withTimeout rejects even when the work ignores its signal', async () => {
    const clock = new VirtualClock();
    const result = withTimeout(clock, 50, undefined, () => new Promise<never>(() => {}));
    const seen = expect(result).rejects.toBeInstanceOf(TimedOut);
    await clock.advance(50);
    await seen;
    expect(clock.pendingTimers).toBe(0);
  });
  it('withTimeout passes the value through', async () => {
    expect(await withTimeout(new VirtualClock(), 50, undefined, async () => 5)).toBe(5);
  });
});

describe('WorkQueue', () => {
  it('returns each key when it is due; the last due time set wins', async () => {
    const clock = new VirtualClock();
    let wakes = 0;
    const queue = new WorkQueue<string>(clock, () => wakes++);
    queue.enqueue('a', 100);
    queue.enqueue('b', 50);
    queue.enqueue('a', 200);
    await clock.advance(60);
    expect(queue.take()).toEqual(['b']);
    await clock.advance(60);
    expect(queue.take()).toEqual([]);
    await clock.advance(100);
    expect(queue.take()).toEqual(['a']);
    expect(wakes).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('Backoff', () => {
  it('doubles from 10 s to 300 s and resets after a quiet time', () => {
    const backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 });
    const delays: number[] = [];
    let now = 0;
    for (let i = 0; i < 7; i++) {
      backoff.advance('k', now, now);
      delays.push(backoff.delayMs('k') / 1000);
      now += backoff.delayMs('k') + 1;
    }
    expect(delays).toEqual([10, 20, 40, 80, 160, 300, 300]);
    const exited = now + 700_000;
    expect(backoff.waiting('k', exited, exited)).toBeUndefined();
    backoff.advance('k', exited, exited);
    expect(backoff.delayMs('k')).toBe(10_000);
  });
  it('starts at the maximum when that is smaller', () => {
    const backoff = new Backoff({ initialMs: 10_000, maxMs: 2_000, resetAfterMs: 600_000 });
    backoff.advance('k', 0, 0);
    expect(backoff.delayMs('k')).toBe(2_000);
  });
  it('waits only within the delay counted from the reference time', () => {
    const backoff = new Backoff({ initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 });
    backoff.advance('k', 0, 0);
    expect(backoff.waiting('k', 1_000, 10_999)).toEqual({ delayMs: 10_000, untilMs: 11_000 });
    expect(backoff.waiting('k', 1_000, 11_000)).toBeUndefined();
    // The clock was set back since: a second does not matter, an hour would be waited for.
    expect(backoff.waiting('k', 1_000, 0)).toEqual({ delayMs: 10_000, untilMs: 11_000 });
    expect(backoff.waiting('k', 3_600_000, 0)).toBeUndefined();
  });
  it('remembers a bounded number of keys', () => {
    const backoff = new Backoff({ initialMs: 1, maxMs: 2, resetAfterMs: 600_000, maxEntries: 2 });
    for (const key of ['a', 'b', 'c']) backoff.advance(key, 0, 0);
    expect(backoff.size).toBe(2);
    backoff.collect(700_000);
    expect(backoff.size).toBe(0);
  });
});

describe('Gate', () => {
  it('admits holders first come, first served', async () => {
    const gate = new Gate(2);
    const order: number[] = [];
    const releases: (() => void)[] = [];
    const runs = [0, 1, 2, 3].map((n) =>
      gate.run(() => {
        order.push(n);
        return new Promise<void>((resolve) => releases.push(resolve));
      }),
    );
    await settle();
    expect(order).toEqual([0, 1]);
    releases[1]!();
    await settle();
    expect(order).toEqual([0, 1, 2]);
    releases[0]!();
    releases[2]!();
    await settle();
    releases[3]!();
    await Promise.all(runs);
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });
  it('admits lower ranks first', async () => {
    const gate = new Gate(1);
    await gate.enter();
    const order: string[] = [];
    const runs = [
      ['late', 2],
      ['early', 1],
      ['late too', 2],
    ] as const;
    const done = runs.map(([name, rank]) => gate.run(async () => void order.push(name), { rank }));
    gate.leave();
    await Promise.all(done);
    expect(order).toEqual(['early', 'late', 'late too']);
  });
  it('removes a cancelled waiter from the queue', async () => {
    const gate = new Gate(1);
    await gate.enter();
    const stop = new AbortController();
    const waiting = gate.enter({ signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toBeInstanceOf(Cancelled);
    gate.leave();
    expect(gate.inside).toBe(0);
  });
});

describe('TaskGroup', () => {
  it('reports failures, ignores cancellation and awaits all at stop', async () => {
    const errors: string[] = [];
    const clock = new VirtualClock();
    const group = new TaskGroup({ onError: (task, error) => errors.push(`${task}: ${String(error)}`) });
    group.start('fails', () => Promise.reject(new Error('no')));
    group.start('waits', (signal) => sleep(clock, 1e6, signal));
    await settle();
    await group.stop();
    expect(errors).toEqual(['fails: Error: no']);
    expect(group.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});

it('jitter stays within half of the duration', () => {
  expect(jitter(100, () => 0)).toBe(100);
  expect(jitter(100, () => 0.999)).toBeLessThan(150);
});
