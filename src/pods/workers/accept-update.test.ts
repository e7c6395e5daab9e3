import { describe, expect, it } from 'vitest';
import {
  absentPodStatus,
  type ObservedContainerStatus,
  type ObservedPod,
  type ObservedPodStatus,
  type ObservedSandboxStatus,
} from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { acceptUpdate, nothingRuns, type UpdateEffect, type UpdateMoment } from './accept-update.js';
import {
  beginTermination,
  type Finished,
  type PodState,
  type Syncing,
  type Terminated,
  type Terminating,
} from './pod-state.js';
import type { KillOptions, PodUpdate } from './types.js';

const pod: Pod = {
  metadata: { uid: '1', name: 'web', namespace: 'default' },
  spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 30 },
  status: { phase: 'Running' },
};
const deleted: Pod = {
  ...pod,
  metadata: {
    ...pod.metadata,
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds: 15,
  },
};
const failed: Pod = { ...pod, status: { phase: 'Failed' } };
const runtimePod: ObservedPod = {
  uid: '1',
  name: 'web',
  namespace: 'default',
  sandboxes: [],
  containers: [],
  observedAtMs: 0,
};

const waiting: PodState = { kind: 'waiting' };
const syncing: Syncing = { kind: 'syncing', startedAtMs: 1 };
const terminating: Terminating = beginTermination(syncing, { deleted: true, graceSeconds: 15 }, 2);
const terminated: Terminated = {
  kind: 'terminated',
  startedAtMs: 1,
  terminatedAtMs: 3,
  deleted: true,
  evicted: false,
  restartRequested: false,
};
const finished: Finished = {
  kind: 'finished',
  terminatedAtMs: 3,
  neverStarted: false,
  deleted: true,
  evicted: false,
  restartRequested: false,
};

const create: PodUpdate = { type: 'create', pod };
const update: PodUpdate = { type: 'update', pod };
const sync: PodUpdate = { type: 'sync', pod };
const kill = (options?: KillOptions, of: Pod = pod): PodUpdate => ({
  type: 'kill',
  pod: of,
  ...(options === undefined ? {} : { kill: options }),
});
const runtimeKill: PodUpdate = { type: 'killRuntimePod', runtimePod, kill: { graceOverrideSeconds: 1 } };

const moment: UpdateMoment = { nowMs: 9, knownPod: undefined, nothingRuns: false, waitingSinceMs: undefined };
const accept = (state: PodState | undefined, change: PodUpdate, known: Partial<UpdateMoment> = {}) =>
  acceptUpdate(state, change, { ...moment, ...known });

/** What an effect says, short enough for a table. */
function word(effect: UpdateEffect): string {
  switch (effect.kind) {
    case 'ignore':
    case 'complete':
    case 'cancelStep':
      return effect.kind;
    case 'terminationBegan':
      return `${effect.because}, grace ${effect.graceSeconds}`;
    case 'graceShortened':
      return `grace ${effect.graceSeconds}`;
    case 'handOver':
      return effect.work.kind === 'pod'
        ? `${effect.work.type} with ${effect.work.graceSeconds ?? 'its own'} grace`
        : 'runtime pod';
  }
}
const words = (state: PodState | undefined, change: PodUpdate, known: Partial<UpdateMoment> = {}) => {
  const { state: next, effects } = accept(state, change, known);
  return [next.kind, ...effects.map(word)];
};

