import { describe, expect, it } from 'vitest';
import { absentPodStatus, type ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { ReasonCache } from '../../pods/status/index.js';
import {
  createPodStatusGenerator,
  type PodStatusGeneratorOptions,
  podCgroupReader,
  runtimeHandlerInUse,
} from './pod-status-generator.js';

const podOf = (spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { uid: 'p', name: 'p', namespace: 'd' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const sandboxOf = (runtimeHandler: string): ObservedPodStatus =>
  ({ ...absentPodStatus('p'), sandboxes: [{ runtimeHandler }] }) as unknown as ObservedPodStatus;

function generator(more: Partial<PodStatusGeneratorOptions> = {}) {
  return createPodStatusGenerator({
    clock: { now: () => Date.parse('2026-01-01T00:01:00Z') },
    statuses: { get: () => undefined },
    reasons: new ReasonCache(),
    probes: {
      startupResult: () => undefined,
      readinessResult: () => undefined,
      livenessResult: () => undefined,
      hasStartupWorker: () => false,
      hasReadinessWorker: () => false,
      triggerReadiness: () => {},
    },
    runtimeName: () => 'containerd',
    supportsRecursiveReadOnly: () => false,
    actuated: { requirements: () => undefined },
    node: () => undefined,
    nodeIps: undefined,
    showsStopSignals: false,
    showsVolumeImages: false,
    ...more,
  });
}

describe('createPodStatusGenerator', () => {
  it('shows why a container of this pod could not be started', () => {
    const reasons = new ReasonCache();
    reasons.set('p', 'c', { reason: 'ErrImagePull', message: 'no such image' });
    reasons.set('q', 'c', { reason: 'Other', message: 'of another pod' });
    const status = generator({ reasons })(podOf(), absentPodStatus('p'), false);
    expect(status.containerStatuses?.[0]?.state?.waiting).toMatchObject({ reason: 'ErrImagePull' });
  });
  it('shows what the cgroup of a running pod has, if it can be read', () => {
    const bounds = { cpuShares: 512, quotaMicros: 50_000, periodMicros: 100_000, memoryLimitBytes: -1 };
    const shown = (read: () => typeof bounds) => {
      const podCgroup = podCgroupReader({ read: () => ({ ...read(), memoryUsageBytes: 0 }) });
      const pod = { ...podOf(), status: { phase: 'Running' as const } };
      return generator({ podCgroup })(pod, absentPodStatus('p'), false).resources;
    };
    expect(shown(() => bounds)).toEqual({ requests: { cpu: '500m' }, limits: { cpu: '500m' } });
    const gone = (): never => {
      throw new Error('ENOENT');
    };
    expect(shown(gone)).toEqual({});
    expect(podCgroupReader(undefined)).toBeUndefined();
  });
  it('the cached start time decides about the deadline', () => {
    const pod = podOf({ activeDeadlineSeconds: 30 });
    const startedAt = (startTime: string) =>
      generator({ statuses: { get: () => ({ phase: 'Running', startTime }) } });
    const early = startedAt('2026-01-01T00:00:00Z')(pod, absentPodStatus('p'), false);
    const late = startedAt('2026-01-01T00:00:59Z')(pod, absentPodStatus('p'), false);
    expect(early).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
    expect(late.reason).toBeUndefined();
  });
  it.each([
    ['another family', '10.0.0.1', 'fd00::1', [['10.0.0.1', 'fd00::1']]],
    ['another address of the same family', '10.0.0.1', '10.0.0.2', []],
    ['no address so far', undefined, 'fd00::1', []],
  ])('tells of a node whose first address has %s', (_rule, hostIP, address, expected) => {
    const told: string[][] = [];
    const generate = generator({
      statuses: { get: () => (hostIP === undefined ? {} : { hostIP }) },
      node: () => ({
        metadata: { name: 'n' },
        status: { addresses: [{ type: 'InternalIP', address }] },
      }),
      onOtherHostFamily: (_pod, ...families) => told.push(families),
    });
    generate(podOf(), absentPodStatus('p'), false);
    expect(told).toEqual(expected);
  });
  it('shows the addresses of the node as the cluster knows it now', () => {
    let address = '10.0.0.1';
    const node = () => ({
      metadata: { name: 'n' },
      status: { addresses: [{ type: 'InternalIP' as const, address }] },
    });
    const generate = generator({ node });
    expect(generate(podOf(), absentPodStatus('p'), false).hostIP).toBe('10.0.0.1');
    address = '10.0.0.2';
    expect(generate(podOf(), absentPodStatus('p'), false).hostIP).toBe('10.0.0.2');
  });
});

describe('runtimeHandlerInUse', () => {
  it.each<[string, Pod, ObservedPodStatus, string | undefined]>([
    ['no runtime class: the default handler', podOf(), absentPodStatus('p'), ''],
    ['a runtime class, no sandbox yet', podOf({ runtimeClassName: 'k' }), absentPodStatus('p'), undefined],
    ['a runtime class: as its sandbox has it', podOf({ runtimeClassName: 'k' }), sandboxOf('kata'), 'kata'],
  ])('%s', (_rule, pod, observed, handler) => {
    expect(runtimeHandlerInUse(pod, observed)).toBe(handler);
  });
});
