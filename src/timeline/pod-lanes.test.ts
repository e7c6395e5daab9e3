import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import type { EntryInit, TimelineEntry } from './entry.js';
import { podLanes } from './pod-lanes.js';
import { podStart, quantile } from './start-phases.js';
import { Timeline } from './timeline.js';

const pod = { uid: 'u', name: 'web-n', namespace: 'default' };
const startMs = Date.UTC(2026, 0, 1);

/** Entries at their moments, in milliseconds from the start. */
async function at(...inits: readonly (readonly [atMs: number, init: EntryInit])[]): Promise<TimelineEntry[]> {
  const clock = new VirtualClock(startMs);
  const timeline = new Timeline({ clock });
  for (const [atMs, init] of inits) {
    await clock.advance(startMs + atMs - clock.now());
    timeline.record({ pod, ...init });
  }
  return [...timeline.ofPod('u')];
}

const seen: EntryInit = {
  kind: 'observation',
  what: 'pod.seen',
  message: 'file has shown the pod',
  durationMs: 10,
  data: { source: 'file' },
};
const mounted: EntryInit = {
  kind: 'effect',
  what: 'volume.mount',
  message: 'mounted volume work',
  durationMs: 30,
  data: { plugin: 'p', volume: 'v' },
};
const sandbox: EntryInit = {
  kind: 'effect',
  what: 'sandbox.create',
  message: 'Created sandbox, attempt 0',
  because: 'the pod has no sandbox yet',
  durationMs: 100,
  data: { sandboxId: 's', attempt: 0, waitedMs: 50 },
};
const event = (reason: string, container = 'app'): EntryInit => ({
  kind: 'event',
  what: `event.${reason}`,
  message: `${reason} image`,
  container,
  event: { type: 'Normal', reason },
});
const started: EntryInit = {
  kind: 'effect',
  what: 'container.start',
  message: 'Started app',
  container: 'app',
  durationMs: 400,
  data: { containerId: 'c', attempt: 0, waitedMs: 0 },
};
const state = (
  to: 'waiting' | 'running' | 'terminated',
  more: { reason?: string; exitCode?: number } = {},
  container = 'app',
): EntryInit => ({
  kind: 'transition',
  what: 'container.state',
  message: `→ ${to}`,
  because: `because of ${to}`,
  container,
  data: { from: 'none', to, restartCount: 0, ...more },
});
const phase = (to: string): EntryInit => ({
  kind: 'transition',
  what: 'pod.phase',
  message: to,
  data: { from: 'Pending', to },
});
const ready = (to: string): EntryInit => ({
  kind: 'transition',
  what: 'pod.ready',
  message: to,
  data: { from: 'False', to },
});

/** `kind from–to`, in milliseconds from the start. */
const shown = (entries: readonly TimelineEntry[]): Record<string, string[]> =>
  Object.fromEntries(
    podLanes(entries).map(({ name, spans }) => [
      name,
      spans.map(
        ({ kind, fromMs, toMs }) => `${kind} ${fromMs - startMs}–${toMs === undefined ? '' : toMs - startMs}`,
      ),
    ]),
  );

const start = [
  [10, seen],
  [60, mounted],
  [300, sandbox],
  [310, state('waiting', { reason: 'ContainerCreating' })],
  [320, event('Pulling')],
  [600, event('Pulled')],
  [800, started],
  [800, state('running')],
  [800, phase('Running')],
  [1000, ready('True')],
] as const;

