import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { podsDueAtTick } from './sync-tick.js';

const start = '2026-01-01T00:00:00Z';
const pod = (uid: string, activeDeadlineSeconds?: number): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid },
  spec: { containers: [], activeDeadlineSeconds },
  status: { startTime: start },
});

it('syncs what is due in the queue and what is past its deadline, each pod once', () => {
  const taken = ['queued', 'both'];
  const due = podsDueAtTick({
    clock: { now: () => Date.parse(start) + 60_000 },
    queue: { take: () => taken.splice(0) },
    pods: {
      list: () => [pod('queued'), pod('both', 30), pod('overdue', 60), pod('young', 61), pod('ending', 1)],
    },
    statuses: { get: () => undefined },
    isTerminationRequested: (uid) => uid === 'ending',
  });
  expect(due).toEqual(['queued', 'both', 'overdue']);
  expect(taken).toEqual([]);
});
