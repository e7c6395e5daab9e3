import { describe, expect, it } from 'vitest';
import type { PodLifecycleEvent } from '../../runtime-manager/pleg/index.js';
import { handlePlegEvents, type PlegPlan, planPlegEvents } from './pleg-events.js';

const event = (uid: string, type: PodLifecycleEvent['type'], id = `${uid}-c`): PodLifecycleEvent => ({
  uid,
  type,
  id,
});

describe('planPlegEvents', () => {
  it.each<[string, PodLifecycleEvent[], PlegPlan]>([
    ['a start syncs the pod', [event('a', 'ContainerStarted')], { syncUids: ['a'], died: [] }],
    ['a change without a container syncs the pod', [event('a', 'PodSync')], { syncUids: ['a'], died: [] }],
    ['a removal syncs nothing', [event('a', 'ContainerRemoved')], { syncUids: [], died: [] }],
    [
      'a death syncs the pod and makes room',
      [event('a', 'ContainerDied', 'c1')],
      { syncUids: ['a'], died: [{ uid: 'a', containerId: 'c1' }] },
    ],
    [
      'several events of a pod sync it once, and every death counts',
      [
        event('b', 'ContainerDied', 'c1'),
        event('a', 'ContainerStarted'),
        event('b', 'ContainerDied', 'c2'),
        event('b', 'ContainerRemoved', 'c0'),
      ],
      {
        syncUids: ['b', 'a'],
        died: [
          { uid: 'b', containerId: 'c1' },
          { uid: 'b', containerId: 'c2' },
        ],
      },
    ],
  ])('%s', (_rule, events, plan) => {
    expect(planPlegEvents(events)).toEqual(plan);
  });
});

it('syncs first, then makes room for the dead', () => {
  const done: string[] = [];
  handlePlegEvents([event('a', 'ContainerDied', 'c1')], {
    sync: (uids) => void done.push(`sync ${uids.join()}`),
    containerDied: (uid, id) => void done.push(`died ${uid} ${id}`),
  });
  expect(done).toEqual(['sync a', 'died a c1']);
});
