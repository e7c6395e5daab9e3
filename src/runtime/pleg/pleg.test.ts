import { beforeEach, describe, expect, it } from 'vitest';
import { settle, sleep, TaskGroup, VirtualClock } from '../../async/index.js';
import { absentPodStatus, CriError, type ObservedPod, type ObservedPodStatus } from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { PodCache } from './cache.js';
import { eventsBetween, type PlegState } from './compare.js';
import { Pleg, type PlegOptions } from './pleg.js';
import type { EventSource, RuntimeEvent } from './runtime-events.js';

type State = 'created' | 'running' | 'exited' | 'unknown';

/** A runtime whose pods are set by the test; `pod` → container id → state. */
class ScriptedRuntime {
  pods = new Map<string, Record<string, State>>();
  ips: string[] = [];
  sandboxReady = true;
  listError: Error | undefined;
  inspectError: Error | undefined;
  calls: string[] = [];
  constructor(private readonly clock: VirtualClock) {}
  #pod(uid: string): ObservedPod {
    const containers = Object.entries(this.pods.get(uid) ?? {}).map(([id, state]) => ({
      id,
      name: id,
      sandboxId: `s-${uid}`,
      state,
      image: 'i',
      imageId: 'i',
      hash: '',
      createdAtNs: 1n,
    }));
    return {
      uid,
      name: uid,
      namespace: 'd',
      sandboxes: [],
      containers,
      observedAtMs: this.clock.monotonic(),
    };
  }
  async listPods(): Promise<ObservedPod[]> {
    this.calls.push('list');
    if (this.listError !== undefined) throw this.listError;
    return [...this.pods.keys()].map((uid) => this.#pod(uid));
  }
  async listPod(uid: string): Promise<ObservedPod | undefined> {
    this.calls.push(`list ${uid}`);
    return this.pods.has(uid) ? this.#pod(uid) : undefined;
  }
  async podStatus(uid: string): Promise<ObservedPodStatus> {
    this.calls.push(`inspect ${uid}`);
    if (this.inspectError !== undefined) throw this.inspectError;
    return {
      ...absentPodStatus(uid),
      name: uid,
      ips: this.ips,
      sandboxes: [
        {
          id: 's',
          ready: this.sandboxReady,
          attempt: 0,
          createdAtNs: 1n,
          hostNetwork: false,
          network: undefined,
          runtimeHandler: '',
        },
      ],
    };
  }
}

describe('eventsBetween', () => {
  const table: [PlegState, PlegState, string][] = [
    ['non-existent', 'running', 'ContainerStarted'],
    ['non-existent', 'exited', 'ContainerDied'],
    ['non-existent', 'unknown', 'ContainerChanged'],
    ['running', 'running', ''],
    ['running', 'exited', 'ContainerDied'],
    ['running', 'unknown', 'ContainerChanged'],
    ['running', 'non-existent', 'ContainerDied ContainerRemoved'],
    ['exited', 'running', 'ContainerStarted'],
    ['exited', 'exited', ''],
    ['exited', 'unknown', 'ContainerChanged'],
    ['exited', 'non-existent', 'ContainerRemoved'],
    ['unknown', 'running', 'ContainerStarted'],
    ['unknown', 'exited', 'ContainerDied'],
    ['unknown', 'unknown', ''],
    ['unknown', 'non-existent', 'ContainerDied ContainerRemoved'],
  ];
  it.each(table)('%s → %s: %s', (before, after, events) => {
    expect(eventsBetween(before, after).join(' ')).toBe(events);
  });
});

