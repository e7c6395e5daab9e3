import { describe, expect, it } from 'vitest';
import type { Deployment, ReplicaSet } from '../../kube/index.js';
import { rolloutBounds } from './rollout-bounds.js';
import { decideRollout, expiredSets } from './rollout-steps.js';

type Strategy = Deployment['spec']['strategy'];
const deployment = (
  replicas: number,
  strategy: Strategy = {},
  more: Partial<Deployment['spec']> = {},
): Deployment => ({
  metadata: { name: 'web' },
  spec: { replicas, selector: {}, template: { spec: { containers: [] } }, strategy, ...more },
});
const rolling = (maxSurge: number | string, maxUnavailable: number | string): Strategy => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
});
const set = (name: string, replicas: number, available = replicas): ReplicaSet => ({
  metadata: { name },
  spec: { replicas, selector: {} },
  status: { replicas, availableReplicas: available },
});

describe('the bounds of a rollout', () => {
  it.each<[rule: string, given: Deployment, maxSurge: number, maxUnavailable: number]>([
    ['a quarter each by default: surge rounds up, missing rounds down', deployment(10), 3, 2],
    ['numbers are taken as they are', deployment(10, rolling(4, 1)), 4, 1],
    ['shares are of the size', deployment(4, rolling('50%', '30%')), 2, 1],
    ['neither room nor a pod to miss: one pod may be missed', deployment(4, rolling(0, 0)), 0, 1],
    ['no more pods are missed than there are', deployment(2, rolling(0, 5)), 0, 2],
    ['text that is no share counts as the default', deployment(8, rolling('much', '-1%')), 2, 2],
  ])('%s', (_, given, maxSurge, maxUnavailable) => {
    expect(rolloutBounds(given)).toMatchObject({ maxSurge, maxUnavailable });
  });
});

describe('decideRollout', () => {
  const shown = (step: ReturnType<typeof decideRollout>): string => {
    switch (step.kind) {
      case 'create':
        return `create ${step.replicas}`;
      case 'wait':
        return 'wait';
      case 'scale':
        return step.scales.map(({ set: one, replicas }) => `${one.metadata.name}→${replicas}`).join(' ');
    }
  };
  it.each<
    [
      rule: string,
      given: Deployment,
      newSet: ReplicaSet | undefined,
      oldSets: ReplicaSet[],
      hasOldPods: boolean,
      expected: string,
    ]
  >([
    ['the first ReplicaSet has the whole size', deployment(3), undefined, [], false, 'create 3'],
    [
      'a new one begins with the room that surge gives',
      deployment(4),
      undefined,
      [set('old', 4)],
      true,
      'create 1',
    ],
    [
      'without surge it begins with none',
      deployment(4, rolling(0, 1)),
      undefined,
      [set('old', 4)],
      true,
      'create 0',
    ],
    ['it grows as the old ones shrink', deployment(4), set('new', 1), [set('old', 3)], true, 'new→2'],
    [
      'old pods go as far as enough are available',
      deployment(4),
      set('new', 1, 0),
      [set('old', 4)],
      true,
      'old→3',
    ],
    [
      'old pods that are not available go first',
      deployment(4, rolling(1, 0)),
      set('new', 1, 1),
      [set('a', 2, 2), set('b', 2, 1)],
      true,
      'b→1',
    ],
    [
      'nothing goes while too few are available',
      deployment(4, rolling(1, 0)),
      set('new', 1, 0),
      [set('old', 4)],
      true,
      'wait',
    ],
    ['a set that is too large shrinks', deployment(2), set('new', 5), [], false, 'new→2'],
    [
      'recreate first ends the old pods',
      deployment(2, { type: 'Recreate' }),
      undefined,
      [set('old', 2)],
      true,
      'old→0',
    ],
    [
      'recreate waits until they are gone',
      deployment(2, { type: 'Recreate' }),
      undefined,
      [set('old', 0)],
      true,
      'wait',
    ],
    [
      'recreate then makes all new ones',
      deployment(2, { type: 'Recreate' }),
      undefined,
      [set('old', 0)],
      false,
      'create 2',
    ],
    ['recreate follows the size', deployment(2, { type: 'Recreate' }), set('new', 0), [], false, 'new→2'],
  ])('%s', (_, given, newSet, oldSets, hasOldPods, expected) => {
    expect(shown(decideRollout({ deployment: given, revisions: { newSet, oldSets }, hasOldPods }))).toBe(
      expected,
    );
  });
});

it('history keeps the newest, and no ReplicaSet that has pods goes', () => {
  const given = deployment(1, {}, { revisionHistoryLimit: 1 });
  const names = expiredSets(given, [set('a', 0), set('busy', 1), set('b', 0), set('c', 0)]);
  expect(names.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
});
