import { describe, expect, it } from 'vitest';
import { Timeline } from '../../timeline/index.js';
import { container, exited, makePod, makeSandbox, makeStatus, running } from '../test-fixtures.js';
import { planPod } from './plan.js';
import { planEntry } from './plan-data.js';

type Wanted = Pick<Parameters<typeof planPod>[0], 'pod' | 'status'> & { readonly restartingAll?: boolean };

const entryOf = ({ pod, status, restartingAll = false }: Wanted) =>
  planEntry(
    planPod({
      pod,
      status,
      nowMs: 1_000,
      backOff: { waiting: () => undefined },
      probes: { liveness: () => undefined, startup: () => undefined },
      restartingAllContainers: restartingAll,
    }),
  );

const pod = makePod({ containers: [container('app')] });
const onFailure = makePod({ containers: [container('app')], restartPolicy: 'OnFailure' });
const never = makePod({ containers: [container('app')], restartPolicy: 'Never' });
const withInit = makePod({ containers: [container('app')], initContainers: [container('setup')] });
const deadSandbox = [makeSandbox({ ready: false })];
const start = { action: 'startContainer', container: 'app', containerType: 'container' };

describe('the plan as data', () => {
  it.each([
    [
      'the first sandbox, with nothing to kill',
      { pod, status: makeStatus(pod, [], []) },
      'create',
      [
        { action: 'createSandbox', attempt: 0, reason: 'NoSandbox' },
        { ...start, reason: 'NoSandbox' },
      ],
    ],
    [
      'a dead sandbox is replaced',
      { pod, status: makeStatus(pod, [running('app')], deadSandbox) },
      'create',
      [
        { action: 'killPod', reason: 'SandboxNotReady' },
        { action: 'createSandbox', attempt: 1, reason: 'SandboxNotReady' },
        { ...start, reason: 'SandboxNotReady' },
      ],
    ],
    [
      'a pod that ran is stopped',
      { pod: never, status: makeStatus(never, [exited('app', 1)], deadSandbox) },
      'stop',
      [{ action: 'killPod', reason: 'PodNotRestarted', sandbox: 'SandboxNotReady', restartPolicy: 'Never' }],
    ],
    [
      'an exit with its code and whose policy decided',
      { pod: onFailure, status: makeStatus(onFailure, [exited('app', 3)]) },
      'keep',
      [{ ...start, reason: 'Exited', exitCode: 3, restartPolicy: 'OnFailure', policyOwner: 'pod' }],
    ],
    [
      'an init container',
      { pod: withInit, status: makeStatus(withInit, []) },
      'keep',
      [{ ...start, container: 'setup', containerType: 'initContainer', reason: 'NoInitContainerRun' }],
    ],
    [
      'all containers start over',
      { pod, status: makeStatus(pod, [running('app')]), restartingAll: true },
      'keep',
      [{ action: 'resetContainer', container: 'app', reason: 'AllContainersRestart' }],
    ],
  ] as const)('%s', (_, wanted, sandbox, steps) => {
    const { data } = entryOf(wanted);
    expect(data.sandbox).toBe(sandbox);
    expect(data.steps).toEqual(steps);
    expect(data.more).toBe(0);
  });

  it('stays bounded for a pod with hundreds of containers', () => {
    const names = Array.from({ length: 500 }, (_, index) => `${index}-`.padEnd(63, 'c'));
    const large = makePod({ containers: names.map((name) => container(name)) });
    const { data, message, because } = entryOf({ pod: large, status: makeStatus(large, [], []) });
    expect(data.steps).toHaveLength(32);
    expect(data.more).toBe(469);
    expect(message).toMatch(/^create sandbox, attempt 0; start container 0-c+; .*; 469 more$/);
    const timeline = new Timeline();
    const ref = { uid: 'u', name: 'n', namespace: 'd' };
    timeline.record({ kind: 'decision', what: 'pod.plan', data, message, because, pod: ref });
    expect(timeline.podBytes).toBeGreaterThan(32 * 63 * 2);
    expect(timeline.podBytes).toBeLessThan(16 * 1024);
  });

  it('cuts a name that no valid pod has', () => {
    const odd = makePod({ containers: [container('x'.repeat(100_000))] });
    const { data, message } = entryOf({ pod: odd, status: makeStatus(odd, [], []) });
    expect(JSON.stringify(data).length).toBeLessThan(1_000);
    expect(message.length).toBeLessThan(1_000);
  });
});