describe('podLanes', () => {
  it('draws a start: the pod, its volumes, its sandbox after its turn, its container', async () => {
    expect(shown(await at(...start))).toEqual({
      pod: ['waiting 0–800', 'not-ready 800–1000', 'ready 1000–'],
      volumes: ['volume 30–60'],
      sandbox: ['gate 150–200', 'sandbox 200–300'],
      app: ['waiting 310–800', 'running 800–', 'pull 320–600', 'start 400–800'],
    });
  });

  it.each<[string, readonly (readonly [number, EntryInit])[], string[]]>([
    [
      'an exit and its back-off',
      [
        [0, state('running')],
        [10, state('terminated', { exitCode: 1, reason: 'Error' })],
        [20, state('waiting', { reason: 'CrashLoopBackOff' })],
      ],
      ['running 0–10', 'failed 10–20', 'back-off 20–'],
    ],
    ['an exit as it should be', [[5, state('terminated', { exitCode: 0 })]], ['ended 5–']],
    ['a pull that goes on', [[5, event('Pulling')]], ['pull 5–']],
    [
      'a pull that failed',
      [
        [5, event('Pulling')],
        [9, event('Failed')],
      ],
      ['failed 5–9'],
    ],
  ])('draws %s', async (_, entries, spans) => {
    expect(shown(await at(...entries)).app).toEqual(spans);
  });

  it('tells the cause of each state, and marks problems and probes', async () => {
    const [, app] = podLanes(
      await at(
        [0, state('running')],
        [
          1,
          {
            kind: 'transition',
            what: 'probe.liveness',
            message: 'no answer',
            container: 'app',
            data: { from: 'success', to: 'failure', containerId: 'c' },
          },
        ],
      ),
    );
    expect(app?.spans[0]?.because).toBe('because of running');
    expect(app?.marks).toEqual([
      { timeMs: startMs + 1, label: 'liveness probe: failure', because: 'no answer', problem: true },
    ]);
  });

  it('ends a pod that is stopped', async () => {
    const ending: EntryInit = {
      kind: 'transition',
      what: 'pod.terminating',
      message: 'x',
      data: { graceSeconds: 1 },
    };
    const finished: EntryInit = { kind: 'transition', what: 'pod.finished', message: 'x' };
    expect(shown(await at([0, phase('Running')], [5, ending], [9, finished])).pod).toEqual([
      'waiting 0–0',
      'not-ready 0–5',
      'ending 5–9',
      'ended 9–',
    ]);
  });
});

describe('podStart', () => {
  it('gives each instant to one phase, and all of them add up', async () => {
    const told = podStart(await at(...start), startMs + 5000);
    expect(told).toMatchObject({ fromMs: startMs, toMs: startMs + 1000, totalMs: 1000 });
    expect(told?.phasesMs).toEqual({
      pull: 280,
      gate: 50,
      sandbox: 100,
      start: 200,
      volumes: 30,
      init: 0,
      ready: 200,
      agent: 140,
    });
  });

  it.each<[string, readonly (readonly [number, EntryInit])[], object | undefined]>([
    ['a pod whose beginning is not known', [[0, state('running')]], undefined],
    ['a start under way', [[10, seen]], { toMs: undefined, totalMs: 500, phasesMs: { agent: 500 } }],
    [
      'a pull under way',
      [
        [10, seen],
        [100, event('Pulling')],
      ],
      { phasesMs: { pull: 400, agent: 100 } },
    ],
    [
      'an init container',
      [
        [10, seen],
        [100, state('running', {}, 'init')],
        [300, state('terminated', { exitCode: 0 }, 'init')],
        [400, ready('True')],
      ],
      { totalMs: 400, phasesMs: { init: 200, agent: 200 } },
    ],
    [
      'a pod that ended before it was ready',
      [
        [10, seen],
        [50, phase('Failed')],
      ],
      { toMs: undefined, totalMs: 50 },
    ],
  ])('%s', async (_, entries, expected) => {
    const told = podStart(await at(...entries), startMs + 500);
    if (expected === undefined) expect(told).toBeUndefined();
    else expect(told).toMatchObject(expected);
  });
});

it.each([
  [[], 0.5, undefined],
  [[3], 0.99, 3],
  [[4, 1, 3, 2], 0.5, 2],
  [[4, 1, 3, 2], 0.99, 4],
])('the quantile of %j at %f is %s', (values, part, expected) => {
  expect(quantile(values, part)).toBe(expected);
});
