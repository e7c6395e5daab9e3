import { describe, expect, it } from 'vitest';
import { type EvictionSignal, type EvictionThreshold, readEvictionThresholds } from '../../kube/index.js';
import { evictionGraceSeconds } from './grace.js';
import { evictionText } from './message.js';
import { signalFacts } from './signals.js';
import { type EvictionTestPod, gi, mi, type TestUsage, testPod, testStats } from './test-pods.js';

const threshold = (signal: EvictionSignal, value: string, grace?: string): EvictionThreshold => {
  const [made] = readEvictionThresholds({
    evictionHard: grace === undefined ? { [signal]: value } : {},
    evictionSoft: grace === undefined ? {} : { [signal]: value },
    evictionSoftGracePeriod: grace === undefined ? {} : { [signal]: grace },
    evictionMinimumReclaim: {},
  }).thresholds;
  return made!;
};

function told(
  signal: EvictionSignal,
  value: string,
  available: number,
  shape: EvictionTestPod,
  usage: TestUsage | undefined,
) {
  const act = [threshold(signal, value)];
  return evictionText({
    pod: testPod('web', shape),
    stats: usage && testStats('web', usage),
    resource: signalFacts[signal].resource,
    act,
    readings: new Map([[signal, { available, capacity: 100 * gi, atMs: 0 }]]),
  });
}

const asks: EvictionTestPod = { requests: { memory: '100Mi' } };

describe('what users are told', () => {
  it.each<[string, Parameters<typeof told>, string, Record<string, string>]>([
    [
      'memory, with the container beyond its request',
      ['memory.available', '100Mi', 90 * mi, asks, { memory: 200 * mi }],
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container app was using 200Mi, request is 100Mi, has larger consumption of memory. ',
      { offending_containers: 'app', offending_containers_usage: '200Mi', starved_resource: 'memory' },
    ],
    [
      'memory, with the request of the pod itself',
      [
        'memory.available',
        '100Mi',
        90 * mi,
        { ...asks, spec: { resources: { requests: { memory: '150Mi' } } } },
        { memory: 200 * mi },
      ],
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Pod web was using 200Mi, request is 150Mi, has larger consumption of memory. Container app was using 200Mi, request is 100Mi, has larger consumption of memory. ',
      {
        offending_containers: 'app',
        offending_containers_usage: '200Mi',
        starved_resource: 'memory',
        offending_pod: 'web',
        offending_pod_usage: '200Mi',
      },
    ],
    [
      'memory, with no container beyond its request',
      ['memory.available', '100Mi', 90 * mi, asks, { memory: 100 * mi }],
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ',
      { offending_containers: '', offending_containers_usage: '', starved_resource: 'memory' },
    ],
    [
      'disk, by a share, with no request',
      ['nodefs.available', '10%', 5 * gi, {}, { rootfs: mi, logs: mi }],
      'The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 5Gi. Container app was using 2Mi, request is 0, has larger consumption of ephemeral-storage. ',
      {
        offending_containers: 'app',
        offending_containers_usage: '2Mi',
        starved_resource: 'ephemeral-storage',
      },
    ],
    [
      'inodes, in decimal numbers',
      ['nodefs.inodesFree', '5k', 3000, {}, { inodes: 10 }],
      'The node was low on resource: inodes. Threshold quantity: 5k, available: 3k. ',
      { offending_containers: '', offending_containers_usage: '', starved_resource: 'inodes' },
    ],
    [
      'inodes by a share, in binary numbers',
      ['nodefs.inodesFree', '25%', 3000, {}, { inodes: 10 }],
      'The node was low on resource: inodes. Threshold quantity: 25Gi, available: 3k. ',
      { offending_containers: '', offending_containers_usage: '', starved_resource: 'inodes' },
    ],
    [
      'processes',
      ['pid.available', '100', 90, {}, { processes: 10 }],
      'The node was low on resource: pids. Threshold quantity: 100, available: 90. ',
      { offending_containers: '', offending_containers_usage: '', starved_resource: 'pids' },
    ],
    [
      'a pod without statistics',
      ['memory.available', '100Mi', 90 * mi, asks, undefined],
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ',
      {},
    ],
  ])('%s', (_rule, input, message, annotations) => {
    expect(told(...input)).toEqual({ message, annotations });
  });
});

describe('how long an evicted pod may take', () => {
  const soft = threshold('memory.available', '1Gi', '1m');
  it.each<[string, EvictionThreshold, number | undefined, number, number]>([
    ['a hard threshold leaves a second', threshold('memory.available', '1Gi'), 60, 120, 1],
    ['a soft one with no grace period is a hard one', threshold('memory.available', '1Gi', '0s'), 60, 120, 1],
    ['a soft one leaves what the pod asks for', soft, 60, 120, 60],
    ['but no more than the most that is allowed', soft, 60, 30, 30],
    ['which holds for a pod that asks for nothing', soft, undefined, 120, 120],
  ])('%s', (_rule, met, podSeconds, maxSeconds, expected) => {
    const pod = testPod('p');
    const { terminationGracePeriodSeconds: _, ...spec } = pod.spec;
    const asking = podSeconds === undefined ? spec : { ...spec, terminationGracePeriodSeconds: podSeconds };
    expect(evictionGraceSeconds(met, { ...pod, spec: asking }, maxSeconds)).toBe(expected);
  });
});
