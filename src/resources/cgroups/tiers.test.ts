import { describe, expect, it } from 'vitest';
import type { Pod, ResourceRequirements } from '../../kube/index.js';
import { planTiers, raiseToUsage, type TierSettings, tierDemand } from './tiers.js';
import type { PodMemoryQos } from './values.js';

const gibi = 1024 ** 3;
const pod = (resources: ResourceRequirements, overhead?: Record<string, string>): Pod => ({
  metadata: { uid: 'u', name: 'a', namespace: 'default' },
  spec: { containers: [{ name: 'c', resources }], ...(overhead === undefined ? {} : { overhead }) },
});
const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const guaranteed = pod(both('1', '1Gi'));
const burstable = pod({ requests: { cpu: '250m', memory: '512Mi' } });
const bestEffort = pod({});

describe('tierDemand', () => {
  it('sums by class, overhead included', () => {
    const heavy = pod({ requests: { cpu: '500m' } }, { cpu: '250m', memory: '1Gi' });
    expect(tierDemand([guaranteed, burstable, bestEffort, heavy])).toEqual({
      burstableMilliCpu: 1000,
      burstableMemoryBytes: 1.5 * gibi,
      guaranteedMemoryBytes: gibi,
    });
    expect(tierDemand([])).toEqual({
      burstableMilliCpu: 0,
      burstableMemoryBytes: 0,
      guaranteedMemoryBytes: 0,
    });
  });
});

describe('planTiers', () => {
  const demand = tierDemand([guaranteed, burstable]);
  const hugePages = 'unlimited';
  const qos = (policy: PodMemoryQos['policy']): PodMemoryQos => ({
    policy,
    throttlingFactor: undefined,
    pageSizeBytes: 4096,
  });
  const plain = {
    pods: { hugePages },
    burstable: { cpuShares: 256, hugePages },
    bestEffort: { cpuShares: 2, hugePages },
  };
  const low = { 'memory.low': '536870912' };
  const tiered = {
    ...plain,
    pods: { hugePages, unified: { 'memory.min': '1610612736', ...low } },
    burstable: { ...plain.burstable, unified: low },
  };
  const zeros = {
    ...plain,
    pods: { hugePages, unified: { 'memory.min': '0', 'memory.low': '0' } },
    burstable: { ...plain.burstable, unified: { 'memory.low': '0' } },
  };
  it.each<[rule: string, settings: TierSettings, isFirst: boolean, plan: object]>([
    ['version 1', { version: 1 }, true, plain],
    ['version 2 takes protection back at the start', { version: 2 }, true, zeros],
    ['and only then', { version: 2 }, false, plain],
    ['the policy None does the same', { version: 2, memoryQos: qos('None') }, true, zeros],
    ['only at the start', { version: 2, memoryQos: qos('None') }, false, plain],
    [
      'TieredReservation protects at the start',
      { version: 2, memoryQos: qos('TieredReservation') },
      true,
      tiered,
    ],
    ['and ever after', { version: 2, memoryQos: qos('TieredReservation') }, false, tiered],
    ['version 1 has no protection', { version: 1, memoryQos: qos('TieredReservation') }, false, plain],
    [
      'reserved memory bounds the lower classes',
      { version: 1, withheldMemory: { percent: 50, allocatableBytes: 4 * gibi } },
      false,
      {
        ...plain,
        burstable: { ...plain.burstable, memoryLimitBytes: 3.5 * gibi },
        bestEffort: { ...plain.bestEffort, memoryLimitBytes: 3.25 * gibi },
      },
    ],
    [
      'no percent reserves nothing',
      { version: 1, withheldMemory: { percent: 0, allocatableBytes: 4 * gibi } },
      false,
      plain,
    ],
  ])('%s', (_, settings, isFirst, plan) => expect(planTiers(demand, settings, isFirst)).toEqual(plan));

  it('limits below what is used are raised to it', () => {
    const withheldMemory = { percent: 100, allocatableBytes: 4 * gibi };
    const plan = planTiers(demand, { version: 1, withheldMemory }, false);
    const raised = raiseToUsage(plan, { pods: 0, burstable: 3.5 * gibi, bestEffort: gibi });
    expect([raised.burstable.memoryLimitBytes, raised.bestEffort.memoryLimitBytes]).toEqual([
      3.5 * gibi,
      2.5 * gibi,
    ]);
  });
});
