import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../kube/index.js';
import { type PodCgroupSettings, type PodMemoryQos, podCgroupValues } from './values.js';

const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 };
const mebi = 1024 * 1024;
const container = (resources: ResourceRequirements, more: Partial<Container> = {}): Container => ({
  name: 'c',
  resources,
  ...more,
});
const values = (spec: Partial<PodSpec>, change: Partial<PodCgroupSettings> = {}) => {
  const pod: Pod = {
    metadata: { uid: 'u', name: 'a', namespace: 'default' },
    spec: { containers: [], ...spec },
  };
  return podCgroupValues(pod, { ...settings, ...change });
};
const amounts = (cpu: string, memory: string) => ({ cpu, memory });
const small = amounts('100m', '100Mi');
const large = amounts('200m', '200Mi');
const bounded = container({ requests: small, limits: large });
const quota = (quotaMicros: number) => ({ cpuQuota: { quotaMicros, periodMicros: 100_000 } });
const hugePages = new Map();

describe('podCgroupValues', () => {
  it.each<[rule: string, spec: Partial<PodSpec>, expected: object]>([
    [
      'requests equal to limits',
      { containers: [container({ requests: small, limits: small })] },
      { cpuShares: 102, ...quota(10_000), memoryLimitBytes: 100 * mebi, hugePages },
    ],
    [
      'overhead is added to both',
      { containers: [container({ requests: small, limits: small })], overhead: amounts('200m', '140Mi') },
      { cpuShares: 307, ...quota(30_000), memoryLimitBytes: 240 * mebi, hugePages },
    ],
    [
      'limits above requests',
      { containers: [bounded] },
      { cpuShares: 102, ...quota(20_000), memoryLimitBytes: 200 * mebi, hugePages },
    ],
    [
      'a container without limits leaves the pod without',
      { containers: [bounded, container({ requests: small })] },
      { cpuShares: 204, hugePages },
    ],
    ['no demand', { containers: [container({})] }, { cpuShares: 2, hugePages }],
    [
      'the pod has its own amounts',
      { containers: [container({})], resources: { requests: small, limits: small } },
      { cpuShares: 102, ...quota(10_000), memoryLimitBytes: 100 * mebi, hugePages },
    ],
    [
      'an init container without limits leaves the pod without',
      { containers: [bounded], initContainers: [container({})] },
      { cpuShares: 102, hugePages },
    ],
    [
      'init containers with limits count with the sidecars before them',
      {
        containers: [bounded],
        initContainers: [
          container({ limits: large }, { restartPolicy: 'Always' }),
          container({ limits: small }),
        ],
      },
      { ...quota(40_000), memoryLimitBytes: 400 * mebi },
    ],
    [
      'huge pages as requested',
      {
        containers: [
          container({
            requests: { cpu: '1', 'hugepages-2Mi': '4Mi' },
            limits: { 'hugepages-2Mi': '4Mi' },
          }),
        ],
      },
      { cpuShares: 1024, hugePages: new Map([['2MB', 4 * mebi]]) },
    ],
    [
      '115: the pod level bounds the pod, whatever its containers have',
      {
        containers: [container({ limits: { cpu: '1' } }), container({})],
        resources: { requests: amounts('2', '2Gi'), limits: amounts('2', '2Gi') },
      },
      { cpuShares: 2048, ...quota(200_000), memoryLimitBytes: 2048 * mebi },
    ],
    [
      '117: overhead above the containers',
      {
        containers: [container({ requests: amounts('1', '1Gi'), limits: amounts('1', '1Gi') })],
        overhead: amounts('200m', '100Mi'),
      },
      { ...quota(120_000), memoryLimitBytes: 1_178_599_424 },
    ],
  ])('%s', (_, spec, expected) => expect(values(spec)).toMatchObject(expected));

  it('a container with CPUs for itself takes the quota from its pod, and nothing else', () => {
    const pod: Pod = {
      metadata: { uid: 'u', name: 'a', namespace: 'default' },
      spec: { containers: [container({ requests: large, limits: large })] },
    };
    expect(podCgroupValues(pod, settings, true)).toEqual({
      ...podCgroupValues(pod, settings),
      ...quota(-1),
    });
  });

  it.each<[rule: string, spec: Partial<PodSpec>, absent: string]>([
    ['no quota', { containers: [container({ requests: small })] }, 'cpuQuota'],
    ['no memory limit', { containers: [container({ requests: small })] }, 'memoryLimitBytes'],
    ['no process limit', { containers: [bounded] }, 'pidsLimit'],
    [
      'no quota for an init container without a limit',
      { containers: [bounded], initContainers: [container({})] },
      'cpuQuota',
    ],
    [
      'no memory limit for an init container without a limit',
      { containers: [bounded], initContainers: [container({})] },
      'memoryLimitBytes',
    ],
    [
      'no quota for an init container without a limit after a sidecar with one',
      {
        containers: [bounded],
        initContainers: [container({ limits: { cpu: '100m' } }, { restartPolicy: 'Always' }), container({})],
      },
      'cpuQuota',
    ],
    ['no protection', { containers: [bounded] }, 'unified'],
  ])('%s if none is given', (_, spec, absent) => expect(values(spec)).not.toHaveProperty(absent));

  it('writes only the period without quotas', () => {
    expect(values({ containers: [bounded] }, { cpuCfsQuota: false })).toMatchObject(quota(-1));
  });

  it('limits processes in every QoS class', () => {
    for (const one of [bounded, container({})])
      expect(values({ containers: [one] }, { podPidsLimit: 7 })).toMatchObject({ pidsLimit: 7 });
  });
});

