import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../kube/index.js';
import type { PodBounds } from '../contracts.js';
import {
  boundedSandboxResources,
  containerResources,
  hugepageLimits,
  overheadResources,
  sandboxResources,
} from './resources.js';
import { type RuntimeSettings, runtimeSettings } from './settings.js';

const gi = 1024 ** 3;
const settings = runtimeSettings({ nodeName: 'n', memoryCapacityBytes: 10 * gi, singleProcessOomKill: true });

function podOf(resources: ResourceRequirements | undefined, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { uid: 'u', name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'c', resources }], ...spec },
  };
}

function ofContainer(
  resources: ResourceRequirements | undefined,
  change: Partial<RuntimeSettings> = {},
  spec: Partial<PodSpec> = {},
) {
  const pod = podOf(resources, spec);
  return containerResources(pod, pod.spec.containers[0]!, { ...settings, ...change });
}

describe('cpu and memory of a container', () => {
  const rows: [
    rule: string,
    resources: ResourceRequirements | undefined,
    change: Partial<RuntimeSettings>,
    expected: object,
    spec?: Partial<PodSpec>,
  ][] = [
    [
      'no request takes the limit',
      { limits: { cpu: '2' } },
      {},
      { cpuShares: 2048, cpuQuota: 200_000, cpuPeriod: 100_000 },
    ],
    [
      'a request of 0 is the minimum',
      { requests: { cpu: '0' }, limits: { cpu: '2' } },
      {},
      { cpuShares: 2, cpuQuota: 200_000 },
    ],
    [
      'nothing is the minimum without a limit',
      undefined,
      {},
      { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000 },
    ],
    ['the request counts', { requests: { cpu: '500m' }, limits: { cpu: '2' } }, {}, { cpuShares: 512 }],
    [
      'the period is configurable',
      { limits: { cpu: '1' } },
      { cpuCfsQuotaPeriodMs: 10 },
      { cpuQuota: 10_000, cpuPeriod: 10_000 },
    ],
    ['a memory limit', { limits: { memory: '64Mi' } }, {}, { memoryLimitInBytes: 64 * 1024 * 1024 }],
    [
      'an absurd memory limit is cut to what can be said',
      { limits: { memory: '8Ei' } },
      {},
      { memoryLimitInBytes: Number.MAX_SAFE_INTEGER },
    ],
    [
      'a pod-level limit stands in',
      undefined,
      {},
      { cpuShares: 1024, cpuQuota: 100_000, memoryLimitInBytes: gi },
      { resources: { limits: { cpu: '1', memory: '1Gi' } } },
    ],
    [
      'but not before an own one',
      { limits: { cpu: '500m' } },
      {},
      { cpuQuota: 50_000, memoryLimitInBytes: gi },
      { resources: { limits: { cpu: '1', memory: '1Gi' } } },
    ],
    [
      'processes die together on cgroup v2',
      undefined,
      { singleProcessOomKill: false },
      { unified: { 'memory.oom.group': '1' } },
    ],
    ['but not on v1', undefined, { singleProcessOomKill: false, cgroupVersion: 1 }, { unified: {} }],
  ];
  it.each(rows)('%s', (_rule, resources, change, expected, spec) => {
    expect(ofContainer(resources, change, spec)).toMatchObject(expected);
  });

  it('has no quota when that is disabled', () => {
    const resources = ofContainer({ limits: { cpu: '2' } }, { cpuCfsQuota: false });
    expect(resources).not.toHaveProperty('cpuQuota');
    expect(resources).not.toHaveProperty('cpuPeriod');
  });

  it('has no memory limit when there is none', () => {
    expect(ofContainer(undefined)).not.toHaveProperty('memoryLimitInBytes');
  });

  it('has no quota on exclusive CPUs', () => {
    const pod = podOf({ limits: { cpu: '2' } });
    expect(containerResources(pod, pod.spec.containers[0]!, settings, true).cpuQuota).toBe(-1);
  });
});

describe('the sandbox', () => {
  it('has the sum of the containers without the overhead', () => {
    const pod = podOf(
      { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } },
      {
        overhead: { cpu: '100m', memory: '64Mi' },
        initContainers: [{ name: 'i', resources: { limits: { memory: '2Gi' } } }],
      },
    );
    expect(sandboxResources(pod, settings)).toEqual({
      cpuShares: 1024,
      cpuQuota: 200_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 2 * gi,
    });
    expect(overheadResources(pod, settings)).toEqual({
      cpuShares: 102,
      cpuQuota: 10_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64 * 1024 * 1024,
    });
  });

  it('has the pod-level resources, if set', () => {
    const pod = podOf(
      { limits: { cpu: '2' } },
      { resources: { requests: { cpu: '3' }, limits: { cpu: '4' } } },
    );
    expect(sandboxResources(pod, settings)).toMatchObject({ cpuShares: 3072, cpuQuota: 400_000 });
  });

  it('has no overhead when there is none', () => {
    expect(overheadResources(podOf(undefined), settings)).toEqual({});
  });
});

