import { describe, expect, it } from 'vitest';
import { Container, ContainerState, criLabels, PodSandbox, PodSandboxState } from '../../cri/index.js';
import { forecastGarbage, type GarbageForecastInput } from './garbage-forecast.js';

const container = (
  id: string,
  uid: string,
  createdAt: bigint,
  state: ContainerState = ContainerState.CONTAINER_EXITED,
) =>
  Container.create({
    id,
    podSandboxId: `s-${uid}`,
    createdAt,
    state,
    labels: {
      [criLabels.podUid]: uid,
      [criLabels.podName]: uid,
      [criLabels.podNamespace]: 'ns',
      [criLabels.containerName]: 'app',
    },
  });
const sandbox = (uid: string, state: PodSandboxState = PodSandboxState.SANDBOX_NOTREADY) =>
  PodSandbox.create({ id: `s-${uid}`, state, metadata: { uid, name: uid, namespace: 'ns', attempt: 0 } });
const forecast = (over: Partial<GarbageForecastInput>) => {
  const { containers, sandboxes } = forecastGarbage({
    containers: [],
    sandboxes: [],
    logDirectories: [],
    policy: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
    podStates: {
      shouldContentBeRemoved: (uid) => uid === 'gone',
      shouldRuntimeBeRemoved: (uid) => uid === 'ended',
    },
    allSourcesReady: true,
    nowMs: 1_000_000,
    ...over,
  });
  return [...containers, ...sandboxes].map(({ id, when, because }) => `${id} ${when}: ${because}`);
};

describe('forecastGarbage', () => {
  it.each<[string, Partial<GarbageForecastInput>, string[]]>([
    ['a running container is no garbage', { containers: [container('r', 'p', 1n, 1)] }, []],
    [
      'older instances go, the last one stays',
      { containers: [container('b', 'p', 2n), container('a', 'p', 1n)] },
      [
        'a now: newer instances of the container have ended',
        'b kept: it is among the last ended instances of its container, which stay',
      ],
    ],
    [
      'all of a pod that is gone goes, with its sandbox',
      { containers: [container('a', 'gone', 1n)], sandboxes: [sandbox('gone')] },
      ['a now: the pod is gone', 's-gone now: the pod is gone'],
    ],
    [
      'a pod that has only ended gives way to a full disk',
      { containers: [container('a', 'ended', 1n)], sandboxes: [sandbox('ended')] },
      ['a disk-pressure: the pod has ended', 's-ended disk-pressure: the pod has ended'],
    ],
    [
      'the sandbox of a container that stays',
      { containers: [container('a', 'p', 1n)], sandboxes: [sandbox('p')] },
      [
        'a kept: it is among the last ended instances of its container, which stay',
        's-p kept: containers of it stay',
      ],
    ],
    ['the newest sandbox of a pod', { sandboxes: [sandbox('p')] }, ['s-p kept: it is the newest of its pod']],
    ['a ready sandbox is no garbage', { sandboxes: [sandbox('p', PodSandboxState.SANDBOX_READY)] }, []],
    [
      'a young container',
      {
        containers: [container('a', 'gone', 1_000_000_000_000n)],
        policy: { minAgeMs: 60_000, maxPerContainer: 1, maxTotal: -1 },
      },
      ['a kept: it is younger than the minimum age'],
    ],
    [
      'one that may start',
      { containers: [container('a', 'p', 1n, ContainerState.CONTAINER_CREATED)] },
      ['a kept: it was just created and may start'],
    ],
    [
      'one in an unknown state',
      { containers: [container('a', 'gone', 1n, ContainerState.CONTAINER_UNKNOWN)] },
      ['a now: the pod is gone; its state is unknown, so it is stopped first'],
    ],
  ])('%s', (_, given, expected) => {
    expect(forecast(given)).toEqual(expected);
  });
});
