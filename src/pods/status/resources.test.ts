import { describe, expect, it } from 'vitest';
import { LinuxContainerResources } from '../../cri/index.js';
import { milliCpuOfShares, type Pod, type ResourceRequirements } from '../../kube/index.js';
import { containerResources, quotaToMillis } from './container-resources.js';
import { makePod, sidecar } from './pod-fixtures.js';
import { aggregatePodLimits, aggregatePodRequests, podLevelResources } from './pod-resources.js';

const linux = (fields: Partial<LinuxContainerResources>) => ({
  linux: { ...LinuxContainerResources.create(), ...fields },
});

interface Row {
  allocated: ResourceRequirements;
  reported?: Partial<LinuxContainerResources>;
  actuated?: ResourceRequirements;
  previous?: ResourceRequirements;
  state?: 'running' | 'exited';
  expected: ResourceRequirements;
}

const rows: Record<string, Row> = {
  'a CPU limit at or below 10m on both sides stays as allocated': {
    allocated: { limits: { cpu: '5m' } },
    reported: { cpuQuota: 1000, cpuPeriod: 100_000 },
    expected: { limits: { cpu: '5m' } },
  },
  'a CPU limit above 10m shows the actual one': {
    allocated: { limits: { cpu: '20m' } },
    reported: { cpuQuota: 1000, cpuPeriod: 100_000 },
    expected: { limits: { cpu: '10m' } },
  },
  'a CPU request at or below 2m on both sides stays as allocated': {
    allocated: { requests: { cpu: '1m' } },
    reported: { cpuShares: 2 },
    expected: { requests: { cpu: '1m' } },
  },
  'shares and memory are shown as the runtime reports them': {
    allocated: { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } },
    reported: { cpuShares: 204, memoryLimitInBytes: 128 * 2 ** 20 },
    actuated: { requests: { memory: '48Mi' } },
    expected: { requests: { cpu: '200m', memory: '48Mi' }, limits: { memory: '128Mi' } },
  },
  'what was recorded as 0 and not allocated stays absent': {
    allocated: { requests: { cpu: '100m' }, limits: { cpu: '100m' } },
    actuated: { requests: { cpu: '100m', memory: '0' }, limits: { cpu: '100m', memory: '0' } },
    expected: { requests: { cpu: '100m' }, limits: { cpu: '100m' } },
  },
  'maps that were not allocated stay absent': {
    allocated: {},
    reported: { cpuShares: 204, memoryLimitInBytes: 5 },
    expected: {},
  },
  'nothing reported: what was actuated': {
    allocated: { requests: { cpu: '100m' } },
    actuated: { requests: { cpu: '150m' } },
    expected: { requests: { cpu: '150m' } },
  },
  'nothing known: what the same run showed before': {
    allocated: { requests: { cpu: '100m', memory: '1Mi' } },
    previous: { requests: { cpu: '120m' } },
    expected: { requests: { cpu: '120m', memory: '1Mi' } },
  },
  'not running: as allocated': {
    allocated: { limits: { cpu: '20m' } },
    reported: { cpuQuota: 1000, cpuPeriod: 100_000 },
    state: 'exited',
    expected: { limits: { cpu: '20m' } },
  },
  'other resources stay as allocated': {
    allocated: { limits: { 'example.com/gpu': '1' } },
    reported: { memoryLimitInBytes: 1024 },
    expected: { limits: { 'example.com/gpu': '1', memory: '1Ki' } },
  },
};

describe('containerResources', () => {
  it.each(Object.entries(rows))('%s', (_, row) => {
    const { allocated, reported, actuated, previous, state = 'running', expected } = row;
    const instance = { state, resources: reported === undefined ? undefined : linux(reported) };
    expect(containerResources({ allocated, instance, actuated, previous })).toEqual(expected);
  });
  it('converts shares and quotas', () => {
    expect([2, 102, 1024, 262_144].map(milliCpuOfShares)).toEqual([2, 100, 1000, 256_000]);
    expect(quotaToMillis(50_000, 100_000)).toBe(500);
    expect(quotaToMillis(-1, 100_000)).toBeUndefined();
    expect(quotaToMillis(0, 100_000)).toBeUndefined();
  });
});

