import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../../kube/index.js';
import { makePod, type PodOptions, sidecar, statusOf } from './pod-fixtures.js';
import { illegalTransition } from './transitions.js';

const regular = (...statuses: ReturnType<typeof statusOf>[]): PodStatus => ({ containerStatuses: statuses });
const init = (...statuses: ReturnType<typeof statusOf>[]): PodStatus => ({ initContainerStatuses: statuses });
const running = regular(statusOf('a', 'running'));
const rule = (action: string) => ({
  name: 'a',
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [0] } }],
});
const revived = 'terminated container a attempted illegal transition to non-terminated state';

const rows: Record<string, [PodOptions, PodStatus, PodStatus, string | undefined]> = {
  'OnFailure: a success does not run again': [
    { policy: 'OnFailure' },
    regular(statusOf('a', 'exit 0')),
    running,
    revived,
  ],
  'OnFailure: a failure may': [{ policy: 'OnFailure' }, regular(statusOf('a', 'exit 1')), running, undefined],
  'Never: a failure does not run again': [
    { policy: 'Never' },
    regular(statusOf('a', 'exit 1')),
    running,
    revived,
  ],
  'Always: everything may': [{}, regular(statusOf('a', 'exit 0')), running, undefined],
  'no policy counts as Always': [{ policy: '' }, regular(statusOf('a', 'exit 0')), running, undefined],
  'a restart rule allows it': [
    { policy: 'Never', containers: [rule('Restart')] },
    regular(statusOf('a', 'exit 0')),
    running,
    undefined,
  ],
  'a rule that restarts all allows everything': [
    { policy: 'Never', containers: ['a', { ...rule('RestartAllContainers'), name: 'b' }] },
    regular(statusOf('a', 'exit 1')),
    running,
    undefined,
  ],
  'ended stays ended': [
    { policy: 'Never' },
    regular(statusOf('a', 'exit 1')),
    regular(statusOf('a', 'exit 1')),
    undefined,
  ],
  'a container that is no longer listed': [
    { policy: 'Never' },
    regular(statusOf('a', 'exit 1')),
    regular(),
    undefined,
  ],
  'an init container does not run again': [
    { policy: 'Never', initContainers: ['a'], containers: ['b'] },
    init(statusOf('a', 'exit 0')),
    init(statusOf('a', 'waiting')),
    revived,
  ],
  'a sidecar may': [
    { policy: 'Never', initContainers: [sidecar('a')], containers: ['b'] },
    init(statusOf('a', 'exit 1')),
    init(statusOf('a', 'running')),
    undefined,
  ],
  'init statuses that do not match the spec': [
    { policy: 'Never', initContainers: ['x'] },
    init(statusOf('a', 'exit 0')),
    init(statusOf('a', 'exit 0')),
    'init container status 0 is about "a", but the pod has "x" there',
  ],
};

describe('illegalTransition', () => {
  it.each(Object.entries(rows))('%s', (_, [pod, old, next, expected]) => {
    expect(illegalTransition(makePod(pod), old, next)).toBe(expected);
  });
});
