import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import {
  acknowledge,
  afterStep,
  begin,
  beginTermination,
  type Finished,
  type PodState,
  retire,
  type StepEnd,
  type Syncing,
  type Terminated,
  terminatedBefore,
  workStateOf,
} from './pod-state.js';

const waiting = { kind: 'waiting' } as const;
const syncing: Syncing = { kind: 'syncing', startedAtMs: 1 };
const terminating = beginTermination(syncing, { evicted: true }, 2);
const neverStarted = beginTermination(waiting, {}, 2);
const terminated: Terminated = {
  kind: 'terminated',
  startedAtMs: 1,
  terminatedAtMs: 3,
  deleted: false,
  evicted: true,
  restartRequested: false,
};
const finished: Finished = {
  kind: 'finished',
  terminatedAtMs: 3,
  neverStarted: false,
  deleted: false,
  evicted: true,
  restartRequested: false,
};
const pod: Pod = {
  metadata: { uid: '1', name: 'web', namespace: 'default' },
  spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 30 },
};

describe('the step that a state asks for', () => {
  it.each<[PodState, string]>([
    [waiting, 'sync'],
    [syncing, 'sync'],
    [terminating, 'terminating'],
    [terminated, 'terminated'],
    [finished, 'terminated'],
  ])('%j', (state, step) => {
    expect(workStateOf(state)).toBe(step);
  });
});

describe('begin', () => {
  it.each<[string, PodState, PodState]>([
    ['a pod whose turn it is syncs', begin(waiting, 'start', 5), { kind: 'syncing', startedAtMs: 5 }],
    ['one that has to wait waits', begin(waiting, 'wait', 5), waiting],
    [
      'one that is to be stopped starts to be stopped',
      begin(neverStarted, 'start', 5),
      { ...neverStarted, startedAtMs: 5 },
    ],
    [
      'one that was over is cleaned up',
      begin(terminatedBefore(4), 'start', 5),
      { ...terminatedBefore(4), startedAtMs: 5 },
    ],
    [
      'a static pod that was stopped before its turn is finished',
      begin({ ...neverStarted, restartRequested: true }, 'never', 5),
      {
        kind: 'finished',
        terminatedAtMs: 5,
        neverStarted: true,
        deleted: false,
        evicted: false,
        restartRequested: true,
      },
    ],
  ])('%s', (_rule, state, expected) => {
    expect(state).toEqual(expected);
  });
});

describe('afterStep', () => {
  it.each<[string, PodState, StepEnd, PodState]>([
    [
      'a sync that reached the end begins the termination, acknowledged',
      syncing,
      'reachedEnd',
      beginTermination(syncing, { acknowledged: true }, 9),
    ],
    ['one that was overtaken by a kill acknowledges it', terminating, 'reachedEnd', acknowledge(terminating)],
    [
      'stopped containers end the termination',
      terminating,
      'containersStopped',
      { ...terminated, terminatedAtMs: 9 },
    ],
    ['released resources finish the pod', terminated, 'resourcesReleased', finished],
    ['a finished pod stays finished', finished, 'resourcesReleased', finished],
    ['no step leads back', terminated, 'reachedEnd', terminated],
  ])('%s', (_rule, state, end, expected) => {
    expect(afterStep(state, end, 9)).toEqual(expected);
  });
});

describe('retire', () => {
  const restart = { ...terminating, restartRequested: true };
  const input = { activePod: pod, nowMs: 9 };
  it.each<[string, PodState, boolean, object]>([
    ['a configured pod is kept', syncing, false, { kind: 'keep' }],
    ['one that shall start anew is kept until it is finished', restart, false, { kind: 'keep' }],
    ['and forgotten then', { ...finished, restartRequested: true }, false, { kind: 'forget' }],
    ['a finished pod that is configured is kept', finished, false, { kind: 'keep' }],
    ['an orphan that is finished is forgotten', finished, true, { kind: 'forget' }],
    ['an orphan that never started is forgotten', waiting, true, { kind: 'forget' }],
    ['also one that was to be stopped', neverStarted, true, { kind: 'forget' }],
    [
      'but not one that the runtime showed',
      { ...neverStarted, observedInRuntime: true },
      true,
      { kind: 'end', began: false },
    ],
    [
      'an orphan that runs is stopped with its grace',
      syncing,
      true,
      { kind: 'end', began: true, state: { kind: 'terminating', deleted: true, graceSeconds: 30 } },
    ],
    [
      'an orphan that ends goes on',
      terminating,
      true,
      { kind: 'end', began: false, state: { deleted: true, kind: 'terminating' } },
    ],
    [
      'an orphan that is terminated goes on',
      terminated,
      true,
      { kind: 'end', began: false, state: { deleted: true, kind: 'terminated' } },
    ],
  ])('%s', (_rule, state, orphan, expected) => {
    expect(retire(state, { ...input, orphan })).toMatchObject(expected);
  });

  it('an orphan whose pod is not known gets a second', () => {
    expect(retire(syncing, { orphan: true, activePod: undefined, nowMs: 9 })).toMatchObject({
      state: { graceSeconds: 1 },
    });
  });
});
