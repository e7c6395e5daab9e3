import { expect, it } from 'vitest';
import type { PodObjects } from '../ports.js';
import { followChangedObjects } from './changed-objects.js';

type Listener = Parameters<NonNullable<PodObjects['onChange']>>[0];

it('volumes of pods that live are shown the change, and all its pods are synced', () => {
  const listeners = new Set<Listener>();
  const done: string[] = [];
  const stop = followChangedObjects({
    objects: {
      onChange: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    volumes: { objectsChanged: (uids) => void done.push(`volumes ${[...uids].join()}`) },
    isTerminating: (uid) => uid === 'ending',
    sync: (uids) => void done.push(`sync ${uids.join()}`),
  });
  for (const listener of listeners) listener({ podUids: ['a', 'ending', 'b'] });
  expect(done).toEqual(['volumes a,b', 'sync a,ending,b']);
  stop();
  expect(listeners.size).toBe(0);
});

it.each([
  ['no store', undefined],
  ['a store that does not tell of changes', {}],
])('%s: there is nothing to follow and nothing to end', (_case, objects) => {
  const unexpected = (): never => expect.fail('nothing changed');
  const stop = followChangedObjects({
    objects,
    volumes: { objectsChanged: unexpected },
    isTerminating: unexpected,
    sync: unexpected,
  });
  expect(stop()).toBeUndefined();
});
