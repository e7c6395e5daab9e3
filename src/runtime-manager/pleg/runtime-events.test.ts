import { beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { CriError } from '../../cri/index.js';
import type { RuntimeEvent, RuntimeEventSource } from './event-sources.js';
import { PlegBench } from './test-fixtures.js';

let bench: PlegBench;

describe('with runtime events', () => {
  let push: (event: RuntimeEvent) => void;
  let fail: (error: Error) => void;
  let attempts: number;
  const source = (): RuntimeEventSource => ({
    name: 'test events',
    async *events(signal) {
      attempts++;
      const queue: (RuntimeEvent | Error)[] = [];
      let ring: () => void = () => {};
      push = (event) => {
        queue.push(event);
        ring();
      };
      fail = (error) => {
        queue.push(error);
        ring();
      };
      for (;;) {
        const next = queue.shift();
        if (next instanceof Error) throw next;
        if (next !== undefined) {
          yield next;
          continue;
        }
        await new Promise<void>((resolve, reject) => {
          ring = resolve;
          signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
        });
      }
    },
  });
  beforeEach(() => {
    attempts = 0;
    bench = new PlegBench();
    bench.create({ eventSources: [source] });
    bench.runtime.pods.set('p', { c: 'running' });
  });
  const following = async (): Promise<void> => {
    bench.start();
    await bench.clock.advance(200);
    bench.taken();
    bench.runtime.calls = [];
  };
  it('an event relists the pod at once, and again until the change shows', async () => {
    await following();
    push({ id: 'c', kind: 'exit' });
    await settle();
    expect(bench.runtime.calls).toEqual(['list p']);
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(10);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.clock.advance(5_000);
    expect(bench.runtime.calls).toEqual(['list p', 'list p', 'inspect p']);
    await bench.stop();
  });
  it('two exits that share a relist are both seen, whichever shows first', async () => {
    bench.runtime.pods.set('p', { a: 'running', b: 'running' });
    await following();
    push({ id: 'a', kind: 'exit' });
    push({ id: 'b', kind: 'exit' });
    bench.runtime.pods.set('p', { a: 'exited', b: 'running' });
    await settle();
    expect(bench.taken()).toEqual(['ContainerDied a']);
    bench.runtime.pods.set('p', { a: 'exited', b: 'exited' });
    await bench.clock.advance(10);
    expect(bench.taken()).toEqual(['ContainerDied b']);
    await bench.stop();
  });
  it('a change that shows late is relisted with a growing delay, up to one second', async () => {
    await following();
    push({ id: 'c', kind: 'exit' });
    await bench.clock.advance(9_000);
    // After 0, 10, 30, 70, 150, 310, 630 and 1270 ms and then every second.
    expect(bench.runtime.calls.filter((call) => call === 'list p')).toHaveLength(15);
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.stop();
  });
  it('does not relist at once for an exit in a pod that the agent is stopping', async () => {
    bench.runtime.isEnding = (uid) => uid === 'p';
    await following();
    push({ id: 'c', kind: 'exit', lagMs: 10 });
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(999);
    expect(bench.runtime.calls).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.stop();
  });
  it('while pods are queued, relists after five seconds for an exit in a pod that the agent is stopping', async () => {
    bench.runtime.isEnding = (uid) => uid === 'p';
    bench.runtime.podsWait = true;
    await following();
    push({ id: 'c', kind: 'exit', lagMs: 10 });
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(4_999);
    expect(bench.runtime.calls).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.stop();
  });
  it('one relist of all pods confirms many removals, after the first few', async () => {
    const uids = Array.from({ length: 30 }, (_, n) => `p${n}`);
    for (const uid of uids) bench.runtime.pods.set(uid, { [`c-${uid}`]: 'exited' });
    await following();
    for (const uid of uids) {
      bench.runtime.pods.delete(uid);
      push({ id: `c-${uid}`, kind: 'delete', lagMs: 10 });
    }
    await bench.clock.advance(1_000);
    expect(bench.taken().sort()).toEqual(uids.map((uid) => `ContainerRemoved c-${uid}`).sort());
    await bench.clock.advance(5_000);
    const lists = bench.runtime.calls.filter((call) => call.startsWith('list'));
    expect(lists.filter((call) => call === 'list')).toHaveLength(1);
    expect(lists.length).toBeLessThanOrEqual(1 + 8);
    await bench.stop();
  });
  it('one relist of all pods within five seconds confirms the agent’s own removal', async () => {
    for (const uid of ['p', 'q'])
      bench.runtime.pods.set(uid, { [`c-${uid}`]: 'exited', [`d-${uid}`]: 'running' });
    bench.own.add('c-p').add('c-q');
    await following();
    for (const uid of ['p', 'q']) {
      bench.runtime.pods.set(uid, { [`d-${uid}`]: 'running' });
      push({ id: `c-${uid}`, kind: 'delete', lagMs: 10 });
      await bench.clock.advance(1_000);
    }
    await bench.clock.advance(2_999);
    expect(bench.runtime.calls).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.taken().sort()).toEqual(['ContainerRemoved c-p', 'ContainerRemoved c-q']);
    expect(bench.runtime.calls.filter((call) => call.startsWith('list'))).toEqual(['list']);
    await bench.stop();
  });
  it('for the same change, the later event and the shorter wait count', async () => {
    await following();
    push({ id: 'c', kind: 'exit', lagMs: 100 });
    await bench.clock.advance(20);
    push({ id: 'c', kind: 'exit', lagMs: 10 });
    await bench.clock.advance(9);
    expect(bench.runtime.calls).toEqual([]);
    bench.runtime.pods.set('p', { c: 'exited' });
    await bench.clock.advance(1);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.clock.advance(500);
    expect(bench.runtime.calls).toEqual(['list p', 'inspect p']);
    await bench.stop();
  });
  it('looks for a start at most twice; a create or a confirmed exit needs no other relist', async () => {
    bench.runtime.pods.set('p', { c: 'created', d: 'running' });
    await following();
    push({ id: 'c', kind: 'create' });
    push({ id: 'new', kind: 'create' });
    await bench.clock.advance(3_000);
    expect(bench.runtime.calls).toEqual([]);
    push({ id: 'c', kind: 'start' });
    await bench.clock.advance(3_000);
    expect(bench.runtime.calls).toEqual(['list p', 'list p']);
    await bench.stop();
  });
  it('does not look for a start that a requested relist has shown', async () => {
    await following();
    push({ id: 'new', kind: 'start', lagMs: 1_000 });
    await bench.clock.advance(500);
    bench.runtime.pods.set('p', { c: 'running', new: 'running' });
    bench.pleg.requestRelist('p');
    await bench.clock.advance(3_000);
    expect(bench.runtime.calls).toEqual(['list p', 'inspect p']);
    await bench.stop();
  });
  it('looks for an exit of a container that is listed as running only afterwards', async () => {
    await following();
    push({ id: 'new', kind: 'exit' });
    bench.runtime.pods.set('q', { new: 'running' });
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerStarted new']);
    bench.runtime.pods.set('q', { new: 'exited' });
    await bench.clock.advance(10);
    expect(bench.taken()).toEqual(['ContainerDied new']);
    await bench.stop();
  });
  it('remembers the removal of something unknown, but does not relist for it', async () => {
    await following();
    const list = bench.runtime.listPod.bind(bench.runtime);
    bench.runtime.pods.set('q', { new: 'exited' });
    bench.runtime.listPod = async (uid) => {
      const pod = await list(uid);
      if (bench.runtime.pods.delete('q')) push({ id: 'new', kind: 'delete' });
      await settle();
      return pod;
    };
    bench.pleg.requestRelist('q');
    await settle(20);
    expect(bench.taken()).toEqual(['ContainerDied new', 'ContainerRemoved new']);
    push({ id: 'other', kind: 'delete' });
    await bench.clock.advance(5_000);
    expect(bench.runtime.calls).not.toContain('list');
    await bench.stop();
  });
  it('rereads an exit whose reason came late', async () => {
    bench.runtime.pods.set('p', { c: 'running', d: 'exited' });
    await following();
    push({ id: 'c', kind: 'oom' });
    await settle();
    expect(bench.runtime.calls).toEqual([]);
    push({ id: 'd', kind: 'oom' });
    await settle();
    expect(bench.taken()).toEqual(['PodSync p']);
    await bench.stop();
  });
  it('more events than fit cause a relist of all pods', async () => {
    await following();
    for (let n = 0; n < 1_001; n++) push({ id: `x${n}`, kind: 'delete' });
    await bench.clock.advance(1_000);
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.stop();
  });
  it('reports the state of the stream and the latency of its events', async () => {
    let changes = 0;
    bench.create({ eventSources: [source], onEventsChanged: () => changes++ });
    bench.start();
    await bench.clock.advance(200);
    const { streamConnections, streamErrors, eventLatency } = bench.metrics;
    expect([streamConnections.value(), streamErrors.value(), changes]).toEqual([1, 0, 1]);
    push({ id: 'c', kind: 'create', happenedAtMs: bench.clock.now() - 7 });
    await settle();
    fail(new CriError('Unavailable', 'gone'));
    await settle();
    expect([streamConnections.value(), streamErrors.value(), changes]).toEqual([1, 1, 2]);
    expect([eventLatency.count(), eventLatency.sum()]).toEqual([1, 0.007]);
    await bench.clock.advance(1_000);
    expect([streamConnections.value(), streamErrors.value(), changes]).toEqual([2, 1, 3]);
    await bench.stop();
  });
  it.each(['start', 'exit'] as const)(
    'looks at everything for the %s of what it does not know, once a second at most',
    async (kind) => {
      await following();
      for (let n = 0; n < 30; n++) {
        push({ id: `stranger-${n}`, kind });
        await bench.clock.advance(100);
      }
      expect(bench.runtime.calls).toEqual(['list', 'list', 'list']);
      await bench.stop();
    },
  );
  it('while the agent is starting things, relists for unknown starts every five seconds at most', async () => {
    await following();
    bench.runtime.isStarting = true;
    for (let n = 0; n < 60; n++) {
      push({ id: `stranger-${n}`, kind: 'start' });
      await bench.clock.advance(100);
    }
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.stop();
  });
  it('an event in the same instant as a relist of all pods is not lost', async () => {
    bench.start();
    await bench.clock.advance(200);
    await bench.clock.advance(9_850);
    bench.taken();
    const list = bench.runtime.listPods.bind(bench.runtime);
    bench.runtime.listPods = async () => {
      const pods = await list();
      bench.runtime.pods.set('p', { c: 'exited' });
      push({ id: 'c', kind: 'exit' });
      return pods;
    };
    await bench.clock.advanceUntil(() => bench.runtime.pods.get('p')?.c === 'exited', 11_000);
    await settle();
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.stop();
  });
  it('polls less while events arrive, and more again when they stop', async () => {
    bench.start();
    await bench.clock.advance(200);
    bench.runtime.calls = [];
    await bench.clock.advance(30_000);
    expect(bench.runtime.calls.length).toBeLessThanOrEqual(3);
    fail(new CriError('Unavailable', 'gone'));
    bench.runtime.calls = [];
    await settle();
    expect(bench.runtime.calls).toEqual(['list']);
    await bench.clock.advance(1_000);
    expect(attempts).toBeGreaterThan(1);
    expect(bench.pleg.followsEvents).toBe(true);
    await bench.stop();
  });
  it('takes the next source when the first is unsupported, and polls when none is supported', async () => {
    const refused = (): RuntimeEventSource => ({
      name: 'none',
      // biome-ignore lint/correctness/useYield: the stream fails before its first event
      async *events() {
        throw new CriError('Unimplemented', 'no');
      },
    });
    bench.create({ eventSources: [refused, source] });
    bench.start();
    await bench.clock.advance(200);
    expect(bench.pleg.followsEvents).toBe(true);
    await bench.stop();
    bench.create({ eventSources: [refused] });
    bench.start();
    await bench.clock.advance(2_200);
    expect(bench.pleg.followsEvents).toBe(false);
    await bench.stop();
  });
});
