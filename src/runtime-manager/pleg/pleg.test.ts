import { beforeEach, describe, expect, it } from 'vitest';
import { settle, sleep } from '../../async/index.js';
import { absentPodStatus } from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { type ListedState, PlegBench } from './test-fixtures.js';

let bench: PlegBench;
beforeEach(() => {
  bench = new PlegBench();
});

describe('a relist of all pods', () => {
  it('a container newly listed as running: one event, the cache filled before it', async () => {
    expect(await bench.relist({ p: { c: 'running' } })).toEqual(['ContainerStarted c']);
    expect(bench.pleg.cache.peek('p')).toMatchObject({ status: { name: 'p' } });
  });
  it('running → absent while others remain', async () => {
    await bench.relist({ p: { c: 'running', d: 'running' } });
    expect(await bench.relist({ p: { d: 'running' } })).toEqual(['ContainerDied c', 'ContainerRemoved c']);
  });
  it('exited → absent: only the removal', async () => {
    await bench.relist({ p: { c: 'exited', d: 'running' } });
    expect(await bench.relist({ p: { d: 'running' } })).toEqual(['ContainerRemoved c']);
  });
  it('created: inspected and cached, no event', async () => {
    expect(await bench.relist({ p: { c: 'created' } })).toEqual([]);
    expect(bench.runtime.calls).toContain('inspect p');
    expect(await bench.relist({ p: { c: 'created' } })).toEqual([]);
    expect(bench.runtime.calls).toEqual(['list']);
  });
  it('a failed inspection is cached and its events are emitted once it works', async () => {
    bench.runtime.inspectError = new Error('busy');
    expect(await bench.relist({ p: { c: 'running' } })).toEqual([]);
    expect(bench.pleg.cache.peek('p')).toEqual({ error: new Error('busy') });
    bench.runtime.inspectError = undefined;
    expect(await bench.relist({ p: { c: 'running' } })).toEqual(['ContainerStarted c']);
    expect(bench.pleg.cache.peek('p')).toHaveProperty('status');
  });
  it('reinspection without change: one PodSync; without request no inspection', async () => {
    await bench.relist({ p: { c: 'running' } });
    bench.pleg.requestReinspect('p');
    expect(await bench.relist({ p: { c: 'running' } })).toEqual(['PodSync p']);
    expect(await bench.relist({ p: { c: 'running' } })).toEqual([]);
    expect(bench.runtime.calls).toEqual(['list']);
  });
  it('a pod that is gone with a reinspection pending: entry deleted, bench.told, flag cleared', async () => {
    await bench.relist({ p: { c: 'exited' } });
    bench.pleg.requestReinspect('p');
    expect(await bench.relist({})).toEqual(['ContainerRemoved c']);
    expect(bench.pleg.cache.size).toBe(0);
    expect(await bench.relist({})).toEqual([]);
  });
  it('events beyond the channel are counted, not kept', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1003 }, (_, n) => [`p${n}`, { [`c${n}`]: 'running' as ListedState }]),
    );
    expect(await bench.relist(many)).toHaveLength(1000);
    expect(bench.metrics.discardedEvents.value()).toBe(3);
    expect(await bench.relist(many)).toEqual([]);
  });
  it('a failed list changes nothing; health reports it after 3 minutes', async () => {
    expect(bench.pleg.health()).toBe('pleg has yet to be successful');
    await bench.relist({});
    bench.runtime.listError = new Error('away');
    await bench.clock.advance(180_000);
    await bench.pleg.relist();
    expect(bench.pleg.health()).toBeUndefined();
    await bench.clock.advance(500);
    expect(bench.pleg.health()).toBe('pleg was last seen active 3m0.5s ago; threshold is 3m0s');
  });
  it('each health check reports when the last successful relist began', async () => {
    const { lastSeen } = bench.metrics;
    bench.pleg.health();
    expect(lastSeen.value()).toBe(0);
    await bench.clock.advance(1_999);
    await bench.relist({});
    bench.runtime.listError = new Error('away');
    await bench.clock.advance(2_000);
    await bench.relist({});
    bench.pleg.health();
    expect(lastSeen.value()).toBe(Date.UTC(2026, 0, 1) / 1000 + 2);
  });
  it('an inspection gets what was listed', async () => {
    const handed: unknown[] = [];
    bench.runtime.podStatus = async (...args: readonly unknown[]) => {
      handed.push(args);
      return absentPodStatus('p');
    };
    await bench.relist({ p: { c: 'running' } });
    expect(handed).toEqual([['p', 'p', 'd', bench.pleg.observedPods()[0]]]);
  });
  it('keeps the addresses of a pod whose sandbox ended, not those of a running one', async () => {
    bench.runtime.ips = ['10.0.0.5'];
    await bench.relist({ p: { c: 'running' } });
    bench.runtime.ips = [];
    bench.runtime.sandboxReady = false;
    await bench.relist({ p: { c: 'exited' } });
    expect(bench.pleg.cache.peek('p')).toMatchObject({ status: { ips: ['10.0.0.5'] } });
    bench.runtime.sandboxReady = true;
    await bench.relist({ p: { c: 'running' } });
    expect(bench.pleg.cache.peek('p')).toMatchObject({ status: { ips: [] } });
  });
});

