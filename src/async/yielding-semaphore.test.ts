import { describe, expect, it } from 'vitest';
import { Cancelled, sleep } from './clock.js';
import { VirtualClock } from './virtual-clock.js';
import { YieldingSemaphore } from './yielding-semaphore.js';

function scene(width: number) {
  const clock = new VirtualClock();
  const gate = new YieldingSemaphore({ clock, width, patienceMs: 1_000 });
  const begun: string[] = [];
  const work = (name: string, takesMs: number, passesOnMs?: number): Promise<string> =>
    gate.run(async ({ passOn }) => {
      begun.push(name);
      if (passesOnMs !== undefined) {
        await sleep(clock, passesOnMs);
        passOn();
      }
      await sleep(clock, takesMs);
      return name;
    });
  return { clock, gate, begun, work };
}

describe('YieldingSemaphore', () => {
  it('grants slots in order', async () => {
    const { clock, begun, work } = scene(1);
    const all = ['a', 'b', 'c'].map((name) => work(name, 100));
    await clock.advance(150);
    expect(begun).toEqual(['a', 'b']);
    await clock.advance(1_000);
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c']);
  });

  it('releases a slot on passOn', async () => {
    const { clock, begun, work } = scene(1);
    const all = [work('a', 5_000, 10), work('b', 10)];
    await clock.advance(10);
    expect(begun).toEqual(['a', 'b']);
    await clock.advance(10_000);
    expect(await Promise.all(all)).toEqual(['a', 'b']);
  });

  it('keeps a slot after stay, however long the work takes', async () => {
    const { clock, gate, begun, work } = scene(1);
    const stays = gate.run(async ({ stay }) => {
      stay();
      await sleep(clock, 5_000);
    });
    const next = work('b', 10);
    await clock.advance(4_999);
    expect(begun).toEqual([]);
    await clock.advance(11);
    await Promise.all([stays, next]);
    expect([begun, clock.pendingTimers]).toEqual([['b'], 0]);
  });

  it('slow work holds up the rest once; quick work restores the patience', async () => {
    const { clock, begun, work } = scene(1);
    const all = [work('slow', 60_000), work('slow too', 60_000), work('quick', 10), work('usual', 500)];
    all.push(work('last', 1));
    await clock.advance(1_000 + 25 + 10 + 499);
    expect(begun).toEqual(['slow', 'slow too', 'quick', 'usual']);
    await clock.advance(1);
    expect(begun).toHaveLength(5);
    await clock.advance(60_000);
    await Promise.all(all);
    expect(clock.pendingTimers).toBe(0);
  });

  it('restores the patience after slow work once one ends within usualMs', async () => {
    const { clock, begun, work } = scene(1);
    const all = [work('slow', 60_000), work('usual', 500), work('another', 500), work('next', 500)];
    // The two after the slow one lose their slots after 25 ms each, and still end within usualMs.
    await clock.advance(1_000 + 25 + 25 + 500);
    expect(begun).toHaveLength(4);
    const last = [work('held', 900), work('later', 10)];
    await clock.advance(899);
    expect(begun.at(-1)).toBe('held');
    await clock.advance(60_000);
    await Promise.all([...all, ...last]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a waiter can be cancelled, and a failure releases the slot', async () => {
    const { clock, gate, work } = scene(1);
    const holder = work('a', 100);
    const off = new AbortController();
    const waiting = gate.run(async () => 'never', { signal: off.signal });
    off.abort();
    await expect(waiting).rejects.toThrow(Cancelled);
    const failing = gate.run(() => Promise.reject(new Error('no')));
    const next = gate.run(async () => 'next');
    await Promise.all([
      expect(failing).rejects.toThrow('no'),
      expect(next).resolves.toBe('next'),
      clock.advance(100),
      holder,
    ]);
  });
});