describe('memory QoS of a pod', () => {
  const pageSizeBytes = 4096;
  const tiered = { policy: 'TieredReservation', throttlingFactor: undefined, pageSizeBytes } as const;
  const throttled = { policy: 'None', throttlingFactor: 0.9, pageSizeBytes } as const;
  const both = container({ requests: small, limits: small });
  const own = { requests: small, limits: large };
  it.each<
    [
      rule: string,
      spec: Partial<PodSpec>,
      memoryQos: PodMemoryQos,
      unified: Record<string, string> | undefined,
    ]
  >([
    ['a Guaranteed pod keeps its request', { containers: [both] }, tiered, { 'memory.min': '104857600' }],
    ['a Burstable pod nearly', { containers: [bounded] }, tiered, { 'memory.low': '104857600' }],
    [
      'overhead counts',
      { containers: [bounded], overhead: amounts('0', '28Mi') },
      tiered,
      { 'memory.low': '134217728' },
    ],
    ['no request, no protection', { containers: [container({ requests: { cpu: '1' } })] }, tiered, undefined],
    ['a BestEffort pod has none', { containers: [container({})] }, tiered, undefined],
    ['the policy None protects nothing', { containers: [bounded] }, { ...tiered, policy: 'None' }, undefined],
    [
      'a pod with own resources is slowed down between request and limit',
      { containers: [container({})], resources: own },
      throttled,
      { 'memory.high': '199229440' },
    ],
    [
      'in whole pages',
      {
        containers: [container({})],
        resources: { requests: { memory: '64Mi' }, limits: { memory: '256Mi' } },
      },
      { ...throttled, throttlingFactor: 0.8 },
      { 'memory.high': '228167680' },
    ],
    [
      'also if its containers have the limits',
      { containers: [bounded], resources: { requests: small } },
      throttled,
      { 'memory.high': '199229440' },
    ],
    [
      'not if one of them has none',
      { containers: [bounded, container({})], resources: { requests: small } },
      throttled,
      undefined,
    ],
    ['not without own resources', { containers: [bounded] }, throttled, undefined],
    ['nor with empty ones', { containers: [bounded], resources: {} }, throttled, undefined],
    [
      'not if request and limit are equal',
      { containers: [container({})], resources: { requests: small, limits: small } },
      throttled,
      undefined,
    ],
    [
      'not below the request',
      { containers: [container({})], resources: { requests: small, limits: amounts('200m', '104861696') } },
      throttled,
      undefined,
    ],
  ])('%s', (_, spec, memoryQos, unified) => {
    expect(values(spec, { memoryQos }).unified).toEqual(unified);
  });
});
