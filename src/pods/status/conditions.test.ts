import { describe, expect, it } from 'vitest';
import type { ObservedPodStatus } from '../../cri/index.js';
import type { ContainerStatus, PodCondition, PodPhase, PodStatus } from '../../kube/index.js';
import {
  containersReadyCondition,
  initializedCondition,
  needsReadinessReconcile,
  podConditions,
  readyCondition,
  readyToStartCondition,
} from './conditions.js';
import {
  instance,
  makePod,
  observe,
  type PodOptions,
  readySandbox,
  sidecar,
  statusOf,
} from './pod-fixtures.js';
import { sandboxProblem } from './sandbox.js';

const ready = (name: string): ContainerStatus => statusOf(name, 'running', { ready: true, started: true });
const isTrue = (type: string): PodCondition => ({ type, status: 'True' });
const unknownAndUnready = 'containers with unknown status: [c], containers with unready status: [a b]';

describe('containersReadyCondition', () => {
  const rows: Record<string, [PodOptions, ContainerStatus[] | undefined, PodPhase, object]> = {
    'no statuses at all': [{}, undefined, 'Pending', { status: 'False', reason: 'UnknownContainerStatuses' }],
    'all ready': [{}, [ready('a')], 'Running', { status: 'True' }],
    'names what is unknown and what is unready': [
      { containers: ['a', 'b', 'c'] },
      [statusOf('a', 'running'), statusOf('b', 'waiting')],
      'Running',
      { status: 'False', reason: 'ContainersNotReady', message: unknownAndUnready },
    ],
    'sidecars count and come first': [
      { initContainers: ['i', sidecar('s')] },
      [statusOf('s', 'running'), statusOf('a', 'waiting')],
      'Running',
      { message: 'containers with unready status: [s a]' },
    ],
    'a pod that succeeded is completed': [
      {},
      [statusOf('a', 'exit 0')],
      'Succeeded',
      { reason: 'PodCompleted' },
    ],
    'a pod that failed is failed, ready or not': [{}, [ready('a')], 'Failed', { reason: 'PodFailed' }],
  };
  it.each(Object.entries(rows))('%s', (_, [pod, statuses, phase, expected]) => {
    expect(containersReadyCondition(makePod(pod), statuses, phase)).toMatchObject(expected);
  });
});

describe('readyCondition', () => {
  const gated = makePod({ spec: { readinessGates: [{ conditionType: 'x/y' }, { conditionType: 'z' }] } });
  it('follows ContainersReady when that is not True', () => {
    expect(readyCondition(gated, [], [statusOf('a', 'waiting')], 'Pending')).toMatchObject({
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [a]',
    });
  });
  it('waits for absent and false gates', () => {
    const condition = readyCondition(gated, [{ type: 'z', status: 'False' }], [ready('a')], 'Running');
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message:
        'corresponding condition of pod readiness gate "x/y" does not exist., the status of pod readiness gate "z" is not "True", but False',
    });
  });
  it('is True with all gates', () => {
    const condition = readyCondition(gated, [isTrue('x/y'), isTrue('z')], [ready('a')], 'Running');
    expect(condition).toMatchObject({ status: 'True' });
  });
});

describe('initializedCondition', () => {
  const initialized: PodStatus = { conditions: [isTrue('Initialized')] };
  const inits = { initContainers: ['i', 'j', sidecar('s')] };
  const rows: Record<string, [PodOptions, PodStatus, ContainerStatus[] | undefined, PodPhase, object]> = {
    'no init containers': [{}, {}, undefined, 'Pending', { status: 'True' }],
    'no statuses at all': [
      inits,
      {},
      undefined,
      'Pending',
      { status: 'False', reason: 'UnknownContainerStatuses' },
    ],
    'names what is unknown and what is incomplete': [
      inits,
      {},
      [statusOf('i', 'running'), statusOf('s', 'running', { ready: true })],
      'Pending',
      {
        status: 'False',
        reason: 'ContainersNotInitialized',
        message: 'containers with unknown status: [j], containers with incomplete status: [i s]',
      },
    ],
    'complete: init ready, sidecar started': [
      inits,
      {},
      [ready('i'), ready('j'), statusOf('s', 'running', { started: true })],
      'Pending',
      { status: 'True' },
    ],
    'a regular container that ran proves it': [
      inits,
      {},
      [statusOf('i', 'waiting'), statusOf('a', 'exit 1')],
      'Running',
      { status: 'True' },
    ],
    'once initialized, always initialized': [
      inits,
      initialized,
      [statusOf('i', 'waiting')],
      'Pending',
      { status: 'True' },
    ],
    'a pod that succeeded is completed': [
      { initContainers: ['i'] },
      {},
      [statusOf('i', 'exit 0')],
      'Succeeded',
      { status: 'True', reason: 'PodCompleted' },
    ],
  };
  it.each(Object.entries(rows))('%s', (_, [pod, old, statuses, phase, expected]) => {
    expect(initializedCondition(makePod(pod), old, statuses, phase)).toMatchObject(expected);
  });
});

