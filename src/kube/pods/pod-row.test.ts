import { describe, expect, it } from 'vitest';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../index.js';
import { formatAge } from '../values/age.js';
import { podRow } from './pod-row.js';

const nowMs = Date.parse('2030-01-01T00:01:00Z');
const container = (name: string, more: object = {}) => ({ name, image: 'i:1', ...more });
const one = (name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  state,
  ready: state.running !== undefined,
  restartCount: 0,
  image: 'i:1',
  imageID: '',
  ...more,
});
const running: ContainerState = { running: {} };
const waiting = (reason?: string): ContainerState => ({ waiting: reason === undefined ? {} : { reason } });
const ended = (exitCode: number, reason?: string, signal?: number): ContainerState => ({
  terminated: {
    exitCode,
    ...(reason === undefined ? {} : { reason }),
    ...(signal === undefined ? {} : { signal }),
  },
});
const condition = (type: string, status: 'True' | 'False') => ({ type, status });

interface Case {
  status: PodStatus;
  containers?: string[];
  init?: object[];
  deleted?: boolean;
}
const makePod = ({ status, containers = ['a'], init = [], deleted = false }: Case): Pod => ({
  metadata: {
    uid: 'u',
    name: 'p',
    namespace: 'n',
    creationTimestamp: '2030-01-01T00:00:00Z',
    ...(deleted ? { deletionTimestamp: '2030-01-01T00:00:30Z' } : {}),
  },
  spec: {
    containers: containers.map((name) => container(name)),
    initContainers: init.map((more, index) => container(`i${index}`, more)),
  },
  status,
});

