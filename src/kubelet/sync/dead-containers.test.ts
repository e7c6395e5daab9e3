import { expect, it } from 'vitest';
import { absentPodStatus } from '../../cri/index.js';
import { DeadContainers } from './dead-containers.js';

function deadContainers() {
  const removed: [string, string | undefined, boolean | undefined][] = [];
  const dead = new DeadContainers({
    peek: (uid) => (uid === 'unseen' ? { error: new Error('busy') } : { status: absentPodStatus(uid) }),
    garbage: { removeDead: ({ uid }, diedId, all) => void removed.push([uid, diedId, all]) },
  });
  return { dead, removed };
}

it('names the container that died, or that all are to go', () => {
  const { dead, removed } = deadContainers();
  dead.removeAfterDeath('a', 'c1');
  dead.removeUnneeded('b');
  dead.removeAll('c');
  expect(removed).toEqual([
    ['a', 'c1', false],
    ['b', undefined, false],
    ['c', undefined, true],
  ]);
});

it('a pod that could not be observed is left alone', () => {
  const { dead, removed } = deadContainers();
  dead.removeAll('unseen');
  expect(removed).toEqual([]);
});