describe('sandboxProblem', () => {
  const seen = (...sandboxes: ObservedPodStatus['sandboxes'][number][]) => observe([], { sandboxes });
  const noIp = { ...readySandbox, network: { ip: '', additionalIps: [] } };
  const rows: Record<string, [boolean, ObservedPodStatus, string | undefined]> = {
    'no sandbox': [false, seen(), 'no pod sandbox exists'],
    'one ready sandbox': [false, seen(readySandbox), undefined],
    'the newest is not ready': [
      false,
      seen({ ...readySandbox, ready: false }, readySandbox),
      'pod sandbox is not ready',
    ],
    'two are ready': [
      false,
      seen(readySandbox, { ...readySandbox, id: 'other' }),
      'multiple pod sandboxes are ready and need to be reconciled',
    ],
    'an older one that is not ready does not matter': [
      false,
      seen(readySandbox, { ...readySandbox, ready: false }),
      undefined,
    ],
    'the network mode differs': [
      true,
      seen(readySandbox),
      'network namespace mode changed and sandbox needs to be recreated',
    ],
    'no address': [false, seen(noIp), 'pod sandbox has no IP address'],
    'no word about the network': [false, seen({ ...readySandbox, network: undefined }), undefined],
    'host network without address': [true, seen({ ...noIp, hostNetwork: true }), undefined],
  };
  it.each(Object.entries(rows))('%s', (_, [hostNetwork, observed, problem]) => {
    const pod = makePod({ spec: { hostNetwork } });
    expect(sandboxProblem(pod, observed)).toBe(problem);
    expect(readyToStartCondition(pod, problem)).toMatchObject(
      problem === undefined
        ? { status: 'True' }
        : { status: 'False', reason: 'PodSandboxNotReady', message: problem },
    );
  });
});

describe('podConditions', () => {
  const restartAll = {
    name: 'a',
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
  };
  it('lists foreign, resize, disruption, own conditions in order, with the generation', () => {
    const pod = makePod({
      metadata: { generation: 3 },
      status: { conditions: [isTrue('example.com/x'), { type: 'Ready', status: 'False' }] },
    });
    const input = {
      pod,
      observed: observe([instance('a', 'running')]),
      old: { conditions: [isTrue('DisruptionTarget')] },
      phase: 'Running' as const,
      statuses: [ready('a')],
      podIsTerminal: false,
      resizeConditions: [{ type: 'PodResizePending', status: 'True' as const, observedGeneration: 2 }],
    };
    expect(
      podConditions(input).map(({ type, status, observedGeneration }) => [type, status, observedGeneration]),
    ).toEqual([
      ['example.com/x', 'True', undefined],
      ['PodResizePending', 'True', 2],
      ['DisruptionTarget', 'True', undefined],
      ['PodReadyToStartContainers', 'True', 3],
      ['Initialized', 'True', 3],
      ['Ready', 'True', 3],
      ['ContainersReady', 'True', 3],
      ['PodScheduled', 'True', 3],
    ]);
    const terminal = podConditions({ ...input, podIsTerminal: true });
    expect(terminal.map(({ type }) => type)).not.toContain('PodResizePending');
  });

  const exited = [instance('a', 'exited', { exitCode: 42 })];
  const restarting: PodStatus = { conditions: [isTrue('AllContainersRestarting')] };
  const rows: Record<string, [ObservedPodStatus, PodStatus, PodPhase, object]> = {
    'no exit that asks for it': [observe([instance('a', 'running')]), {}, 'Running', { status: 'False' }],
    'an exit that asks for it': [
      observe(exited),
      {},
      'Running',
      {
        status: 'True',
        reason: 'RestartAllContainersStarted',
        message: 'container exited with restart policy rule',
      },
    ],
    'under way until the last container is gone': [
      observe([instance('a', 'running')]),
      restarting,
      'Running',
      { status: 'True' },
    ],
    'over when the runtime shows none': [observe([]), restarting, 'Running', { status: 'False' }],
    'an old exit in the API alone does not ask': [
      observe([]),
      { containerStatuses: [statusOf('a', 'exit 42')] },
      'Running',
      { status: 'False' },
    ],
    'failed pods do not restart': [
      observe(exited),
      restarting,
      'Failed',
      { status: 'False', reason: 'PodFailed' },
    ],
  };
  it.each(Object.entries(rows))('AllContainersRestarting: %s', (_, [observed, old, phase, expected]) => {
    const pod = makePod({ containers: [restartAll], policy: 'Never' });
    const conditions = podConditions({ pod, observed, old, phase, statuses: [], podIsTerminal: false });
    expect(conditions.at(-1)).toMatchObject({ type: 'AllContainersRestarting', ...expected });
  });
});

describe('needsReadinessReconcile', () => {
  const readinessGates = [{ conditionType: 'g' }];
  const status = (gate: PodCondition['status'], readyStatus: PodCondition['status']): PodStatus => ({
    phase: 'Running',
    containerStatuses: [ready('a')],
    conditions: [
      { type: 'g', status: gate },
      { type: 'Ready', status: readyStatus },
    ],
  });
  it.each<[string, PodOptions, boolean]>([
    ['the gate opened', { spec: { readinessGates }, status: status('True', 'False') }, true],
    ['nothing to correct', { spec: { readinessGates }, status: status('True', 'True') }, false],
    ['no gates', { status: status('True', 'False') }, false],
    ['no Ready condition yet', { spec: { readinessGates }, status: { conditions: [] } }, false],
  ])('%s', (_, pod, expected) => {
    expect(needsReadinessReconcile(makePod(pod))).toBe(expected);
  });
});
