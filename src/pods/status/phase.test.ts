import { describe, expect, it } from 'vitest';
import type { Container, ContainerStatus, PodPhase } from '../../kube/index.js';
import { podPhase } from './phase.js';
import { makePod, type PodOptions, sidecar, statusOf } from './pod-fixtures.js';

interface Row {
  pod?: PodOptions;
  statuses: ContainerStatus[];
  terminal?: boolean;
  initialized?: boolean;
  expected: PodPhase;
}

const twoContainers = { containers: ['a', 'b'] };
const never = { policy: 'Never' };
const ruled: Container = {
  name: 'a',
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
};
const staticPod = { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } };

const rows: Record<string, Row> = {
  'a container without status keeps the pod Pending': {
    pod: twoContainers,
    statuses: [statusOf('a', 'running')],
    expected: 'Pending',
  },
  'a container waiting for its restart does not': {
    pod: twoContainers,
    statuses: [statusOf('a', 'running'), statusOf('b', 'waiting', { last: 1 })],
    expected: 'Running',
  },
  'a container that never ran makes the pod Pending': {
    pod: twoContainers,
    statuses: [statusOf('a', 'running'), statusOf('b', 'waiting')],
    expected: 'Pending',
  },
  'Never with one failure is Failed': {
    pod: { ...twoContainers, ...never },
    statuses: [statusOf('a', 'exit 0'), statusOf('b', 'exit 1')],
    expected: 'Failed',
  },
  'OnFailure with one failure is Running': {
    pod: { ...twoContainers, policy: 'OnFailure' },
    statuses: [statusOf('a', 'exit 0'), statusOf('b', 'exit 1')],
    expected: 'Running',
  },
  'OnFailure with all successes is Succeeded': {
    pod: { ...twoContainers, policy: 'OnFailure' },
    statuses: [statusOf('a', 'exit 0'), statusOf('b', 'exit 0')],
    expected: 'Succeeded',
  },
  'Always with all ended is Running': { statuses: [statusOf('a', 'exit 0')], expected: 'Running' },
  'a failed sidecar does not fail a pod': {
    pod: { ...never, initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'exit 0'), statusOf('s', 'exit 1')],
    expected: 'Succeeded',
  },
  'a running sidecar keeps the pod Running': {
    pod: { ...never, initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'exit 0'), statusOf('s', 'running', { started: true })],
    expected: 'Running',
  },
  'a failed init container fails a Never pod': {
    pod: { ...never, initContainers: ['i'] },
    statuses: [statusOf('a', 'waiting'), statusOf('i', 'exit 1')],
    expected: 'Failed',
  },
  'a failed init container of the past too': {
    pod: { ...never, initContainers: ['i'] },
    statuses: [statusOf('a', 'waiting'), statusOf('i', 'waiting', { last: 1 })],
    expected: 'Failed',
  },
  'a failed init container is tried again under Always': {
    pod: { initContainers: ['i'] },
    statuses: [statusOf('a', 'waiting'), statusOf('i', 'exit 1')],
    expected: 'Pending',
  },
  'a running init container keeps the pod Pending': {
    pod: { initContainers: ['i'] },
    statuses: [statusOf('a', 'waiting'), statusOf('i', 'running')],
    expected: 'Pending',
  },
  'a terminal pod succeeds when all succeeded, whatever its policy': {
    statuses: [statusOf('a', 'exit 0')],
    terminal: true,
    expected: 'Succeeded',
  },
  'a terminal pod fails when one failed': {
    pod: twoContainers,
    statuses: [statusOf('a', 'exit 0'), statusOf('b', 'exit 2')],
    terminal: true,
    expected: 'Failed',
  },
  'a last state is never a success': {
    statuses: [statusOf('a', 'waiting', { last: 0 })],
    terminal: true,
    expected: 'Failed',
  },
  'a terminal static pod goes by its policy': {
    pod: staticPod,
    statuses: [statusOf('a', 'exit 0')],
    terminal: true,
    expected: 'Running',
  },
  'a restart rule that matches keeps a Never pod Running': {
    pod: { ...never, containers: [ruled] },
    statuses: [statusOf('a', 'exit 42')],
    expected: 'Running',
  },
  'a restart rule that does not match lets it fail': {
    pod: { ...never, containers: [ruled] },
    statuses: [statusOf('a', 'exit 1')],
    expected: 'Failed',
  },
  'a container stopped for a restart of all will run again': {
    pod: never,
    statuses: [
      {
        ...statusOf('a', 'waiting'),
        lastState: { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } },
      },
    ],
    expected: 'Running',
  },
  'an unstarted sidecar does not matter once regular containers run': {
    pod: { initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'running'), statusOf('s', 'running', { started: false })],
    initialized: true,
    expected: 'Running',
  },
  'an unstarted sidecar keeps a new pod Pending': {
    pod: { initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'running'), statusOf('s', 'running')],
    expected: 'Pending',
  },
  'a sidecar that waits for a restart is ignored': {
    pod: { initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'running'), statusOf('s', 'waiting', { last: 1 })],
    expected: 'Running',
  },
  'an empty state is unknown': { statuses: [statusOf('a', 'unset')], expected: 'Pending' },
  'a missing sidecar is unknown': {
    pod: { initContainers: [sidecar('s')] },
    statuses: [statusOf('a', 'running')],
    initialized: true,
    expected: 'Pending',
  },
};

describe('podPhase', () => {
  it.each(Object.entries(rows))('%s', (_, { pod, statuses, terminal, initialized, expected }) => {
    expect(
      podPhase({
        pod: makePod(pod),
        statuses,
        podIsTerminal: terminal ?? false,
        isInitialized: initialized ?? false,
      }),
    ).toBe(expected);
  });
});