describe('huge pages', () => {
  const sizes = ['2MB', '1GB'];
  const c: Container = { name: 'c', resources: { limits: { 'hugepages-2Mi': '4Mi' } } };
  const rows: [rule: string, podLimits: Record<string, string>, container: Container, expected: number[]][] =
    [
      ['0 for all sizes that nobody asked for', {}, { name: 'c' }, [0, 0]],
      ['the limit of the container', {}, c, [4 * 1024 * 1024, 0]],
      ['the limit of the pod', { 'hugepages-1Gi': '2Gi' }, c, [4 * 1024 * 1024, 2 * gi]],
      ['the container wins', { 'hugepages-2Mi': '8Mi' }, c, [4 * 1024 * 1024, 0]],
    ];
  it.each(rows)('%s', (_rule, limits, container, expected) => {
    const pod = podOf(undefined, { resources: { limits } });
    expect(hugepageLimits(pod, container, sizes).map(({ limit }) => limit)).toEqual(expected);
  });
});

describe('swap', () => {
  const swap = { behavior: 'LimitedSwap', capacityBytes: 5 * gi, isControllerAvailable: true } as const;
  const burstable: ResourceRequirements = { requests: { memory: '2Gi' }, limits: { memory: '4Gi' } };
  const rows: [
    rule: string,
    resources: ResourceRequirements | undefined,
    change: Partial<RuntimeSettings>,
    expected: string | undefined,
    spec?: Partial<PodSpec>,
  ][] = [
    [
      'nothing without a controller',
      burstable,
      { swap: { ...swap, isControllerAvailable: false } },
      undefined,
    ],
    ['NoSwap is 0', burstable, { swap: { ...swap, behavior: 'NoSwap' } }, '0'],
    ['LimitedSwap is in proportion to the request', burstable, { swap }, String(gi)],
    [
      'a limit alone is a request of 0',
      { limits: { memory: '1Gi' } },
      { swap },
      '0',
      { containers: [{ name: 'c', resources: { limits: { memory: '1Gi' } } }, { name: 'd' }] },
    ],
    [
      'request equal to limit',
      { requests: { memory: '1Gi', cpu: '1' }, limits: { memory: '1Gi' } },
      { swap },
      '0',
    ],
    ['no memory at all', { requests: { cpu: '1' } }, { swap }, '0'],
    ['best effort', undefined, { swap }, '0'],
    [
      'guaranteed',
      { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
      { swap },
      '0',
    ],
    ['critical', burstable, { swap }, '0', { priority: 2_000_000_000 }],
    ['more than the node has', { requests: { memory: '20Gi' } }, { swap }, '0'],
    ['a node without known memory', burstable, { swap, memoryCapacityBytes: 0 }, '0'],
  ];
  it.each(rows)('%s', (_rule, resources, change, expected, spec) => {
    expect(ofContainer(resources, change, spec).unified?.['memory.swap.max']).toBe(expected);
  });

  it('is part of the memory limit on cgroup v1', () => {
    const resources = ofContainer(burstable, { swap, cgroupVersion: 1 });
    expect(resources).toMatchObject({ memorySwapLimitInBytes: 4 * gi, unified: {} });
  });
});

describe('memory QoS', () => {
  const unset = {
    enabled: true,
    throttlingFactor: undefined,
    unreservedBytes: 0,
    reservationPolicy: 'None',
  } as const;
  const on = { ...unset, throttlingFactor: 0.9 } as const;
  const tiered = { ...on, reservationPolicy: 'TieredReservation' } as const;
  const none = { 'memory.min': '0', 'memory.low': '0' };
  const burstable: ResourceRequirements = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };
  const guaranteed: ResourceRequirements = {
    requests: { cpu: '1', memory: '1Gi' },
    limits: { cpu: '1', memory: '1Gi' },
  };
  const high = String(Math.floor((gi + gi * 0.9) / 4096) * 4096);
  const rows: [
    rule: string,
    resources: ResourceRequirements | undefined,
    change: Partial<RuntimeSettings>,
    expected: object,
  ][] = [
    ['off takes throttling back', burstable, {}, { 'memory.high': 'max' }],
    ['off on cgroup v1', burstable, { cgroupVersion: 1 }, {}],
    ['no factor, no throttling', burstable, { memoryQos: unset }, none],
    ['not on cgroup v1', burstable, { memoryQos: on, cgroupVersion: 1 }, {}],
    ['throttles between request and limit', burstable, { memoryQos: on }, { ...none, 'memory.high': high }],
    [
      'at nine tenths of the way, in whole pages',
      { requests: { memory: '100Mi' }, limits: { memory: '200Mi' } },
      { memoryQos: on },
      { ...none, 'memory.high': '199229440' },
    ],
    [
      'BestEffort ones below the node',
      undefined,
      { memoryQos: { ...on, unreservedBytes: 8 * gi } },
      { ...none, 'memory.high': '7730937856' },
    ],
    [
      'throttles below the node when there is no limit',
      { requests: { memory: '1Gi' } },
      { memoryQos: { ...on, unreservedBytes: 2 * gi } },
      { ...none, 'memory.high': high },
    ],
    [
      'rounds down to a page',
      { requests: { memory: '100Mi' } },
      { memoryQos: { ...on, unreservedBytes: 8 * gi } },
      { ...none, 'memory.high': '7741423616' },
    ],
    [
      'without request and limit too',
      undefined,
      { memoryQos: { ...on, unreservedBytes: 1_000_000 } },
      { ...none, 'memory.high': '897024' },
    ],
    [
      'never below the request',
      { requests: { memory: '3Gi' } },
      { memoryQos: { ...on, unreservedBytes: 2 * gi } },
      none,
    ],
    ['request equal to limit is not throttled', guaranteed, { memoryQos: on }, none],
    [
      'tiers protect burstable ones a little',
      burstable,
      { memoryQos: tiered },
      { 'memory.low': String(gi), 'memory.high': high },
    ],
    ['and guaranteed ones fully', guaranteed, { memoryQos: tiered }, { 'memory.min': String(gi) }],
    ['without a request there is nothing to protect', { limits: { cpu: '1' } }, { memoryQos: tiered }, none],
  ];
  it.each(rows)('%s', (_rule, resources, change, expected) => {
    expect(ofContainer(resources, change).unified).toEqual(expected);
  });

  it('a container without a limit is slowed down with its limited pod', () => {
    const spec = { resources: { requests: { memory: '100Mi' }, limits: { memory: '200Mi' } } };
    const change = { memoryQos: { ...on, unreservedBytes: 8 * gi } };
    expect(ofContainer({}, change, spec).unified).toEqual(none);
  });
});

