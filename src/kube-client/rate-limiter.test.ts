import { describe, expect, it } from 'vitest';
import { Cancelled, settle, VirtualClock } from '../async/index.js';
import { TokenBucket, unlimited } from './rate-limiter.js';

it('without a limit nothing waits, however much comes at once', async () => {
  let went = 0;
  for (let n = 0; n < 200; n++) void unlimited.acquire('normal').then(() => went++);
  await Promise.resolve();
  await Promise.resolve();
  expect(went).toBe(200);
});

describe('TokenBucket', () => {
  it('lets a burst through, then one request per interval', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket({ clock, qps: 10, burst: 2 });
    const went: number[] = [];
    const all = Promise.all([0, 1, 2, 3].map((n) => bucket.acquire('normal').then(() => void went.push(n))));
    await settle();
    expect(went).toEqual([0, 1]);
    await clock.advance(100);
    expect(went).toEqual([0, 1, 2]);
    await clock.advance(100);
    expect(went).toEqual([0, 1, 2, 3]);
    await all;
    expect(clock.pendingTimers).toBe(0);
  });
  it('urgent requests overtake queued ones, in their own order', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket({ clock, qps: 1, burst: 1 });
    await bucket.acquire('normal');
    const went: string[] = [];
    const waits = (['background', 'normal', 'urgent', 'urgent'] as const).map((priority, index) =>
      bucket.acquire(priority).then(() => void went.push(`${priority} ${index}`)),
    );
    await clock.advance(4000);
    await Promise.all(waits);
    expect(went).toEqual(['urgent 2', 'urgent 3', 'normal 1', 'background 0']);
  });
  it('a cancelled request leaves neither its place nor a timer', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket({ clock, qps: 1, burst: 1 });
    await bucket.acquire('normal');
    const stop = new AbortController();
    const waiting = bucket.acquire('normal', stop.signal);
    stop.abort();
    await expect(waiting).rejects.toBeInstanceOf(Cancelled);
    expect([bucket.waiting, clock.pendingTimers]).toEqual([0, 0]);
  });
  it('rejects limits that would let nothing through', () => {
    expect(() => new TokenBucket({ clock: new VirtualClock(), qps: 0, burst: 1 })).toThrow('qps > 0');
  });
});
