import { beforeEach, describe, expect, it } from 'vitest';
import { Channel, settle } from '../../async/index.js';
import type { RuntimeEvent } from './event-sources.js';
import { PlegBench } from './test-fixtures.js';

let bench: PlegBench;
beforeEach(() => {
  bench = new PlegBench();
});

/** Starts a PLEG that has relisted once. */
async function started(): Promise<void> {
  bench.start();
  await bench.clock.advance(10);
  bench.taken();
  bench.runtime.calls = [];
}

/** The agent starts a container in a new sandbox. */
function make(uid: string, ...ids: string[]): void {
  const sandboxId = `s-${uid}`;
  bench.runtime.sandboxes.add(uid);
  bench.runtime.pods.set(uid, Object.fromEntries(ids.map((id) => [id, 'running'])));
  bench.runtime.created.set(uid, {
    sandboxIds: [sandboxId],
    containers: ids.map((id) => ({ id, sandboxId })),
  });
}

describe('a relist of a pod that the agent has worked on', () => {
  it('reads what was created, once, and reports it', async () => {
    await started();
    make('p', 'c');
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c']);
    expect(bench.taken()).toEqual(['ContainerStarted c', 'ContainerStarted s-p']);
    expect(bench.pleg.cache.peek('p')).toMatchObject({ status: { namespace: 'running' } });
    expect(bench.runtime.created.size).toBe(0);
    await bench.stop();
  });
  it('reads what an earlier relist showed', async () => {
    bench.runtime.sandboxes.add('p');
    bench.runtime.pods.set('p', { c: 'running' });
    await started();
    bench.runtime.pods.set('p', { c: 'exited' });
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c']);
    expect(bench.taken()).toEqual(['ContainerDied c']);
    await bench.stop();
  });
  it('wakes waiters even if nothing changed', async () => {
    bench.runtime.sandboxes.add('p');
    bench.runtime.pods.set('p', { c: 'running' });
    await started();
    const waiting = bench.pleg.cache.newerThan('p', bench.clock.monotonic());
    await bench.clock.advance(1);
    bench.pleg.requestPodRelist('p');
    expect((await waiting).name).toBe('p');
    expect(bench.taken()).toEqual([]);
    await bench.stop();
  });
  it('lists when a part is gone', async () => {
    await started();
    make('p', 'c', 'd');
    bench.runtime.pods.set('p', { d: 'running' });
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c d', 'list p', 'inspect p']);
    expect(bench.taken()).toEqual(['ContainerStarted d', 'ContainerStarted s-p']);
    await bench.stop();
  });
  it('lists when reading fails', async () => {
    await started();
    make('p', 'c');
    bench.runtime.readError = new Error('busy');
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c', 'list p', 'inspect p']);
    await bench.stop();
  });
  it('lists when reading takes long, so that other pods do not wait for it', async () => {
    await started();
    make('p', 'c');
    make('q', 'd');
    let end: () => void = () => {};
    bench.runtime.hangs.set('p', new Promise((resolve) => (end = resolve)));
    bench.pleg.requestPodRelist('p');
    await settle();
    bench.pleg.requestPodRelist('q');
    await bench.clock.advance(1_000);
    expect(bench.taken()).toContain('ContainerStarted d');
    expect(bench.runtime.calls).toContain('list p');
    end();
    await settle();
    expect(bench.taken()).toContain('ContainerStarted c');
    await bench.stop();
  });
  it('lists when a list was also requested, in whatever order', async () => {
    for (const asks of [
      ['requestPodRelist', 'requestRelist'] as const,
      ['requestRelist', 'requestPodRelist'] as const,
    ]) {
      bench = new PlegBench();
      await started();
      make('p', 'c');
      for (const ask of asks) bench.pleg[ask]('p');
      await settle();
      expect(bench.runtime.calls).toEqual(['list p', 'inspect p']);
      await bench.stop();
    }
  });
  it('does not see what others created; the next relist of all pods does', async () => {
    await started();
    make('p', 'c');
    bench.runtime.pods.set('p', { c: 'running', foreign: 'running' });
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.taken()).toEqual(['ContainerStarted c', 'ContainerStarted s-p']);
    await bench.clock.advance(1_000);
    expect(bench.taken()).toEqual(['ContainerStarted foreign']);
    await bench.stop();
  });
  it('serves a reinspection by the very reading, if it was requested before', async () => {
    await started();
    make('p', 'c');
    bench.pleg.requestPodRelist('p');
    await settle();
    bench.taken();
    bench.runtime.calls.length = 0;
    bench.pleg.reinspectNext('p');
    await settle();
    expect(bench.runtime.calls, 'nobody has asked for a relist yet').toEqual([]);
    bench.pleg.requestPodRelist('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c']);
    expect(bench.taken()).toEqual(['PodSync p']);
    await bench.stop();
  });
  it('reads again for a reinspection requested while it reads', async () => {
    await started();
    make('p', 'c');
    bench.pleg.requestPodRelist('p');
    await settle();
    bench.taken();
    bench.runtime.calls.length = 0;
    bench.pleg.reinspectNext('p');
    bench.pleg.requestPodRelist('p');
    const read = bench.runtime.byId.read;
    bench.runtime.byId.read = (...request) => {
      bench.pleg.reinspectNext('p');
      return read.apply(bench.runtime.byId, request);
    };
    await settle();
    expect(bench.runtime.calls).toEqual(['read s-p c', 'inspect p']);
    expect(bench.taken()).toEqual(['PodSync p']);
    await bench.stop();
  });
  it('reads again for a reinspection requested meanwhile', async () => {
    await started();
    make('p', 'c');
    bench.pleg.requestPodRelist('p');
    bench.pleg.requestReinspect('p');
    await settle();
    expect(bench.runtime.calls).toEqual(['list p', 'inspect p']);
    await bench.stop();
  });
});

describe('a relist for a runtime event', () => {
  it.each<[string, RuntimeEvent, string]>([
    ['reads for the end of a known container', { id: 'c', kind: 'exit' }, 'read s-p c d'],
    ['reads for the start of a known container', { id: 'd', kind: 'start' }, 'read s-p c d'],
    ['lists for a removal', { id: 'c', kind: 'delete' }, 'list p'],
    ['lists for the start of an unknown container', { id: 'x', kind: 'start', podUid: 'p' }, 'list p'],
    ['lists for the end of an unknown container', { id: 'x', kind: 'exit', podUid: 'p' }, 'list p'],
  ])('%s', async (_, event, call) => {
    const stream = new Channel<RuntimeEvent>(10);
    bench.create({
      eventSources: [
        () => ({
          name: 'events',
          async *events(signal) {
            for (;;) {
              const next = await stream.receive(signal);
              if (next.done) return;
              yield next.value;
            }
          },
        }),
      ],
    });
    bench.runtime.sandboxes.add('p');
    bench.runtime.pods.set('p', { c: 'running', d: 'created' });
    bench.start();
    await bench.clock.advance(100);
    bench.runtime.calls = [];
    stream.trySend(event);
    await settle();
    expect(bench.runtime.calls[0]).toBe(call);
    await bench.stop();
  });
});
