import { expect, it } from 'vitest';
import type { PodStatus } from '../../kube/index.js';
import { settlesResize } from './resize-settled.js';

const condition = (type: string, reason?: string) => ({
  type,
  status: 'True' as const,
  ...(reason === undefined ? {} : { reason }),
});
const ready = condition('Ready');
const status = (cpu: string, ...conditions: ReturnType<typeof condition>[]): PodStatus => ({
  conditions: [ready, ...conditions],
  containerStatuses: [
    {
      name: 'c',
      ready: true,
      restartCount: 0,
      image: '',
      imageID: '',
      containerID: 'containerd://1',
      state: { running: { startedAt: null } },
      resources: { limits: { cpu } },
    },
  ],
});
const underWay = condition('PodResizeInProgress');
const failed = condition('PodResizeInProgress', 'Error');
const deferred = condition('PodResizePending', 'Deferred');

it.each<[rule: string, now: PodStatus, shown: PodStatus | undefined, expected: boolean]>([
  ['nothing of it', status('1'), status('1'), false],
  ['the first status of a pod', status('1'), undefined, false],
  ['it begins', status('1', underWay), status('1'), false],
  ['it goes on', status('1', underWay), status('1', underWay), false],
  ['it goes on with the first resource done', status('2', underWay), status('1', underWay), false],
  ['it is done', status('2'), status('1', underWay), true],
  ['it is done before anything was shown of it', status('2'), status('1'), true],
  ['it failed', status('1', failed), status('1', underWay), true],
  ['it failed again, with other figures', status('1', failed), status('1', failed), false],
  ['it goes on after a failure', status('1', underWay), status('1', failed), true],
  ['it has to wait', status('1', deferred), status('1'), true],
  ['it waits on', status('1', deferred), status('1', deferred), false],
  [
    'it cannot be done',
    status('1', condition('PodResizePending', 'Infeasible')),
    status('1', deferred),
    true,
  ],
  ['another container', status('2'), { containerStatuses: [] }, false],
])('%s: %#', (_, now, shown, expected) => expect(settlesResize(now, shown)).toBe(expected));
