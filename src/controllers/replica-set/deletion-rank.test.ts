import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { inDeletionOrder } from './deletion-rank.js';

interface Facts {
  node?: string;
  phase?: 'Pending' | 'Running';
  ready?: string;
  cost?: string;
  restarts?: number;
  created?: string;
}
const pod = (
  name: string,
  { node = 'n', phase = 'Running', ready, cost, restarts = 0, created = '2026-01-01T00:00:00Z' }: Facts,
): Pod => ({
  metadata: {
    name,
    namespace: 'default',
    uid: name,
    creationTimestamp: created,
    ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
  },
  spec: { containers: [], ...(node === '' ? {} : { nodeName: node }) },
  status: {
    phase,
    conditions: ready === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ready }],
    containerStatuses: [{ name: 'c', ready: true, restartCount: restarts, image: '', imageID: '' }],
  },
});
const early = '2026-01-01T00:00:00Z';
const late = '2026-01-01T01:00:00Z';

describe('the order in which pods are deleted', () => {
  it.each<[rule: string, first: Facts, second: Facts]>([
    [
      'a pod without a node goes before one with a node',
      { node: '', phase: 'Pending' },
      { phase: 'Pending' },
    ],
    ['a pending pod goes before a running one', { phase: 'Pending' }, {}],
    ['a pod that is not ready goes before one that is', {}, { ready: early }],
    ['a cheaper pod goes before a dearer one', { ready: early, cost: '-5' }, { ready: early, cost: '10' }],
    ['a cost that is no number counts as none', { ready: early, cost: '007' }, { ready: early, cost: '1' }],
    ['a cost comes before the time of readiness', { ready: early, cost: '1' }, { ready: late, cost: '2' }],
    ['a pod ready for a shorter time goes first', { ready: late }, { ready: early }],
    ['a pod that restarted more goes first', { ready: early, restarts: 3 }, { ready: early, restarts: 1 }],
    ['a newer pod goes first', { ready: early, created: late }, { ready: early, created: early }],
  ])('%s', (_, first, second) => {
    const names = (pods: Pod[]): string[] => inDeletionOrder(pods).map(({ metadata }) => metadata.name);
    expect(names([pod('b', first), pod('a', second)])).toEqual(['b', 'a']);
    expect(names([pod('a', second), pod('b', first)])).toEqual(['b', 'a']);
  });
});
