import { describe, expect, it } from 'vitest';
import { Cancelled } from '../../async/index.js';
import { CriError } from '../../cri/index.js';
import { effectiveGrace } from './grace.js';
import { killTimeoutSeconds } from './kill-and-wait.js';
import { beginTermination, type Finished, type PodState, type Terminated } from './pod-state.js';
import {
  couldHaveRunningContainers,
  isKnownTerminated,
  isTerminationRequested,
  type PodKnowledge,
  shouldBeFinished,
  shouldContainersBeTerminating,
  shouldContentBeRemoved,
  shouldRuntimeBeRemoved,
} from './predicates.js';
import { outcomeOfThrow, type RequeueInput, requeueDelayMs } from './requeue.js';
import { StaticPodOrder } from './static-order.js';

describe('effectiveGrace', () => {
  it.each([
    ['spec alone', 0, 30, undefined, undefined, 30, false],
    ['deletion grace beats spec', 0, 30, 5, undefined, 5, false],
    ['override beats a longer deletion grace', 0, 30, 5, 2, 2, false],
    ['deletion grace 0 becomes 1', 0, 30, 0, undefined, 1, false],
    ['override 0 becomes 1', 0, 30, 5, 0, 1, false],
    ['a deletion grace of 0 counts as none for the override', 0, 30, 0, 5, 5, false],
    ['nothing set is 1', 0, undefined, undefined, undefined, 1, false],
    ['a smaller override shortens', 15, 30, undefined, 5, 5, true],
    ['a larger override changes nothing', 5, 30, undefined, 60, 5, false],
    ['a larger deletion grace changes nothing', 5, 30, 15, undefined, 5, false],
  ] as const)('%s', (_rule, current, spec, deletion, override, seconds, shortened) => {
    expect(
      effectiveGrace({
        currentSeconds: current === 0 ? undefined : current,
        specSeconds: spec,
        deletionGraceSeconds: deletion,
        overrideSeconds: override,
      }),
    ).toEqual({ seconds, shortened });
  });
});

type Outcome = RequeueInput['outcome'];

describe('requeueDelayMs', () => {
  const error = new Error('x');
  const backOff = (inMs: number): Outcome => ({
    kind: 'retry',
    reason: 'backOff',
    atMs: 1_000_000 + inMs,
    error,
  });
  it.each<[string, { phaseTransition?: boolean; outcome: Outcome }, number, number]>([
    ['success waits for the resync', { outcome: { kind: 'done', terminal: false } }, 60_000, 90_000],
    ['an error waits 10 to 15 s', { outcome: { kind: 'retry', reason: 'error', error } }, 10_000, 15_000],
    ['a back-off waits for its end', { outcome: backOff(3_000) }, 3_000, 4_500],
    ['an expired back-off is due at once', { outcome: backOff(-5) }, 0, 0],
    ['a back-off beyond the resync waits for the resync', { outcome: backOff(300_000) }, 60_000, 90_000],
    [
      'a runtime that is away is asked again soon',
      { outcome: { kind: 'retry', reason: 'runtimeUnavailable', error } },
      1_000,
      1_500,
    ],
    [
      'a network that is not ready is asked again soon',
      { outcome: { kind: 'retry', reason: 'networkNotReady', error } },
      1_000,
      1_500,
    ],
    [
      'a phase transition is due at once',
      { phaseTransition: true, outcome: { kind: 'retry', reason: 'error', error } },
      0,
      0,
    ],
  ])('%s', (_rule, { phaseTransition = false, outcome }, fromMs, toMs) => {
    const at = (random: number): number =>
      requeueDelayMs({
        phaseTransition,
        outcome,
        resyncMs: 60_000,
        errorBackoffMs: 10_000,
        networkBackoffMs: 1_000,
        nowMs: 1_000_000,
        random: () => random,
      });
    expect(at(0)).toBe(fromMs);
    expect(at(1)).toBe(toMs);
  });
});

describe('outcomeOfThrow', () => {
  const going = new AbortController().signal;
  const away = new CriError('Unavailable', 'connection refused');
  const words = new CriError('Unknown', 'registry: code = Unavailable, network is not ready');
  it.each<[string, unknown, AbortSignal, object]>([
    ['anything is an error', new Error('x'), going, { kind: 'retry', reason: 'error' }],
    ['a runtime that is away', away, going, { kind: 'retry', reason: 'runtimeUnavailable' }],
    ['the words of a registry do not hasten anything', words, going, { kind: 'retry', reason: 'error' }],
    ['a wait that ended unasked is an error', new Cancelled(), going, { kind: 'retry', reason: 'error' }],
    ['a step that was cancelled has not failed', away, AbortSignal.abort(), { kind: 'cancelled' }],
  ])('%s', (_rule, error, signal, outcome) => {
    expect(outcomeOfThrow(error, signal)).toMatchObject(outcome);
  });
});