describe('podRow', () => {
  it.each<[string, Case, string, string]>([
    ['only a phase', { status: { phase: 'Pending' } }, '0/1', 'Pending'],
    ['no status at all', { status: {} }, '0/1', 'Pending'],
    ["the pod's own reason", { status: { phase: 'Failed', reason: 'NodePorts' } }, '0/1', 'NodePorts'],
    [
      'being created',
      { status: { phase: 'Pending', containerStatuses: [one('a', waiting('ContainerCreating'))] } },
      '0/1',
      'ContainerCreating',
    ],
    [
      'running and ready',
      { status: { phase: 'Running', containerStatuses: [one('a', running)] } },
      '1/1',
      'Running',
    ],
    [
      'running and not ready',
      { status: { phase: 'Running', containerStatuses: [one('a', running, { ready: false })] } },
      '0/1',
      'Running',
    ],
    [
      'the reason of the first container wins',
      {
        containers: ['a', 'b'],
        status: {
          phase: 'Running',
          containerStatuses: [one('a', waiting('CrashLoopBackOff')), one('b', waiting('ErrImagePull'))],
        },
      },
      '0/2',
      'CrashLoopBackOff',
    ],
    [
      'completed',
      { status: { phase: 'Succeeded', containerStatuses: [one('a', ended(0, 'Completed'))] } },
      '0/1',
      'Completed',
    ],
    [
      'failed',
      { status: { phase: 'Failed', containerStatuses: [one('a', ended(3, 'Error'))] } },
      '0/1',
      'Error',
    ],
    [
      'terminated without a reason',
      { status: { containerStatuses: [one('a', ended(3))] } },
      '0/1',
      'ExitCode:3',
    ],
    [
      'terminated by a signal',
      { status: { containerStatuses: [one('a', ended(137, undefined, 9))] } },
      '0/1',
      'Signal:9',
    ],
    [
      'one completed, one running, pod ready',
      {
        containers: ['a', 'b'],
        status: {
          phase: 'Running',
          conditions: [condition('Ready', 'True')],
          containerStatuses: [one('a', ended(0, 'Completed')), one('b', running)],
        },
      },
      '1/2',
      'Running',
    ],
    [
      'one completed, one running, pod not ready',
      {
        containers: ['a', 'b'],
        status: {
          phase: 'Running',
          containerStatuses: [one('a', ended(0, 'Completed')), one('b', running)],
        },
      },
      '1/2',
      'NotReady',
    ],
    [
      'initializing: progress',
      {
        init: [{}, {}],
        status: {
          phase: 'Pending',
          initContainerStatuses: [one('i0', ended(0, 'Completed')), one('i1', running)],
          containerStatuses: [one('a', waiting('PodInitializing'))],
        },
      },
      '0/1',
      'Init:1/2',
    ],
    [
      'initializing has not started',
      { init: [{}], status: { initContainerStatuses: [one('i0', waiting('PodInitializing'))] } },
      '0/1',
      'Init:0/1',
    ],
    [
      'an init container failed',
      { init: [{}], status: { initContainerStatuses: [one('i0', ended(1, 'Error'))] } },
      '0/1',
      'Init:Error',
    ],
    [
      'an init container failed without a reason',
      { init: [{}], status: { initContainerStatuses: [one('i0', ended(7))] } },
      '0/1',
      'Init:ExitCode:7',
    ],
    [
      'an init container waits',
      { init: [{}], status: { initContainerStatuses: [one('i0', waiting('CrashLoopBackOff'))] } },
      '0/1',
      'Init:CrashLoopBackOff',
    ],
    [
      'a sidecar counts among the containers',
      {
        init: [{ restartPolicy: 'Always' }],
        status: {
          phase: 'Running',
          initContainerStatuses: [one('i0', running, { started: true })],
          containerStatuses: [one('a', running)],
        },
      },
      '2/2',
      'Running',
    ],
    [
      'being deleted',
      { deleted: true, status: { phase: 'Running', containerStatuses: [one('a', running)] } },
      '1/1',
      'Terminating',
    ],
    [
      'deleted but completed',
      { deleted: true, status: { phase: 'Succeeded', containerStatuses: [one('a', ended(0, 'Completed'))] } },
      '0/1',
      'Completed',
    ],
    [
      'deleted on a lost node',
      { deleted: true, status: { phase: 'Running', reason: 'NodeLost' } },
      '0/1',
      'Unknown',
    ],
  ])('%s', (_rule, given, ready, status) => {
    expect(podRow(makePod(given), nowMs)).toMatchObject({
      name: 'p',
      namespace: 'n',
      ready,
      status,
      age: '60s',
    });
  });

  const before = { lastState: { terminated: { exitCode: 1, finishedAt: '2030-01-01T00:00:48Z' } } };
  it.each<[string, Case, string]>([
    ['none', { status: { containerStatuses: [one('a', running)] } }, '0'],
    [
      'with the time of the last restart',
      { status: { containerStatuses: [one('a', running, { restartCount: 3, ...before })] } },
      '3 (12s ago)',
    ],
    ['without a time', { status: { containerStatuses: [one('a', running, { restartCount: 3 })] } }, '3'],
    [
      'of init containers while they run',
      {
        init: [{}],
        status: {
          initContainerStatuses: [one('i0', waiting('CrashLoopBackOff'), { restartCount: 2, ...before })],
        },
      },
      '2 (12s ago)',
    ],
    [
      'not of completed init containers',
      {
        init: [{}],
        status: {
          initContainerStatuses: [one('i0', ended(0, 'Completed'), { restartCount: 2, ...before })],
          containerStatuses: [one('a', running)],
        },
      },
      '0',
    ],
  ])('restarts: %s', (_rule, given, restarts) => {
    expect(podRow(makePod(given), nowMs).restarts).toBe(restarts);
  });
});

describe('formatAge', () => {
  it.each<[number, string]>([
    [-5, '<invalid>'],
    [-0.5, '0s'],
    [0.9, '0s'],
    [119, '119s'],
    [120, '2m'],
    [200, '3m20s'],
    [3_600, '60m'],
    [4 * 3_600, '4h'],
    [4 * 3_600 + 61, '4h1m'],
    [30 * 3_600, '30h'],
    [3 * 86_400 + 7_200, '3d2h'],
    [100 * 86_400, '100d'],
    [3 * 365 * 86_400, '3y'],
    [9 * 365 * 86_400 + 86_400, '9y'],
  ])('%d s is %s', (seconds, text) => {
    expect(formatAge(seconds * 1000)).toBe(text);
  });
});
