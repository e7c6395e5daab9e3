import { describe, expect, it } from 'vitest';
import type { ContainerStatus, PodPhase, PodStatus } from '../../kube/index.js';
import { makePod, type PodOptions, sidecar, statusOf } from './pod-fixtures.js';
import { terminatedStatus } from './terminate.js';

/** States in short: the exit code, with a `?` if nobody saw the exit, or the name of the state. */
const short = (statuses: readonly ContainerStatus[] = []): string[] =>
  statuses.map(({ state }) => {
    const ended = state?.terminated;
    if (ended === undefined) return state?.running === undefined ? 'waiting' : 'running';
    return ended.reason === 'ContainerStatusUnknown' ? `${ended.exitCode}?` : `${ended.exitCode}`;
  });

interface Row {
  pod?: PodOptions;
  status: PodStatus;
  init?: string[];
  regular?: string[];
  phase: PodPhase;
}

const waitingA = [statusOf('a', 'waiting')];
const rows: Record<string, Row> = {
  'nothing initialized: the first init container ended, the rest waits': {
    pod: { initContainers: ['i', 'j'] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [statusOf('i', 'waiting'), statusOf('j', 'waiting')],
      containerStatuses: waitingA,
    },
    init: ['137?', 'waiting'],
    regular: ['waiting'],
    phase: 'Failed',
  },
  'the last init container succeeded: regular containers ended unseen': {
    pod: { initContainers: ['i'] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [statusOf('i', 'exit 0')],
      containerStatuses: waitingA,
    },
    init: ['0'],
    regular: ['137?'],
    phase: 'Failed',
  },
  'a sidecar last: initialized once it started': {
    pod: { initContainers: [sidecar('i')] },
    status: {
      phase: 'Running',
      initContainerStatuses: [statusOf('i', 'running', { started: true })],
      containerStatuses: waitingA,
    },
    init: ['137?'],
    regular: ['137?'],
    phase: 'Failed',
  },
  'a sidecar last: not before': {
    pod: { initContainers: [sidecar('i')] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [statusOf('i', 'running')],
      containerStatuses: waitingA,
    },
    init: ['137?'],
    regular: ['waiting'],
    phase: 'Failed',
  },
  'init containers up to the last that ran': {
    pod: { initContainers: ['i', 'j', 'k'] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [
        statusOf('i', 'waiting'),
        statusOf('j', 'waiting', { last: 1 }),
        statusOf('k', 'waiting'),
      ],
    },
    init: ['137?', '137?', 'waiting'],
    phase: 'Failed',
  },
  'a regular container that ran proves initialization': {
    pod: { initContainers: ['i'] },
    status: {
      phase: 'Running',
      initContainerStatuses: [statusOf('i', 'waiting')],
      containerStatuses: [statusOf('a', 'waiting', { last: 1 })],
    },
    init: ['137?'],
    regular: ['137?'],
    phase: 'Failed',
  },
  'what ended stays as it ended': {
    status: { phase: 'Succeeded', containerStatuses: [statusOf('a', 'exit 0')] },
    regular: ['0'],
    phase: 'Succeeded',
  },
  'a static pod keeps its phase': {
    pod: { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } },
    status: { phase: 'Running', containerStatuses: [statusOf('a', 'running')] },
    regular: ['137?'],
    phase: 'Running',
  },
};

describe('terminatedStatus', () => {
  it.each(Object.entries(rows))('%s', (_, { pod, status, init = [], regular = [], phase }) => {
    const result = terminatedStatus(makePod({ ...pod, status }), status);
    expect(short(result.initContainerStatuses)).toEqual(init);
    expect(short(result.containerStatuses)).toEqual(regular);
    expect(result.phase).toBe(phase);
  });
  it('uses the last known status if the API has none', () => {
    const status: PodStatus = {
      initContainerStatuses: [statusOf('i', 'exit 0')],
      containerStatuses: [statusOf('a', 'running')],
    };
    expect(short(terminatedStatus(makePod({ initContainers: ['i'] }), status).containerStatuses)).toEqual([
      '137?',
    ]);
  });
});