describe('predicates', () => {
  const syncing: PodState = { kind: 'syncing', startedAtMs: 0 };
  const requested = beginTermination({ kind: 'syncing', startedAtMs: 0 }, { deleted: true }, 1);
  const terminated: Terminated = {
    kind: 'terminated',
    startedAtMs: 0,
    terminatedAtMs: 2,
    deleted: true,
    evicted: false,
    restartRequested: false,
  };
  const finished: Finished = {
    kind: 'finished',
    terminatedAtMs: 2,
    neverStarted: false,
    deleted: false,
    evicted: true,
    restartRequested: false,
  };
  const columns: Record<string, PodKnowledge> = {
    'unknown, before the first full set': { state: undefined, syncedOnce: false },
    'unknown, after it': { state: undefined, syncedOnce: true },
    waiting: { state: { kind: 'waiting' }, syncedOnce: true },
    sync: { state: syncing, syncedOnce: true },
    requested: { state: requested, syncedOnce: true },
    'requested by eviction': { state: { ...requested, deleted: false, evicted: true }, syncedOnce: true },
    acknowledged: { state: { ...requested, acknowledged: true }, syncedOnce: true },
    terminated: { state: terminated, syncedOnce: true },
    'terminated without deletion': { state: { ...terminated, deleted: false }, syncedOnce: true },
    finished: { state: finished, syncedOnce: true },
    'finished static pod that never started': {
      state: { ...finished, evicted: false, neverStarted: true },
      syncedOnce: true,
    },
  };
  const over = [
    'terminated',
    'terminated without deletion',
    'finished',
    'finished static pod that never started',
  ];
  const ending = ['requested', 'requested by eviction', 'acknowledged'];
  const table: [(known: PodKnowledge) => boolean, string[]][] = [
    [isKnownTerminated, over],
    [couldHaveRunningContainers, ['unknown, before the first full set', 'waiting', 'sync', ...ending]],
    [shouldBeFinished, ['unknown, after it', 'finished', 'finished static pod that never started']],
    [isTerminationRequested, [...ending, ...over]],
    [
      shouldContainersBeTerminating,
      ['unknown, after it', 'acknowledged', 'terminated', 'terminated without deletion', 'finished'],
    ],
    [shouldRuntimeBeRemoved, ['unknown, after it', ...over]],
    [shouldContentBeRemoved, ['unknown, after it', 'requested by eviction', 'terminated', 'finished']],
  ];
  it.each(table.map(([holds, yes]) => ({ question: holds.name, holds, yes })))(
    '$question',
    ({ holds, yes }) => {
      const found = Object.entries(columns).flatMap(([name, known]) => (holds(known) ? [name] : []));
      expect(found).toEqual(yes);
    },
  );
});

describe('StaticPodOrder', () => {
  const states = new Map<string, { terminationRequested: boolean }>();
  const stateOf = (uid: string) => states.get(uid);
  it('gives the turn in order, skips those that stopped, and to nobody twice', () => {
    const turns = new StaticPodOrder();
    for (const uid of ['2', '3', '4']) {
      states.set(uid, { terminationRequested: false });
      turns.enqueue('a', uid);
    }
    expect(turns.decide('a', '3', stateOf)).toBe('wait');
    expect(turns.decide('a', '2', stateOf)).toBe('start');
    expect(turns.decide('a', '3', stateOf)).toBe('wait');
    states.set('3', { terminationRequested: true });
    expect(turns.decide('a', '3', stateOf)).toBe('never');
    expect(turns.release('a', '3')).toEqual([]);
    expect(turns.release('a', '2')).toEqual(['4']);
    expect(turns.decide('a', '4', stateOf)).toBe('start');
    expect(turns.decide('a', '4', stateOf)).toBe('start');
    expect(turns.decide('b', 'unknown', stateOf)).toBe('never');
  });
  it('forgets a name with the last pod of it, also of pods that never had their turn', () => {
    const turns = new StaticPodOrder();
    for (const uid of ['2', '3']) {
      states.set(uid, { terminationRequested: false });
      turns.enqueue('a', uid);
    }
    turns.decide('a', '2', stateOf);
    turns.release('a', '3');
    turns.release('a', '2');
    expect(turns.size).toBe(0);
  });
});

it.each([
  ['30 s waits 45 s', 30, 45],
  ['0 waits 10 s', 0, 10],
  ['1 s, as a hard eviction gives, waits 10 s', 1, 10],
  ['60 s waits 90 s', 60, 90],
  ['120 s waits 180 s', 120, 180],
  ['an odd grace rounds its half down', 11, 16],
])('killTimeoutSeconds: %s', (_rule, grace, timeout) => {
  expect(killTimeoutSeconds(grace)).toBe(timeout);
});
