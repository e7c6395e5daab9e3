import { describe, expect, it } from 'vitest';
import { Cancelled, settle, sleep, VirtualClock } from '../../async/index.js';
import { PullQueue, PullRate } from './pull-queue.js';

describe('PullQueue', () => {
  it.each([
    ['one after the other', 1, 1],
    ['two at a time', 2, 2],
    ['all at once without a bound', undefined, 20],
  ])('%s, in request order', async (_, maxParallelPulls, width) => {
    const clock = new VirtualClock();
    const queue = new PullQueue({ maxParallelPulls });
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const pulls = Array.from({ length: 20 }, (_, index) =>
      queue.run(async () => {
        order.push(index);
        most = Math.max(most, ++running);
        await sleep(clock, 100);
        running--;
      }),
    );
    await clock.advance(2000);
    await Promise.all(pulls);
    expect(most).toBe(width);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
  it('lets a waiting caller leave', async () => {
    const clock = new VirtualClock();
    const queue = new PullQueue({ maxParallelPulls: 1 });
    const first = queue.run(() => sleep(clock, 100));
    const stop = new AbortController();
    const second = queue.run(() => Promise.reject(new Error('must not run')), stop.signal);
    await settle();
    expect(queue.waiting).toBe(1);
    stop.abort();
    await expect(second).rejects.toBeInstanceOf(Cancelled);
    await clock.advance(100);
    await first;
  });
});

describe('PullRate', () => {
  it('rejects beyond the burst and refills', async () => {
    const clock = new VirtualClock();
    const queue = new PullQueue({ rate: new PullRate({ clock, qps: 5, burst: 2 }) });
    const pull = (): Promise<number> => queue.run(async () => 1);
    await pull();
    await pull();
    await expect(pull()).rejects.toThrow('pull QPS exceeded');
    await clock.advance(200);
    expect(await pull()).toBe(1);
    await expect(pull()).rejects.toThrow('pull QPS exceeded');
  });
  it('has no limit at 0', () => {
    const rate = new PullRate({ clock: new VirtualClock(), qps: 0, burst: 0 });
    expect([rate.tryTake(), rate.tryTake()]).toEqual([true, true]);
  });
});
