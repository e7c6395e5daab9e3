import { describe, expect, it } from 'vitest';
import { Cancelled, settle, sleep, VirtualClock } from '../../async/index.js';
import { SharedWork } from './shared-work.js';

describe('SharedWork', () => {
  it('runs once for callers of the same key, and again afterwards', async () => {
    const clock = new VirtualClock();
    const shared = new SharedWork<number>();
    let runs = 0;
    const work = async (): Promise<number> => {
      await sleep(clock, 10);
      return ++runs;
    };
    const joined = [shared.run('a', undefined, work), shared.run('a', undefined, work)];
    await clock.advance(10);
    expect(await Promise.all(joined)).toEqual([1, 1]);
    expect(shared.size).toBe(0);
    const again = shared.run('a', undefined, work);
    await clock.advance(10);
    expect(await again).toBe(2);
  });
  it('goes on for the others when one leaves', async () => {
    const clock = new VirtualClock();
    const shared = new SharedWork<string>();
    const leave = new AbortController();
    const work = async (signal: AbortSignal): Promise<string> => {
      await sleep(clock, 10, signal);
      return 'done';
    };
    const first = shared.run('a', leave.signal, work);
    const second = shared.run('a', undefined, work);
    leave.abort();
    await expect(first).rejects.toBeInstanceOf(Cancelled);
    await clock.advance(10);
    expect(await second).toBe('done');
  });
  it('stops the work when the last one leaves, and waits for its end', async () => {
    const clock = new VirtualClock();
    const shared = new SharedWork<void>();
    const leave = new AbortController();
    const run = shared.run('a', leave.signal, (signal) => sleep(clock, 1e6, signal));
    await settle();
    leave.abort();
    await expect(run).rejects.toBeInstanceOf(Cancelled);
    expect(clock.pendingTimers).toBe(0);
    expect(shared.size).toBe(0);
  });
  it('fails all callers with the same error', async () => {
    const shared = new SharedWork<void>();
    const work = (): Promise<void> => Promise.reject(new Error('no'));
    const runs = [shared.run('a', new AbortController().signal, work), shared.run('a', undefined, work)];
    const results = await Promise.allSettled(runs);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
