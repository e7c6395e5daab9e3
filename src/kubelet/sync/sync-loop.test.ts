import { afterEach, expect, it } from 'vitest';
import { Channel, VirtualClock } from '../../async/index.js';
import type { ConfigUpdate } from '../../pods/desired/index.js';
import type { ProbeUpdate } from '../../probes/index.js';
import type { PodLifecycleEvent } from '../../runtime-manager/pleg/index.js';
import { Timeline } from '../../timeline/index.js';
import { SyncLoop } from './sync-loop.js';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A loop that notes what it hands on. */
function startLoop() {
  const clock = new VirtualClock();
  const done: string[] = [];
  const updates = new Channel<ConfigUpdate>(10);
  const plegEvents = new Channel<PodLifecycleEvent>(10);
  const due = new Channel<void>(1);
  const state = {
    blockers: [] as string[],
    allSourcesReady: true,
    hasDeadlines: false,
    housekeeping: 'unsettled' as 'settled' | 'unsettled',
  };
  const probes = {
    liveness: new Channel<ProbeUpdate>(1),
    readiness: new Channel<ProbeUpdate>(1),
    startup: new Channel<ProbeUpdate>(1),
  };
  const loop = new SyncLoop({
    clock,
    timeline: new Timeline({ clock }),
    config: {
      updates,
      get allSourcesReady() {
        return state.allSourcesReady;
      },
      missingSources: [],
      markHandled: (source) => void done.push(`handled ${source}`),
    },
    plegEvents,
    due,
    resyncMs: 60_000,
    blockers: () => state.blockers,
    onConfig: ({ op }) => void done.push(`config ${op}`),
    onPleg: (events) => void done.push(`pleg ${events.map(({ uid }) => uid).join()}`),
    onSyncTick: () => void done.push('sync'),
    hasDeadlines: () => state.hasDeadlines,
    onHousekeeping: async () => {
      done.push('housekeeping');
      return state.housekeeping;
    },
    probes,
    onProbe: (kind, { result }) => void done.push(`${kind} ${result}`),
    random: () => 0,
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  stops.push(async () => {
    stop.abort();
    await running.catch(() => {});
  });
  return { clock, done, updates, plegEvents, due, probes, state, loop, running };
}

it('an update of the configuration is marked once it was handled', async () => {
  const { clock, done, updates } = startLoop();
  updates.trySend({ op: 'ADD', source: 'file', pods: [] });
  await clock.advance(0);
  expect(done).toEqual(['config ADD', 'handled file']);
});

it('events of the PLEG that wait are handed on together', async () => {
  const { clock, done, plegEvents } = startLoop();
  for (const uid of ['a', 'b']) plegEvents.trySend({ uid, type: 'ContainerStarted', id: 'c' });
  await clock.advance(0);
  expect(done).toEqual(['pleg a,b']);
});

it('a pod that is due is synced without waiting for the tick', async () => {
  const { clock, done, due } = startLoop();
  due.trySend();
  await clock.advance(0);
  expect(done).toEqual(['sync']);
});

it('looks at pods with a deadline every second while there are any', async () => {
  const { clock, done, updates, state } = startLoop();
  state.hasDeadlines = true;
  updates.trySend({ op: 'ADD', source: 'file', pods: [] });
  await clock.advance(4_500);
  expect(done.filter((what) => what === 'sync')).toHaveLength(4);
  state.hasDeadlines = false;
  await clock.advance(10_000);
  expect(done.filter((what) => what === 'sync')).toHaveLength(5);
});

it('keeps house every other second while there is something to do', async () => {
  const { clock, done } = startLoop();
  await clock.advance(8_500);
  expect(done).toEqual(Array(4).fill('housekeeping'));
});

it('keeps house rarely once all is settled', async () => {
  const { clock, done, state } = startLoop();
  state.housekeeping = 'settled';
  await clock.advance(120_500);
  expect(done).toHaveLength(4);
});

it.each<[string, (loop: ReturnType<typeof startLoop>) => void]>([
  ['a change that it is told of', ({ loop }) => loop.disturb()],
  [
    'an update of the configuration',
    ({ updates }) => void updates.trySend({ op: 'ADD', source: 'file', pods: [] }),
  ],
  [
    'an event of the PLEG',
    ({ plegEvents }) => void plegEvents.trySend({ uid: 'a', type: 'ContainerDied', id: 'c' }),
  ],
])('keeps house soon after %s', async (_, change) => {
  const started = startLoop();
  const { clock, done, state } = started;
  state.housekeeping = 'settled';
  await clock.advance(10_000);
  done.length = 0;
  change(started);
  await clock.advance(2_000);
  expect(done.at(-1)).toBe('housekeeping');
});

it.each(['liveness', 'readiness', 'startup'] as const)(
  'a %s result is handed on as one of its kind',
  async (kind) => {
    const { clock, done, probes } = startLoop();
    probes[kind].trySend({ podUid: 'p', containerId: 'c', result: 'failure' });
    await clock.advance(0);
    expect(done).toEqual([`${kind} failure`]);
  },
);

it('keeps no house before every source has delivered', async () => {
  const { clock, done, state } = startLoop();
  state.allSourcesReady = false;
  await clock.advance(2_000);
  expect(done).not.toContain('housekeeping');
  state.allSourcesReady = true;
  await clock.advance(2_000);
  expect(done).toContain('housekeeping');
});

it('handles nothing while something blocks it', async () => {
  const { clock, done, due, state } = startLoop();
  // The loop has passed its gate once and waits; what comes next is handled, then the gate holds.
  state.blockers = ['container runtime is down'];
  due.trySend();
  await clock.advance(0);
  due.trySend();
  await clock.advance(90);
  expect(done).toEqual(['sync']);
  state.blockers = [];
  await clock.advance(100);
  expect(done).toEqual(['sync', 'sync']);
});

it('ends when the configuration ends', async () => {
  const { clock, updates, running } = startLoop();
  updates.close();
  await clock.advance(0);
  await expect(running).resolves.toBeUndefined();
});