describe('the running PLEG', () => {
  it('relists at once and then every second', async () => {
    bench.start();
    await settle();
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.clock.advance(3_000);
    expect(bench.runtime.calls).toHaveLength(4);
    await bench.stop();
  });
  it('relists one pod on request and wakes only its waiters', async () => {
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await bench.clock.advance(10);
    const none = new AbortController();
    const woken: string[] = [];
    const waits = ['p', 'q'].map((uid) =>
      bench.pleg.cache.newerThan(uid, bench.clock.monotonic(), none.signal).then(
        () => woken.push(uid),
        () => {},
      ),
    );
    await bench.clock.advance(10);
    bench.pleg.requestRelist('p');
    await settle();
    expect(bench.runtime.calls.at(-1)).toBe('list p');
    expect(woken).toEqual(['p']);
    none.abort();
    await Promise.all(waits);
    await bench.stop();
  });
  it('drops a request older than the last relist, but not one made during it', async () => {
    bench.pleg.requestRelist('p');
    bench.start();
    await settle();
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.clock.advance(999);
    bench.runtime.calls = [];
    const list = bench.runtime.listPods.bind(bench.runtime);
    bench.runtime.listPods = async () => {
      bench.pleg.requestRelist('p');
      return list();
    };
    await bench.clock.advance(1);
    expect(bench.runtime.calls).toEqual(['list', 'list p']);
    await bench.stop();
  });
  it('waiting for a status relists the pod', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    bench.start();
    await bench.clock.advance(10);
    const waiting = bench.pleg.statusNewerThan('p', bench.clock.monotonic());
    await settle();
    expect((await waiting).uid).toBe('p');
    expect(bench.runtime.calls).toEqual(['list', 'list p']);
    await bench.stop();
  });
  it('waiting for a status relists the pod again when that fails', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    bench.start();
    await bench.clock.advance(10);
    const list = bench.runtime.listPod.bind(bench.runtime);
    let failures = 2;
    bench.runtime.listPod = async (uid) => {
      if (failures-- > 0) throw new Error('busy');
      return list(uid);
    };
    const waiting = bench.pleg.statusNewerThan('p', bench.clock.monotonic());
    await bench.clock.advance(2_000);
    expect((await waiting).uid).toBe('p');
    await bench.stop();
  });
  it('counts the period from the end of a relist, however long that takes', async () => {
    const starts: number[] = [];
    bench.runtime.listPods = async () => {
      starts.push(bench.clock.monotonic());
      await sleep(bench.clock, 5_000);
      return [];
    };
    bench.start();
    await bench.clock.advance(12_500);
    expect(starts).toEqual([0, 6_000, 12_000]);
    const stopping = bench.stop();
    await bench.clock.advance(5_000);
    await stopping;
  });
  it('retries a failed inspection after a second', async () => {
    bench.runtime.pods.set('p', { c: 'running' });
    bench.runtime.inspectError = new Error('busy');
    bench.create({ relistPeriodMs: 1_000, relaxedRelistPeriodMs: 60_000 });
    bench.start();
    await settle();
    bench.runtime.inspectError = undefined;
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerStarted c']);
    await bench.stop();
  });
  it('a requested reinspection does not wait for the next relist of all pods', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await settle();
    bench.taken();
    bench.pleg.requestReinspect('p');
    await settle();
    expect(bench.taken()).toEqual(['PodSync p']);
    await bench.stop();
  });
  it('a pod that a request finds gone is bench.told of and forgotten', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    bench.runtime.pods.set('p', { c: 'running' });
    bench.start();
    await settle();
    bench.taken();
    bench.runtime.pods.delete('p');
    bench.pleg.requestRelist('p');
    await settle();
    expect(bench.taken()).toEqual(['ContainerDied c', 'ContainerRemoved c']);
    expect([bench.pleg.cache.size, bench.pleg.observedPods().length]).toEqual([0, 0]);
    await bench.stop();
  });
  it('more requests than fit become one relist of all pods', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    bench.start();
    await settle();
    bench.runtime.calls = [];
    for (let n = 0; n < 250; n++) bench.pleg.requestRelist(`p${n}`);
    await settle();
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.stop();
  });
  it('relists again at once when requested during a relist', async () => {
    bench.create({ relistPeriodMs: 60_000 });
    let asked = false;
    const list = bench.runtime.listPods.bind(bench.runtime);
    bench.runtime.listPods = async () => {
      if (!asked) bench.pleg.relistSoon();
      asked = true;
      return list();
    };
    bench.start();
    await settle();
    expect(bench.runtime.calls).toEqual(['list', 'list']);
    await bench.stop();
  });
  it('records consecutive failures once, and the recovery', async () => {
    const timeline = new Timeline({ clock: bench.clock });
    bench.create({ timeline });
    bench.runtime.listError = new Error('away');
    bench.start();
    await bench.clock.advance(5_000);
    bench.runtime.listError = undefined;
    await bench.clock.advance(2_000);
    const seen = timeline.ofNode().filter(({ what }) => what === 'pleg.relist');
    expect(seen.map(({ kind }) => kind)).toEqual(['problem', 'notice']);
    await bench.stop();
  });
});
