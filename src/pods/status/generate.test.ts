import { describe, expect, it } from 'vitest';
import { absentPodStatus } from '../../cri/index.js';
import type { PodStatus } from '../../kube/index.js';
import { generate, instance, makePod, observe, sidecar, statusOf } from './pod-fixtures.js';

const conditionsOf = (status: PodStatus): Record<string, string> =>
  Object.fromEntries((status.conditions ?? []).map(({ type, status: value }) => [type, value]));

describe('generatePodStatus', () => {
  it('describes a pod of which nothing exists yet', () => {
    expect(generate(makePod({ metadata: { generation: 1 } }), absentPodStatus('uid-1'))).toEqual({
      phase: 'Pending',
      conditions: [
        ['PodReadyToStartContainers', 'False', 'PodSandboxNotReady', 'no pod sandbox exists'],
        ['Initialized', 'True'],
        ['Ready', 'False', 'ContainersNotReady', 'containers with unready status: [a]'],
        ['ContainersReady', 'False', 'ContainersNotReady', 'containers with unready status: [a]'],
        ['PodScheduled', 'True'],
      ].map(([type, status, reason, message]) => ({
        type,
        status,
        observedGeneration: 1,
        lastProbeTime: null,
        lastTransitionTime: null,
        ...(reason === undefined ? {} : { reason, message }),
      })),
      containerStatuses: [
        {
          name: 'a',
          state: { waiting: { reason: 'ContainerCreating' } },
          lastState: {},
          ready: false,
          started: false,
          restartCount: 0,
          image: 'a:1',
          imageID: '',
        },
      ],
      qosClass: 'BestEffort',
      resources: {},
    });
  });

  it('describes a running pod', () => {
    const status = generate(makePod(), observe([instance('a', 'running')]), { hostIps: ['192.168.0.1'] });
    expect(status).toMatchObject({
      phase: 'Running',
      podIP: '10.0.0.5',
      podIPs: [{ ip: '10.0.0.5' }],
      hostIP: '192.168.0.1',
      hostIPs: [{ ip: '192.168.0.1' }],
      containerStatuses: [{ ready: true, started: true, containerID: 'containerd://a-0' }],
    });
    expect(conditionsOf(status)).toEqual({
      PodReadyToStartContainers: 'True',
      Initialized: 'True',
      Ready: 'True',
      ContainersReady: 'True',
      PodScheduled: 'True',
    });
  });

  it('keeps the terminal phase of the API, whatever runs', () => {
    const status = generate(makePod({ status: { phase: 'Succeeded' } }), observe([instance('a', 'running')]));
    expect(status.phase).toBe('Succeeded');
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }),
    );
  });

  it('makes a completed pod unready and initialized', () => {
    const pod = makePod({ policy: 'Never', initContainers: ['i'] });
    const status = generate(pod, observe([instance('a', 'exited'), instance('i', 'exited')]));
    expect(status.phase).toBe('Succeeded');
    expect(status.conditions).toMatchObject([
      {},
      { type: 'Initialized', status: 'True', reason: 'PodCompleted' },
      { type: 'Ready', status: 'False', reason: 'PodCompleted' },
      { type: 'ContainersReady', status: 'False', reason: 'PodCompleted' },
      {},
    ]);
  });

  it('shows a crash loop as Running and unready', () => {
    const message = 'back-off 10s restarting failed container=a pod=web_default(uid-1)';
    const status = generate(makePod(), observe([instance('a', 'exited', { exitCode: 1 })]), {
      startFailure: () => ({ reason: 'CrashLoopBackOff', message }),
    });
    expect(status).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          state: { waiting: { reason: 'CrashLoopBackOff', message } },
          lastState: { terminated: { exitCode: 1 } },
        },
      ],
    });
    expect(conditionsOf(status).Ready).toBe('False');
  });

  it('prefers the cached status to the API’s', () => {
    const pod = makePod({ status: { phase: 'Running' } });
    const cached: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'low on memory' };
    expect(generate(pod, observe([instance('a', 'running')]), { cached })).toMatchObject(cached);
  });

  it('lets an evicted pod succeed if its containers did, and keeps the disruption', () => {
    const cached: PodStatus = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'low on memory',
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }],
    };
    const status = generate(makePod(), observe([instance('a', 'exited')]), { cached, podIsTerminal: true });
    expect(status.phase).toBe('Succeeded');
    expect(status.reason).toBeUndefined();
    expect(status.message).toBeUndefined();
    expect(conditionsOf(status).DisruptionTarget).toBe('True');
  });

  it('fails a pod past its deadline', () => {
    const pod = makePod({
      spec: { activeDeadlineSeconds: 60 },
      status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' },
    });
    expect(generate(pod, observe([instance('a', 'running')]))).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
    });
  });

  it('is Pending until a sidecar started, Running when the sandbox has regular containers', () => {
    const pod = makePod({ initContainers: [sidecar('s')] });
    const side = instance('s', 'running');
    expect(generate(pod, observe([side])).phase).toBe('Pending');
    expect(generate(pod, observe([side, instance('a', 'running')])).phase).toBe('Running');
    const elsewhere = observe([side, instance('a', 'running')], { activeContainers: [side] });
    expect(generate(pod, elsewhere).phase).toBe('Pending');
  });

  it('never makes an ephemeral container started or ready', () => {
    const pod = makePod({ spec: { ephemeralContainers: [{ name: 'debug', image: 'sh:1' }] } });
    const status = generate(pod, observe([instance('a', 'running'), instance('debug', 'running')]));
    expect(status.ephemeralContainerStatuses).toMatchObject([{ name: 'debug', ready: false }]);
    expect(status.ephemeralContainerStatuses?.[0]).not.toHaveProperty('started');
    expect(status.phase).toBe('Running');
  });

  it('shows device health of regular containers', () => {
    const health = [{ name: 'example.com/gpu', resources: [{ resourceID: '0', health: 'Healthy' }] }];
    const pod = makePod({ initContainers: ['i', sidecar('s')] });
    const status = generate(pod, observe([]), { resourceHealth: () => health });
    expect(status.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual(health);
    const others = status.initContainerStatuses ?? [];
    expect(others.map((one) => [one.name, one.allocatedResourcesStatus])).toEqual([
      ['i', undefined],
      ['s', undefined],
    ]);
  });

  it('does not change its inputs', () => {
    const cached: PodStatus = {
      phase: 'Running',
      containerStatuses: [statusOf('a', 'running', { restartCount: 1 })],
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    const pod = makePod({ status: { conditions: [{ type: 'x', status: 'True' }] } });
    const before = structuredClone({ pod, cached });
    generate(pod, observe([]), { cached });
    expect({ pod, cached }).toEqual(before);
  });
});
