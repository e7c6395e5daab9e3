import { beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { PlegBench } from './test-fixtures.js';

let bench: PlegBench;
beforeEach(() => {
  bench = new PlegBench();
});

describe('a hung inspection', () => {
  const hang = (uid: string): (() => void) => {
    let end: () => void = () => {};
    bench.runtime.hangs.set(uid, new Promise((resolve) => (end = resolve)));
    return () => {
      bench.runtime.hangs.delete(uid);
      end();
    };
  };
  it('delays neither the events of other pods nor relists', async () => {
    const works = hang('p');
    bench.runtime.pods.set('p', { c: 'running' });
    bench.runtime.pods.set('q', { d: 'running' });
    bench.start();
    await settle();
    expect(bench.taken()).toEqual(['ContainerStarted d']);
    expect(bench.pleg.health()).toBeUndefined();
    bench.runtime.pods.set('q', { d: 'exited' });
    bench.pleg.requestRelist('q');
    await settle();
    expect(bench.taken()).toEqual(['ContainerDied d']);
    bench.runtime.pods.set('r', { e: 'running' });
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerStarted e']);
    works();
    await settle();
    expect(bench.taken()).toEqual(['ContainerStarted c']);
    await bench.stop();
  });
  it('gives no waiter an older status, and then resolves with what was read', async () => {
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await bench.clock.advance(10);
    const works = hang('p');
    bench.runtime.pods.set('p', { c: 'exited' });
    const afterMs = bench.clock.monotonic();
    let seen: string | undefined;
    const waiting = bench.pleg.statusNewerThan('p', afterMs).then(({ namespace }) => {
      seen = namespace;
    });
    await bench.clock.advance(5_000);
    expect(seen).toBeUndefined();
    expect(bench.pleg.cache.isNewer('p', afterMs)).toBe(false);
    works();
    await waiting;
    expect(seen).toBe('exited');
    await bench.stop();
  });
  it('is followed by another if more has changed meanwhile', async () => {
    const works = hang('p');
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await bench.clock.advance(10);
    bench.runtime.pods.set('p', { c: 'exited', d: 'running' });
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual([]);
    works();
    await settle();
    expect(bench.taken()).toEqual(['ContainerStarted c', 'ContainerDied c', 'ContainerStarted d']);
    expect(bench.pleg.cache.peek('p')).toMatchObject({ status: { namespace: 'exited running' } });
    expect(bench.runtime.calls.filter((call) => call === 'inspect p')).toHaveLength(2);
    await bench.stop();
  });
  it('does not hide that the pod is gone, and brings nothing of it back', async () => {
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await bench.clock.advance(10);
    bench.taken();
    const works = hang('p');
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(1_000);
    bench.runtime.pods.delete('p');
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerDied c', 'ContainerRemoved c']);
    works();
    await settle();
    expect([bench.taken(), bench.pleg.cache.size]).toEqual([[], 0]);
    await bench.stop();
  });
  it('gives up its slot after a second, however many hang', async () => {
    const ends = Array.from({ length: 20 }, (_, n) => {
      bench.runtime.pods.set(`p${n}`, { [`c${n}`]: 'running' });
      return hang(`p${n}`);
    });
    bench.runtime.pods.set('q', { d: 'running' });
    bench.start();
    await bench.clock.advance(999);
    expect(bench.taken()).toEqual([]);
    await bench.clock.advance(1_001);
    expect(bench.taken()).toEqual(['ContainerStarted d']);
    for (const end of ends) end();
    await settle();
    expect(bench.taken()).toHaveLength(20);
    await bench.stop();
  });
  it('an earlier inspection does not count as the requested one', async () => {
    const works = hang('p');
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await settle();
    bench.pleg.requestReinspect('p');
    await settle();
    works();
    await settle();
    expect(bench.taken()).toEqual(['ContainerStarted c', 'PodSync p']);
    await bench.stop();
  });
});
