/** Where the time of a pod went. */
import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../../src/timeline/index.js';
import { byPod, endStepsOf, finishedAtMs, readyAtMs, startStepsOf } from './phases.js';

let seq = 0;
/** As the agent writes them to the disk. */
function entry(timeMs: number, what: string, more: object = {}): TimelineEntry {
  const pod = { uid: 'u', name: 'web', namespace: 'bench' };
  const written = { kind: 'effect', what, message: '', level: 'info', seq: seq++, timeMs, pod, ...more };
  return JSON.parse(JSON.stringify(written));
}

const created = { event: { type: 'Normal', reason: 'Created', fieldPath: 'spec.containers{main}' } };
const life = [
  entry(1_140, 'volume.mount', { durationMs: 30 }),
  entry(1_145, 'volume.mount', { durationMs: 25 }),
  entry(1_400, 'sandbox.create', { durationMs: 200 }),
  entry(1_470, 'event.Created', created),
  entry(1_500, 'container.start', { durationMs: 80, container: 'main' }),
  entry(1_520, 'pod.ready', { data: { from: 'False', to: 'True' } }),
  entry(3_000, 'container.stop', { durationMs: 50 }),
  entry(3_100, 'sandbox.stop', { durationMs: 60 }),
  entry(3_150, 'volume.unmount', { durationMs: 20 }),
  entry(3_160, 'pod.finished'),
];

describe('the steps of a start', () => {
  const steps = startStepsOf(life, { fromMs: 1_000, toldMs: 1_020, toMs: 1_550 });

  it('are told apart', () =>
    expect(steps).toEqual({
      api: 20,
      // Both mounts were under way together for a while.
      volumes: 35,
      sandbox: 200,
      create: 50,
      start: 30,
      status: 50,
      queue: 165,
    }));

  it('are the whole of it', () => expect(Object.values(steps).reduce((sum, ms) => sum + ms, 0)).toBe(550));
});

it('the steps of an end are told apart', () =>
  expect(endStepsOf(life, { fromMs: 2_900, toldMs: 2_910, toMs: 3_200 })).toEqual({
    api: 10,
    stop: 50,
    sandbox: 60,
    volumes: 20,
    status: 50,
    queue: 110,
  }));

it('entries are those of their pod', () => {
  const other = entry(1, 'pod.finished', { pod: { uid: 'v', name: 'other', namespace: 'bench' } });
  const found = byPod([...life, other]);
  expect([found.get('web')?.length, found.get('other')?.length]).toEqual([life.length, 1]);
});

it('the agent tells when it was ready and done', () =>
  expect([readyAtMs(life), finishedAtMs(life), readyAtMs([])]).toEqual([1_520, 3_160, undefined]));
