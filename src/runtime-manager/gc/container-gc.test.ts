/** Tables of what garbage collection removes. */
import { describe, expect, it } from 'vitest';
import {
  containersToRemove,
  type DeadContainer,
  type DeadSandbox,
  deadToRemoveAfter,
  sandboxesToRemove,
} from './container-gc.js';

const dead = (id: string, createdAt: number, podUid = 'p', name = 'c', attempt = 0): DeadContainer => ({
  id,
  name,
  podUid,
  attempt,
  createdAtNs: BigInt(createdAt),
  isUnknown: false,
  mayStart: false,
});
const starting = (id: string, createdAt: number): DeadContainer => ({
  ...dead(id, createdAt),
  mayStart: true,
});
const keepAll = { minAgeMs: 0, maxPerContainer: -1, maxTotal: -1 };
const three = [dead('t0', 0), dead('t2', 2), dead('t1', 1)];
const two = [
  dead('a1', 1, 'a'),
  dead('a2', 2, 'a'),
  dead('a3', 3, 'a'),
  dead('b4', 4, 'b'),
  dead('b5', 5, 'b'),
];

describe('containersToRemove', () => {
  it.each([
    ['negative limits keep all', three, keepAll, [], true, []],
    [
      'one per container: the newest stays',
      three,
      { ...keepAll, maxPerContainer: 1 },
      [],
      true,
      ['t0', 't1'],
    ],
    [
      'one per container: the clock was set back between its attempts',
      [dead('before', 9, 'p', 'c', 1), dead('after', 2, 'p', 'c', 2)],
      { ...keepAll, maxPerContainer: 1 },
      [],
      true,
      ['before'],
    ],
    ['none per container', three, { ...keepAll, maxPerContainer: 0 }, [], true, ['t0', 't1', 't2']],
    [
      'one that is about to start keeps the newest exit before it',
      [...three, starting('t3', 3)],
      { ...keepAll, maxPerContainer: 1 },
      [],
      true,
      ['t0', 't1'],
    ],
    ['one created for a deleted pod is removed, too', [starting('t3', 3)], keepAll, ['p'], true, ['t3']],
    ['a deleted pod loses all', three, keepAll, ['p'], true, ['t0', 't1', 't2']],
    ['but not before all sources are ready', three, keepAll, ['p'], false, []],
    ['in all: first an equal share for each', two, { ...keepAll, maxTotal: 4 }, [], true, ['a1']],
    ['in all: then the oldest', two, { ...keepAll, maxTotal: 3 }, [], true, ['a1', 'a2', 'b4']],
    ['in all: fewer than containers', two, { ...keepAll, maxTotal: 1 }, [], true, ['a1', 'a2', 'b4', 'a3']],
    ['in all: not exceeded', two, { ...keepAll, maxTotal: 5 }, [], true, []],
  ] as const)('%s', (_, containers, policy, gone, allSourcesReady, expected) => {
    const isPodGone = (uid: string): boolean => (gone as readonly string[]).includes(uid);
    const remove = containersToRemove({ dead: containers, policy, allSourcesReady, isPodGone });
    expect(remove.map(({ id }) => id)).toEqual(expected);
  });
  it('containers of the same name in different pods are different', () => {
    const containers = [dead('a', 1, 'p1'), dead('b', 2, 'p2')];
    const policy = { ...keepAll, maxPerContainer: 1 };
    expect(
      containersToRemove({ dead: containers, policy, allSourcesReady: true, isPodGone: () => false }),
    ).toEqual([]);
  });
});

describe('sandboxesToRemove', () => {
  const sandbox = (id: string, createdAt: number, over: Partial<DeadSandbox> = {}): DeadSandbox => ({
    id,
    podUid: 'p',
    attempt: 0,
    createdAtNs: BigInt(createdAt),
    isReady: false,
    hasContainers: false,
    ...over,
  });
  it.each([
    [
      'old ones beside a ready one are removed',
      [sandbox('new', 3, { isReady: true }), sandbox('b', 2), sandbox('a', 1)],
      false,
      ['b', 'a'],
    ],
    [
      'the clock was set back between the attempts',
      [sandbox('b', 9), sandbox('a', 1, { attempt: 1 })],
      false,
      ['b'],
    ],
    ['the newest stays although it ended', [sandbox('b', 2), sandbox('a', 1)], false, ['a']],
    ['all of a deleted pod are removed', [sandbox('b', 2), sandbox('a', 1)], true, ['b', 'a']],
    ['one with a container stays', [sandbox('b', 2, { hasContainers: true })], true, []],
    ['one that is ready stays', [sandbox('b', 2, { isReady: true })], true, []],
  ])('%s', (_, sandboxes, gone, expected) => {
    expect(sandboxesToRemove(sandboxes, () => gone).map(({ id }) => id)).toEqual(expected);
  });
});

describe('deadToRemoveAfter', () => {
  const container = (id: string, name: string, state: string, createdAt: number, restartCount = 0) => ({
    id,
    name,
    state,
    restartCount,
    createdAtNs: BigInt(createdAt),
  });
  const containers = [
    container('a3', 'a', 'running', 3),
    container('a2', 'a', 'exited', 2),
    container('a1', 'a', 'exited', 1),
    container('a0', 'a', 'exited', 0),
    container('b1', 'b', 'exited', 1),
    // The clock was set back between the two.
    container('c0', 'c', 'exited', 9),
    container('c1', 'c', 'exited', 2, 1),
  ];
  it.each([
    ['keeps the newest of the name', 'a2', 1, false, ['a1', 'a0']],
    ['keeps one at least', 'a2', 0, false, ['a1', 'a0']],
    ['keeps as many as asked', 'a2', 2, false, ['a0']],
    ['an unknown id removes nothing', 'x', 1, false, []],
    ['no id removes nothing', undefined, 1, false, []],
    ['all exited ones of a pod that must go', undefined, 5, true, ['a2', 'a1', 'a0', 'b1', 'c0', 'c1']],
    ['keeps the last attempt', 'c1', 1, false, ['c0']],
  ])('%s', (_, diedId, keep, removeAll, expected) => {
    expect(deadToRemoveAfter(containers, diedId, keep, removeAll).map(({ id }) => id)).toEqual(expected);
  });
});