describe('PodCache', () => {
  const status = (uid: string): { status: ObservedPodStatus } => ({
    status: { ...absentPodStatus(uid), name: 'x' },
  });
  const outcome = async (promise: Promise<ObservedPodStatus>): Promise<string> => {
    let text = 'waiting';
    promise.then(
      (value) => {
        text = value.name === '' ? 'empty' : value.name;
      },
      (error: Error) => {
        text = error.message;
      },
    );
    await settle();
    return text;
  };
  it.each<[string, (cache: PodCache) => void, string]>([
    ['nothing was ever observed', () => {}, 'waiting'],
    ['the global time equals the limit', (cache) => cache.setGlobal(10), 'waiting'],
    ['no entry, global time after the limit', (cache) => cache.setGlobal(11), 'empty'],
    ['the entry was modified after the limit', (cache) => cache.set('u', status('u'), 11), 'x'],
    [
      'the entry was observed after the limit',
      (cache) => {
        cache.set('u', status('u'), 5);
        cache.setObserved('u', 11);
      },
      'x',
    ],
    [
      'an observed time without entry does not answer later calls',
      (cache) => cache.setObserved('u', 11),
      'waiting',
    ],
    ['the observation failed', (cache) => cache.set('u', { error: new Error('no') }, 11), 'no'],
  ])('newerThan(10): %s', async (_rule, prepare, answer) => {
    const cache = new PodCache();
    prepare(cache);
    expect(await outcome(cache.newerThan('u', 10))).toBe(answer);
  });
  it.each<[string, (cache: PodCache) => void, string]>([
    ['a global time equal to its limit', (cache) => cache.setGlobal(10), 'empty'],
    ['an earlier global time does not', (cache) => cache.setGlobal(9), 'waiting'],
    ['a set at its limit', (cache) => cache.set('u', status('u'), 10), 'x'],
    ['an observed time even without entry', (cache) => cache.setObserved('u', 10), 'empty'],
    ['another pod does not', (cache) => cache.setObserved('v', 20), 'waiting'],
    ['a deletion does not', (cache) => cache.delete('u'), 'waiting'],
  ])('a waiter is woken: %s', async (_rule, act, answer) => {
    const cache = new PodCache();
    const waiting = cache.newerThan('u', 10);
    act(cache);
    expect(await outcome(waiting)).toBe(answer);
  });
  it('a cancelled waiter leaves nothing behind', async () => {
    const cache = new PodCache();
    const stop = new AbortController();
    const waiting = cache.newerThan('u', 0, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('context canceled');
    expect(cache.waiting).toBe(0);
  });
});

describe('Pleg', () => {
  let clock: VirtualClock;
  let runtime: ScriptedRuntime;
  let discarded: number;
  let pleg: Pleg;
  const create = (options: Partial<PlegOptions> = {}): void => {
    pleg = new Pleg({
      clock,
      runtime,
      timeline: new Timeline({ clock }),
      observer: {
        relisted: () => {},
        podRelisted: () => {},
        observed: () => {},
        discarded: () => {
          discarded++;
        },
      },
      ...options,
    });
  };
  beforeEach(() => {
    clock = new VirtualClock();
    runtime = new ScriptedRuntime(clock);
    discarded = 0;
    create();
  });
  const taken = (): string[] => {
    const events: string[] = [];
    for (
      let next = pleg.events.tryReceive();
      next !== undefined && !next.done;
      next = pleg.events.tryReceive()
    ) {
      events.push(`${next.value.type} ${next.value.id}`);
    }
    return events;
  };
  const look = async (pods: Record<string, Record<string, State>>): Promise<string[]> => {
    runtime.pods = new Map(Object.entries(pods));
    runtime.calls = [];
    await clock.advance(1);
    await pleg.relist();
    return taken();
  };

  it('a container newly listed as running: one event, the cache filled before it', async () => {
    expect(await look({ p: { c: 'running' } })).toEqual(['ContainerStarted c']);
    expect(pleg.cache.peek('p')).toMatchObject({ status: { name: 'p' } });
  });
  it('running → absent while others remain', async () => {
    await look({ p: { c: 'running', d: 'running' } });
    expect(await look({ p: { d: 'running' } })).toEqual(['ContainerDied c', 'ContainerRemoved c']);
  });
  it('exited → absent: only the removal', async () => {
    await look({ p: { c: 'exited', d: 'running' } });
    expect(await look({ p: { d: 'running' } })).toEqual(['ContainerRemoved c']);
  });
  it('created: inspected and cached, no event', async () => {
    expect(await look({ p: { c: 'created' } })).toEqual([]);
    expect(runtime.calls).toContain('inspect p');
    expect(await look({ p: { c: 'created' } })).toEqual([]);
    expect(runtime.calls).toEqual(['list']);
  });
  it('a failed inspection is cached and its events come when it works', async () => {
    runtime.inspectError = new Error('busy');
    expect(await look({ p: { c: 'running' } })).toEqual([]);
    expect(pleg.cache.peek('p')).toEqual({ error: new Error('busy') });
    runtime.inspectError = undefined;
    expect(await look({ p: { c: 'running' } })).toEqual(['ContainerStarted c']);
    expect(pleg.cache.peek('p')).toHaveProperty('status');
  });
  it('reinspection without change: one PodSync; without request no inspection', async () => {
    await look({ p: { c: 'running' } });
    pleg.requestReinspect('p');
    expect(await look({ p: { c: 'running' } })).toEqual(['PodSync p']);
    expect(await look({ p: { c: 'running' } })).toEqual([]);
    expect(runtime.calls).toEqual(['list']);
  });
  it('a pod that is gone with a reinspection pending: entry deleted, told, flag cleared', async () => {
    await look({ p: { c: 'exited' } });
    pleg.requestReinspect('p');
    expect(await look({})).toEqual(['ContainerRemoved c']);
    expect(pleg.cache.size).toBe(0);
    expect(await look({})).toEqual([]);
  });
  it('events beyond the channel are counted, not kept', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1003 }, (_, n) => [`p${n}`, { [`c${n}`]: 'running' as State }]),
    );
    expect(await look(many)).toHaveLength(1000);
    expect(discarded).toBe(3);
    expect(await look(many)).toEqual([]);
  });
  it('a failed listing moves nothing; health tells of it after 3 minutes', async () => {
    expect(pleg.health()).toBe('pleg has yet to be successful');
    await look({});
    runtime.listError = new Error('away');
    await clock.advance(180_000);
    await pleg.relist();
    expect(pleg.health()).toBeUndefined();
    await clock.advance(500);
    expect(pleg.health()).toBe('pleg was last seen active 3m0.5s ago; threshold is 3m0s');
  });
  it('keeps the addresses of a pod whose sandbox ended, not those of one that runs', async () => {
    runtime.ips = ['10.0.0.5'];
    await look({ p: { c: 'running' } });
    runtime.ips = [];
    runtime.sandboxReady = false;
    await look({ p: { c: 'exited' } });
    expect(pleg.cache.peek('p')).toMatchObject({ status: { ips: ['10.0.0.5'] } });
    runtime.sandboxReady = true;
    await look({ p: { c: 'running' } });
    expect(pleg.cache.peek('p')).toMatchObject({ status: { ips: [] } });
  });

  describe('running', () => {
    let tasks: TaskGroup;
    const start = (): void => {
      tasks = new TaskGroup({
        onError: (_task, error) => {
          throw error;
        },
      });
      tasks.start('pleg', (signal) => pleg.run(signal));
    };
    const stop = async (): Promise<void> => {
      await tasks.stop();
      expect(clock.pendingTimers).toBe(0);
    };
    it('looks at once and then every second', async () => {
      start();
      await settle();
      expect(runtime.calls).toEqual(['list']);
      await clock.advance(3_000);
      expect(runtime.calls).toHaveLength(4);
      await stop();
    });
    it('looks at one pod on request and wakes only its waiters', async () => {
      runtime.pods.set('p', { c: 'running' });
      start();
      await clock.advance(10);
      const none = new AbortController();
      const woken: string[] = [];
      const waits = ['p', 'q'].map((uid) =>
        pleg.cache.newerThan(uid, clock.monotonic(), none.signal).then(
          () => woken.push(uid),
          () => {},
        ),
      );
      await clock.advance(10);
      pleg.requestRelist('p');
      await settle();
      expect(runtime.calls.at(-1)).toBe('list p');
      expect(woken).toEqual(['p']);
      none.abort();
      await Promise.all(waits);
      await stop();
    });
    it('a request older than the last look at everything is dropped, one made during it is not', async () => {
      pleg.requestRelist('p');
      start();
      await settle();
      expect(runtime.calls).toEqual(['list']);
      await clock.advance(999);
      runtime.calls = [];
      const list = runtime.listPods.bind(runtime);
      runtime.listPods = async () => {
        pleg.requestRelist('p');
        return list();
      };
      await clock.advance(1);
      expect(runtime.calls).toEqual(['list', 'list p']);
      await stop();
    });
    it('whoever waits for a status makes it look', async () => {
      create({ relistPeriodMs: 60_000 });
      start();
      await clock.advance(10);
      const waiting = pleg.statusNewerThan('p', clock.monotonic());
      await settle();
      expect((await waiting).uid).toBe('p');
      expect(runtime.calls).toEqual(['list', 'list p']);
      await stop();
    });
    it('whoever waits for a status has it looked at again when that fails', async () => {
      create({ relistPeriodMs: 60_000 });
      start();
      await clock.advance(10);
      const list = runtime.listPod.bind(runtime);
      let failures = 2;
      runtime.listPod = async (uid) => {
        if (failures-- > 0) throw new Error('busy');
        return list(uid);
      };
      const waiting = pleg.statusNewerThan('p', clock.monotonic());
      await clock.advance(2_000);
      expect((await waiting).uid).toBe('p');
      await stop();
    });
    it('counts the period from the end of a look, however long that takes', async () => {
      const starts: number[] = [];
      runtime.listPods = async () => {
        starts.push(clock.monotonic());
        await sleep(clock, 5_000);
        return [];
      };
      start();
      await clock.advance(12_500);
      expect(starts).toEqual([0, 6_000, 12_000]);
      const stopping = stop();
      await clock.advance(5_000);
      await stopping;
    });
    it('a failed inspection is tried again after a second', async () => {
      runtime.pods.set('p', { c: 'running' });
      runtime.inspectError = new Error('busy');
      create({ relistPeriodMs: 1_000, relaxedRelistPeriodMs: 60_000 });
      start();
      await settle();
      runtime.inspectError = undefined;
      await clock.advance(1_000);
      expect(taken()).toEqual(['ContainerStarted c']);
      await stop();
    });
    it('a requested reinspection does not wait for the next look at everything', async () => {
      create({ relistPeriodMs: 60_000 });
      runtime.pods.set('p', { c: 'running' });
      start();
      await settle();
      taken();
      pleg.requestReinspect('p');
      await settle();
      expect(taken()).toEqual(['PodSync p']);
      await stop();
    });
    it('a pod that a request finds gone is told of and forgotten', async () => {
      create({ relistPeriodMs: 60_000 });
      runtime.pods.set('p', { c: 'running' });
      start();
      await settle();
      taken();
      runtime.pods.delete('p');
      pleg.requestRelist('p');
      await settle();
      expect(taken()).toEqual(['ContainerDied c', 'ContainerRemoved c']);
      expect([pleg.cache.size, pleg.observedPods().length]).toEqual([0, 0]);
      await stop();
    });
    it('more requests than there is room for become one look at everything', async () => {
      create({ relistPeriodMs: 60_000 });
      start();
      await settle();
      runtime.calls = [];
      for (let n = 0; n < 250; n++) pleg.requestRelist(`p${n}`);
      await settle();
      expect(runtime.calls).toEqual(['list']);
      await stop();
    });
    it('asked for while it looks at everything, it looks again at once', async () => {
      create({ relistPeriodMs: 60_000 });
      let asked = false;
      const list = runtime.listPods.bind(runtime);
      runtime.listPods = async () => {
        if (!asked) pleg.relistSoon();
        asked = true;
        return list();
      };
      start();
      await settle();
      expect(runtime.calls).toEqual(['list', 'list']);
      await stop();
    });
    it('records a row of failures once, and its end', async () => {
      const timeline = new Timeline({ clock });
      create({ timeline });
      runtime.listError = new Error('away');
      start();
      await clock.advance(5_000);
      runtime.listError = undefined;
      await clock.advance(2_000);
      const seen = timeline.ofNode().filter(({ what }) => what === 'pleg.relist');
      expect(seen.map(({ kind }) => kind)).toEqual(['problem', 'notice']);
      await stop();
    });

    describe('with runtime events', () => {
      let push: (event: RuntimeEvent) => void;
      let fail: (error: Error) => void;
      let attempts: number;
      const source = (): EventSource => ({
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
        create({ eventSources: [source] });
        runtime.pods.set('p', { c: 'running' });
      });
      it('an event makes it look at the pod at once, and again until the change shows', async () => {
        start();
        await clock.advance(200);
        taken();
        runtime.calls = [];
        push({ id: 'c' });
        await settle();
        expect(runtime.calls).toEqual(['list p']);
        runtime.pods.set('p', { c: 'exited' });
        await clock.advance(5);
        expect(taken()).toEqual(['ContainerDied c']);
        await stop();
      });
      it('looks at everything for ids that it does not know, once a second at most', async () => {
        start();
        await clock.advance(200);
        runtime.calls = [];
        for (let n = 0; n < 30; n++) {
          push({ id: `stranger-${n}` });
          await clock.advance(100);
        }
        expect(runtime.calls).toEqual(['list', 'list', 'list']);
        await stop();
      });
      it('need not look at everything for an id that has become known by a request', async () => {
        start();
        await clock.advance(200);
        push({ id: 'new' });
        await settle();
        runtime.pods.set('q', { new: 'created' });
        runtime.calls = [];
        pleg.requestRelist('q');
        await settle();
        // The event may be younger than what the request saw, so that the pod is looked at once more.
        expect(runtime.calls.filter((call) => call === 'list q')).toHaveLength(2);
        await clock.advance(3_000);
        expect(runtime.calls).not.toContain('list');
        await stop();
      });
      it('an event that comes in the same instant as a look at everything is not lost', async () => {
        start();
        await clock.advance(200);
        await clock.advance(9_850);
        taken();
        const list = runtime.listPods.bind(runtime);
        runtime.listPods = async () => {
          const pods = await list();
          runtime.pods.set('p', { c: 'exited' });
          push({ id: 'c' });
          return pods;
        };
        await clock.advanceUntil(() => runtime.pods.get('p')?.c === 'exited', 11_000);
        await settle();
        expect(taken()).toEqual(['ContainerDied c']);
        await stop();
      });
      it('polls less while events flow, and more again when they stop', async () => {
        start();
        await clock.advance(200);
        runtime.calls = [];
        await clock.advance(30_000);
        expect(runtime.calls.length).toBeLessThanOrEqual(3);
        fail(new CriError('Unavailable', 'gone'));
        runtime.calls = [];
        await settle();
        expect(runtime.calls).toEqual(['list']);
        await clock.advance(1_000);
        expect(attempts).toBeGreaterThan(1);
        expect(pleg.followsEvents).toBe(true);
        await stop();
      });
      it('takes the next source when the first is not offered, and polls when none is', async () => {
        const refused = (): EventSource => ({
          name: 'none',
          // biome-ignore lint/correctness/useYield: the stream fails before its first event
          async *events() {
            throw new CriError('Unimplemented', 'no');
          },
        });
        create({ eventSources: [refused, source] });
        start();
        await clock.advance(200);
        expect(pleg.followsEvents).toBe(true);
        await stop();
        create({ eventSources: [refused] });
        start();
        await clock.advance(2_200);
        expect(pleg.followsEvents).toBe(false);
        await stop();
      });
    });
  });
});