describe('what an update does, by the state of the pod', () => {
  it.each<[string, PodState | undefined, PodUpdate, readonly string[]]>([
    ['unknown: a create waits for its worker', undefined, create, ['waiting', 'create with its own grace']],
    ['unknown: an update, too', undefined, update, ['waiting', 'update with its own grace']],
    [
      'unknown: a deleted pod goes straight to its end',
      undefined,
      { type: 'create', pod: deleted },
      ['terminating', 'it was deleted, grace 15', 'cancelStep', 'create with 15 grace'],
    ],
    ['waiting: a newer update replaces the older', waiting, update, ['waiting', 'update with its own grace']],
    ['syncing: a sync stays in sync', syncing, sync, ['syncing', 'sync with its own grace']],
    [
      'syncing: a deletion ends it',
      syncing,
      { type: 'update', pod: deleted },
      ['terminating', 'it was deleted, grace 15', 'cancelStep', 'update with 15 grace'],
    ],
    [
      'syncing: a final phase ends it',
      syncing,
      { type: 'update', pod: failed },
      ['terminating', 'its phase is Failed, grace 30', 'cancelStep', 'update with 30 grace'],
    ],
    [
      'syncing: a kill ends it',
      syncing,
      kill(),
      [
        'terminating',
        'it was removed from its source or killed, grace 30',
        'cancelStep',
        'kill with 30 grace',
      ],
    ],
    [
      'syncing: an eviction ends it',
      syncing,
      kill({ evict: true, graceOverrideSeconds: 0 }),
      ['terminating', 'it is evicted, grace 1', 'cancelStep', 'kill with 1 grace'],
    ],
    ['terminating: a create asks for a restart', terminating, create, ['terminating', 'ignore']],
    ['terminating: an update never revives it', terminating, update, ['terminating', 'update with 15 grace']],
    [
      'terminating: a smaller grace cuts the step off',
      terminating,
      kill({ graceOverrideSeconds: 5 }),
      ['terminating', 'grace 5', 'cancelStep', 'kill with 5 grace'],
    ],
    [
      'terminating: a larger grace changes nothing',
      terminating,
      kill({ graceOverrideSeconds: 60 }),
      ['terminating', 'kill with 15 grace'],
    ],
    ['terminated: a create asks for a restart', terminated, create, ['terminated', 'ignore']],
    [
      'terminated: whoever kills it is told at once',
      terminated,
      kill({ onCompleted: () => {} }),
      ['terminated', 'complete', 'kill with its own grace'],
    ],
    ['terminated: the runtime has nothing to kill', terminated, runtimeKill, ['terminated', 'ignore']],
    ['finished: a create asks for a restart', finished, create, ['finished', 'ignore']],
    ['finished: a kill is not even told', finished, kill({ onCompleted: () => {} }), ['finished', 'ignore']],
    ['finished: a sync changes nothing', finished, sync, ['finished', 'ignore']],
    [
      'unknown: a pod of the runtime is stopped',
      undefined,
      runtimeKill,
      ['terminating', 'it runs but is not configured, grace 1', 'cancelStep', 'runtime pod'],
    ],
  ])('%s', (_rule, state, change, expected) => {
    expect(words(state, change)).toEqual(expected);
  });

  it('a pod that was over before it was seen is only cleaned up', () => {
    const over: PodUpdate = { type: 'create', pod: failed };
    expect(words(undefined, over, { nothingRuns: true })).toEqual([
      'terminated',
      'create with its own grace',
    ]);
    expect(words(undefined, over)).toEqual([
      'terminating',
      'its phase is Failed, grace 30',
      'cancelStep',
      'create with 30 grace',
    ]);
    expect(words(undefined, create, { nothingRuns: true })[0]).toBe('waiting');
  });

  it('a pod of the runtime is stopped as what it was configured as, where that is known', () => {
    expect(words(syncing, runtimeKill, { knownPod: pod })).toEqual([
      'terminating',
      'it runs but is not configured, grace 1',
      'cancelStep',
      'kill with 1 grace',
    ]);
  });

  it('work that waits keeps the time at which its change was seen', () => {
    const { effects } = accept(syncing, { ...sync, startMs: 7 }, { waitingSinceMs: 4 });
    expect(effects.at(-1)).toMatchObject({ work: { startMs: 4 } });
  });
});

describe('what a termination remembers', () => {
  const next = (state: PodState, change: PodUpdate): PodState => accept(state, change).state;
  it.each<[string, PodState, Partial<Omit<Terminating, 'kind'>>]>([
    [
      'a deletion makes its content removable in the end',
      next(syncing, { type: 'sync', pod: deleted }),
      { deleted: true, evicted: false },
    ],
    ['a kill without deletion does not', next(syncing, kill()), { deleted: false, evicted: false }],
    [
      'an eviction makes it removable at once',
      next(syncing, kill({ evict: true })),
      { evicted: true, deleted: false },
    ],
    [
      'an eviction of a pod that ends already does not',
      next(terminating, kill({ evict: true })),
      { evicted: false },
    ],
    [
      'a deletion seen later changes nothing',
      next(next(syncing, kill()), { type: 'update', pod: deleted }),
      { deleted: false },
    ],
    [
      'a pod of the runtime counts as seen there',
      next(waiting, runtimeKill),
      { observedInRuntime: true, deleted: true },
    ],
    ['a create asks for a restart', next(terminating, create), { restartRequested: true }],
    ['an update does not', next(terminating, update), { restartRequested: false }],
    ['it keeps when the pod started', next(terminating, kill()), { startedAtMs: 1 }],
    ['and that it had not', next(waiting, kill()), { startedAtMs: undefined }],
  ])('%s', (_rule, state, expected) => {
    expect(state).toMatchObject(expected);
  });

  it('every killer is told and the last status override counts', () => {
    const told = [() => {}, () => {}];
    const overrides = [() => {}, () => {}];
    let state: PodState = syncing;
    for (const index of [0, 1]) {
      const { [index]: onCompleted } = told;
      const { [index]: statusOverride } = overrides;
      state = next(state, kill({ onCompleted: onCompleted!, statusOverride: statusOverride! }));
    }
    expect(state).toMatchObject({ onTerminated: told, statusOverrides: overrides });
  });
});

describe('nothingRuns', () => {
  const absent = absentPodStatus('1');
  // Only the state matters here.
  const container = (state: 'running' | 'exited') => ({ state }) as ObservedContainerStatus;
  const sandbox = (ready: boolean) => ({ ready }) as ObservedSandboxStatus;
  it.each<[string, Partial<ObservedPodStatus>, boolean]>([
    ['of a pod that the runtime does not know', {}, true],
    ['of one that has ended', { containers: [container('exited')], sandboxes: [sandbox(false)] }, true],
    ['does not hold while a container runs', { containers: [container('running')] }, false],
    ['nor while a sandbox is ready', { sandboxes: [sandbox(true)] }, false],
  ])('%s', (_rule, seen, expected) => {
    expect(nothingRuns({ ...absent, ...seen })).toBe(expected);
  });
});
