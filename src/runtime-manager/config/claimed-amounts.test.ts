/** What claims of devices take of the node's own resources, in every place that counts them. */
import { describe, expect, it } from 'vitest';
import { type Pod, podLimits, podRequests, qosClass, quantityUnits } from '../../kube/index.js';
import { podCgroupValues } from '../../resources/cgroups/index.js';
import { containerOomScoreAdj } from './oom-score.js';
import { containerResources, sandboxResources } from './resources.js';
import { runtimeSettings } from './settings.js';

const mi = 2 ** 20;
const settings = runtimeSettings({ nodeName: 'n1', hugePageSizes: ['2MB'], memoryCapacityBytes: 1000 * mi });

/** Two containers share a claim; only one of them has limits. */
const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    overhead: { cpu: '10m' },
    containers: [
      {
        name: 'limited',
        resources: { requests: { memory: '100Mi' }, limits: { cpu: '500m', memory: '200Mi' } },
      },
      { name: 'free' },
      { name: 'other', resources: { limits: { cpu: '100m' } } },
    ],
  },
  status: {
    nodeAllocatableResourceClaimStatuses: [
      {
        resourceClaimName: 'c',
        containers: ['limited', 'free'],
        mapping: [
          { name: 'cpu', quantity: '2' },
          { name: 'hugepages-2Mi', quantity: '4Mi' },
          { name: 'memory', quantity: '64Mi' },
        ],
        overhead: [{ name: 'memory', perPod: '32Mi', perContainer: '16Mi' }],
      },
    ],
  },
};
const [limited, free, other] = pod.spec.containers;

describe('claims of node resources', () => {
  it('count once for the pod, and once more for each container that uses them', () => {
    const requests = podRequests(pod);
    expect(requests.get('cpu')?.nanos).toBe(2_010_000_000n);
    expect(requests.get('memory')?.nanos).toBe(BigInt((100 + 64 + 32 + 2 * 16) * mi) * 1_000_000_000n);
  });

  it('raise limits of the pod that there are, and those of huge pages always', () => {
    const limits = podLimits(pod);
    expect([...limits.keys()].sort()).toEqual(['cpu', 'hugepages-2Mi', 'memory']);
    expect(limits.get('cpu')?.nanos).toBe(2_610_000_000n);
    const bare: Pod = { ...pod, spec: { containers: [{ name: 'limited' }, { name: 'free' }] } };
    expect([...podLimits(bare).keys()]).toEqual(['hugepages-2Mi']);
  });

  it('do not change the QoS class', () => {
    expect(qosClass(pod)).toBe('Burstable');
    const bare: Pod = { ...pod, spec: { containers: [{ name: 'limited' }, { name: 'free' }] } };
    expect(qosClass(bare)).toBe('BestEffort');
  });

  it('raise the limits of a container that has some, and its share of CPU stays that of its spec', () => {
    const found = containerResources(pod, limited!, settings);
    expect(found).toMatchObject({
      cpuShares: 512,
      cpuQuota: 250_000,
      memoryLimitInBytes: (200 + 64 + 32 + 16) * mi,
      hugepageLimits: [{ pageSize: '2MB', limit: 4 * mi }],
    });
  });

  it('give a container without limits huge pages alone', () => {
    const found = containerResources(pod, free!, settings);
    expect(found).toMatchObject({
      cpuShares: 2,
      cpuQuota: 0,
      hugepageLimits: [{ pageSize: '2MB', limit: 4 * mi }],
    });
    expect(found.memoryLimitInBytes).toBeUndefined();
  });

  it('leave containers alone that do not use them', () => {
    const found = containerResources(pod, other!, settings);
    expect(found).toMatchObject({ cpuQuota: 10_000, hugepageLimits: [{ pageSize: '2MB', limit: 0 }] });
  });

  it('leave limits of the whole pod to its cgroup', () => {
    const whole: Pod = {
      ...pod,
      spec: { ...pod.spec, resources: { limits: { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '8Mi' } } },
    };
    const found = containerResources(whole, free!, settings);
    expect(found).toMatchObject({
      cpuQuota: 100_000,
      memoryLimitInBytes: 1024 * mi,
      hugepageLimits: [{ pageSize: '2MB', limit: 8 * mi }],
    });
    expect(Number(podLimits(whole).get('cpu')?.nanos)).toBe(3_010_000_000);
  });

  it('are in the cgroups of the pod and of its sandbox', () => {
    const cgroup = podCgroupValues(pod, {
      cpuCfsQuota: true,
      cpuCfsQuotaPeriodMs: 100,
      podPidsLimit: 0,
    });
    expect(cgroup.hugePages).toEqual(new Map([['2MB', 4 * mi]]));
    expect(cgroup.cpuShares).toBe(Math.trunc((2010 * 1024) / 1000));
    expect(sandboxResources(pod, settings).cpuShares).toBe(2048);
  });

  it('are shared by the containers that use them where the kernel chooses whom to kill', () => {
    const requested = quantityUnits('100Mi') / mi;
    const share = (64 + 32) / 2 + 16;
    expect(containerOomScoreAdj(pod, limited!, settings.memoryCapacityBytes)).toBe(
      1000 - (requested + share),
    );
    expect(containerOomScoreAdj(pod, free!, settings.memoryCapacityBytes)).toBe(1000 - share);
  });
});
