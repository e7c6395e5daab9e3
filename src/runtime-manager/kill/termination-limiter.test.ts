import { describe, expect, it } from 'vitest';
import { settle, sleep, VirtualClock } from '../../async/index.js';
import { TerminationLimiter } from './termination-limiter.js';

function ending(width: number) {
  const clock = new VirtualClock();
  const turns = new TerminationLimiter({ clock, width });
  const told: string[] = [];
  const gone: string[] = [];
  const end = async (name: string, takesMs: number): Promise<void> => {
    await turns.container(async () => {
      told.push(name);
      await sleep(clock, takesMs);
    }, undefined);
    await turns.sandbox(() => sleep(clock, 100), undefined);
    gone.push(name);
  };
  return { clock, told, gone, end };
}

describe('TerminationLimiter', () => {
  it('pods end one after another: those that have begun go first', async () => {
    const { clock, told, gone, end } = ending(1);
    const all = ['a', 'b', 'c', 'd'].map((name) => end(name, 100));
    await clock.advance(400);
    expect([told, gone]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b'],
    ]);
    await clock.advance(400);
    await Promise.all(all);
    expect(gone).toEqual(['a', 'b', 'c', 'd']);
  });
  it('as many at a time as the limit allows', async () => {
    const { clock, told, end } = ending(2);
    const all = ['a', 'b', 'c'].map((name) => end(name, 100));
    await settle();
    expect(told).toEqual(['a', 'b']);
    await clock.advance(1000);
    await Promise.all(all);
  });
  it('slow ones delay the others by a second once, and then hardly', async () => {
    const { clock, told, end } = ending(1);
    const all = Array.from({ length: 20 }, (_, n) => end(`slow-${n}`, 30_000));
    await clock.advance(999);
    expect(told).toHaveLength(1);
    await clock.advance(1 + 19 * 25);
    expect(told).toHaveLength(20);
    await clock.advance(60_000);
    await Promise.all(all);
  });
  it('a quick stop restores the patience', async () => {
    const { clock, told, end } = ending(1);
    const all = [end('slow', 5000), end('quick', 10), end('usual', 500), end('last', 10)];
    await clock.advance(1000 + 10 + 100 + 400);
    expect(told).toEqual(['slow', 'quick', 'usual']);
    await clock.advance(10_000);
    await Promise.all(all);
  });
  it('a failed stop gives up its slot', async () => {
    const clock = new VirtualClock();
    const turns = new TerminationLimiter({ clock, width: 1 });
    await expect(turns.container(() => Promise.reject(new Error('no')), undefined)).rejects.toThrow('no');
    expect(await turns.container(async () => 'next', undefined)).toBe('next');
    expect(clock.pendingTimers).toBe(0);
  });
});