describe('pod-level resources and overhead', () => {
  const two = { cpu: '2', memory: '2Gi' };
  const one = { cpu: '1', memory: '1Gi' };

  it.each<[rule: string, own: ResourceRequirements | undefined, expected: object]>([
    ['115: its own CPU limit', { limits: { cpu: '1' } }, { cpuQuota: 100_000, memoryLimitInBytes: 2 * gi }],
    ['115: no limit of its own', undefined, { cpuQuota: 200_000, memoryLimitInBytes: 2 * gi }],
  ])('%s', (_, own, expected) => {
    const spec = { resources: { requests: two, limits: two } };
    expect(ofContainer(own, {}, spec)).toMatchObject(expected);
  });

  it('114: huge pages of the pod alone bound each container', () => {
    const spec = { resources: { limits: { 'hugepages-2Mi': '4Mi' } } };
    expect(ofContainer(undefined, { hugePageSizes: ['2MB'] }, spec).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: 4 * 1024 * 1024 },
    ]);
  });

  const overhead = { cpu: '200m', memory: '100Mi' };
  const pod = podOf({ requests: one, limits: one }, { overhead });
  it('117: the sandbox has the containers and the overhead apart', () => {
    expect(sandboxResources(pod, settings)).toMatchObject({ cpuQuota: 100_000, memoryLimitInBytes: gi });
    expect(overheadResources(pod, settings)).toMatchObject({
      cpuQuota: 20_000,
      memoryLimitInBytes: 104_857_600,
    });
  });

  it.each<[rule: string, pod: Pod, bounds: Partial<PodBounds>, expected: object]>([
    [
      'the bounds of the pod without the overhead',
      pod,
      {},
      { cpuShares: 1024, cpuQuota: 100_000, memoryLimitInBytes: gi },
    ],
    [
      'no limit stays none',
      pod,
      { quotaMicros: -1, memoryLimitBytes: -1 },
      { cpuShares: 1024, cpuQuota: -1 },
    ],
    [
      'without overhead all of them',
      podOf({}),
      { cpuShares: 998 },
      { cpuShares: 998, cpuQuota: 120_000, memoryLimitInBytes: 1_178_599_424 },
    ],
  ])('a resize tells the sandbox: %s', (_, of, bounds, expected) => {
    const whole = {
      cpuShares: 1228,
      quotaMicros: 120_000,
      periodMicros: 100_000,
      memoryLimitBytes: 1_178_599_424,
    };
    expect(boundedSandboxResources(of, { ...whole, ...bounds }, settings)).toEqual({
      cpuPeriod: 100_000,
      ...expected,
    });
  });
});
