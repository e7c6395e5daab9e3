import { describe, expect, it } from 'vitest';
import type { ContainerState, ContainerStatus, PodStatus } from '../../kube/index.js';
import { logOptions } from './options.js';
import { selectLogContainer } from './select.js';

const status = (
  state?: ContainerState,
  lastState?: ContainerState,
  containerID = 'cri://now',
): ContainerStatus => ({
  name: 'c',
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
  containerID,
  ...(state === undefined ? {} : { state }),
  ...(lastState === undefined ? {} : { lastState }),
});
const ended = (containerID?: string): ContainerState => ({
  terminated: { exitCode: 1, ...(containerID === undefined ? {} : { containerID }) },
});
const select = (container: ContainerStatus, previous = false): string => {
  const selection = selectLogContainer({
    podName: 'p',
    status: { containerStatuses: [container] },
    containerName: 'c',
    previous,
  });
  return selection.found ? selection.containerId : selection.message;
};

describe('selectLogContainer', () => {
  it.each([
    ['running: the current one', status({ running: {} }), 'cri://now'],
    ['terminated: that one', status(ended('cri://dead')), 'cri://dead'],
    ['terminated without id: the last one', status(ended(), ended('cri://last')), 'cri://last'],
    ['terminated, nothing before', status(ended()), 'container "c" in pod "p" is terminated'],
    [
      'waiting after a termination: that one',
      status({ waiting: { reason: 'CrashLoopBackOff' } }, ended('cri://last')),
      'cri://last',
    ],
    [
      'waiting after one without id',
      status({ waiting: {} }, ended()),
      'container "c" in pod "p" is terminated',
    ],
    [
      'waiting: ErrImagePull',
      status({ waiting: { reason: 'ErrImagePull' } }),
      `container "c" in pod "p" is waiting to start: image can't be pulled`,
    ],
    [
      'waiting: ImagePullBackOff',
      status({ waiting: { reason: 'ImagePullBackOff' } }),
      'container "c" in pod "p" is waiting to start: trying and failing to pull image',
    ],
    [
      'waiting: another reason',
      status({ waiting: { reason: 'ContainerCreating' } }),
      'container "c" in pod "p" is waiting to start: ContainerCreating',
    ],
    ['no state', status(), 'container "c" in pod "p" is waiting to start - no logs yet'],
  ])('%s', (_, container, expected) => {
    expect(select(container)).toBe(expected);
  });
  it.each([
    ['previous', status({ running: {} }, ended('cri://last')), 'cri://last'],
    [
      'previous without one',
      status({ running: {} }),
      'previous terminated container "c" in pod "p" not found',
    ],
  ])('%s', (_, container, expected) => {
    expect(select(container, true)).toBe(expected);
  });
  it.each([
    ['init', { initContainerStatuses: [status({ running: {} })] }],
    ['ephemeral', { ephemeralContainerStatuses: [status({ running: {} })] }],
  ] satisfies [string, PodStatus][])('finds %s containers', (_, pod) => {
    expect(selectLogContainer({ podName: 'p', status: pod, containerName: 'c', previous: false }).found).toBe(
      true,
    );
  });
  it('rejects unknown containers', () => {
    const selection = selectLogContainer({ podName: 'p', status: {}, containerName: 'x', previous: false });
    expect(selection).toEqual({ found: false, message: 'container "x" in pod "p" is not available' });
  });
});

it.each([
  ['the later of two starts counts', { sinceSeconds: 10, sinceTimeMs: 5_000 }, { sinceMs: 90_000 }],
  ['either way', { sinceSeconds: 99, sinceTimeMs: 5_000 }, { sinceMs: 5_000 }],
  [
    'negative limits are none',
    { tailLines: -1, limitBytes: -1 },
    { tailLines: undefined, limitBytes: undefined },
  ],
  ['zero is a limit', { tailLines: 0, limitBytes: 0 }, { tailLines: 0, limitBytes: 0 }],
])('options: %s', (_, request, expected) => {
  expect(logOptions(request, 100_000)).toMatchObject(expected);
});