describe('pod resources', () => {
  const cpu = (name: string, amount: string) => ({ name, resources: { requests: { cpu: amount } } });
  it('adds regular containers and sidecars, and takes the peak of init containers', () => {
    const init = cpu('i', '500m');
    const side = sidecar('s', { resources: { requests: { cpu: '50m' } } });
    const containers = [cpu('a', '100m'), cpu('b', '200m')];
    expect(aggregatePodRequests(makePod({ containers, initContainers: [side] }))).toEqual({ cpu: '350m' });
    expect(aggregatePodRequests(makePod({ containers, initContainers: [side, init] }))).toEqual({
      cpu: '550m',
    });
    expect(aggregatePodRequests(makePod({ containers, initContainers: [init, side] }))).toEqual({
      cpu: '500m',
    });
  });
  it('uses pod-level resources for the pod, and adds overhead', () => {
    const pod = makePod({
      containers: [cpu('a', '100m')],
      spec: { resources: { requests: { cpu: '1' } }, overhead: { cpu: '10m', memory: '1Mi' } },
    });
    expect(aggregatePodRequests(pod)).toEqual({ cpu: '1010m', memory: '1Mi' });
    expect(aggregatePodLimits(pod)).toEqual({});
  });
  it('shows sums until the API shows the pod Running, the cgroup afterwards', () => {
    const spec = { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2' } } };
    expect(podLevelResources(makePod({ spec }), {}, { cpuLimitMillis: 1500 })).toEqual(spec.resources);
    const running = makePod({ spec, status: { phase: 'Running' } });
    const cgroup = { cpuRequestMillis: 900, cpuLimitMillis: 1500, memoryLimitBytes: 2 ** 30 };
    expect(podLevelResources(running, {}, cgroup)).toEqual({
      requests: { cpu: '900m', memory: '1Gi' },
      limits: { cpu: '1500m', memory: '1Gi' },
    });
    const old = { phase: 'Running' as const, resources: { limits: { cpu: '1800m' } } };
    expect(podLevelResources(running, old, undefined).limits).toEqual({ cpu: '1800m' });
  });

  const running = (spec: Partial<Pod['spec']>) => makePod({ spec, status: { phase: 'Running' } });
  const asked = (cpuRequest: string) => ({ resources: { requests: { cpu: cpuRequest } } });
  const one = { containers: [{ name: 'c', ...asked('1') }] };
  it.each<[rule: string, spec: Partial<Pod['spec']>, cpuRequestMillis: number, expected: string]>([
    ['118: the request, where its weight leads back to what was read', asked('1'), 975, '1'],
    ['118: what was read, without pod-level resources', one, 975, '975m'],
    ['500m is not shown as 489m', asked('500m'), 489, '500m'],
    ['another weight', asked('500m'), 232, '232m'],
    ['exact shares', asked('500m'), 500, '500m'],
    ['both at most 2m', asked('1m'), 2, '1m'],
  ])('CPU request: %s', (_, spec, cpuRequestMillis, expected) => {
    const { requests } = podLevelResources(running(spec), {}, { cpuRequestMillis });
    expect(requests?.cpu).toBe(expected);
  });

  it('the memory request is never that of an earlier status', () => {
    const old = { phase: 'Running' as const, resources: { requests: { memory: '64Mi' } } };
    const pod = running({ resources: { requests: { memory: '128Mi' } } });
    expect(podLevelResources(pod, old, undefined).requests).toEqual({ memory: '128Mi' });
  });

  it('117: the overhead counts in what is allocated', () => {
    const amounts = { cpu: '1', memory: '1Gi' };
    const pod = makePod({
      containers: [{ name: 'c', resources: { requests: amounts, limits: amounts } }],
      spec: { overhead: { cpu: '200m', memory: '100Mi' } },
    });
    expect(aggregatePodRequests(pod)).toEqual({ cpu: '1200m', memory: '1124Mi' });
    expect(aggregatePodLimits(pod)).toEqual({ cpu: '1200m', memory: '1124Mi' });
  });
});
