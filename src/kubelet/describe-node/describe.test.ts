import { describe, expect, it } from 'vitest';
import type { Node, Pod, PodSpec } from '../../kube/index.js';
import type { ResourceHoldings } from './contracts.js';
import { type DescribeInput, describeNode } from './describe.js';

const node: Node = {
  metadata: { name: 'n1', labels: { disk: 'ssd' } },
  spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
  status: {
    capacity: {
      pods: '110',
      'vendor.test/gpu': '2',
      'hugepages-2Mi': '16Mi',
      memory: '4Gi',
      cpu: '4',
    },
    allocatable: {
      pods: '110',
      'vendor.test/gpu': '1',
      'hugepages-2Mi': '16Mi',
      memory: '3780Mi',
      cpu: '3',
    },
  },
};

function pod(name: string, spec: Partial<PodSpec>, namespace = 'default'): Pod {
  return {
    metadata: { name, namespace, uid: `uid-${name}` },
    spec: { containers: [{ name: 'app', image: 'i' }], ...spec },
  };
}
const asking = (name: string, requests: Record<string, string>, limits: Record<string, string> = {}): Pod =>
  pod(name, { containers: [{ name: 'app', image: 'i', resources: { requests, limits } }] });

const input: DescribeInput = {
  node,
  reservation: {
    systemReserved: { cpu: '500m', memory: '100Mi' },
    kubeReserved: { cpu: '500m', memory: '100Mi' },
    evictionHard: { 'memory.available': '100Mi' },
  },
  pods: [],
  holdings: [],
  pressure: { signals: [] },
};
const resource = (given: Partial<DescribeInput>, name: string) =>
  describeNode({ ...input, ...given }).resources.find((each) => each.name === name);

describe('the resources of a node', () => {
  it('stand in an order that does not change: those of every node, huge pages, others, pods', () => {
    expect(describeNode(input).resources.map(({ name }) => name)).toEqual([
      'cpu',
      'memory',
      'hugepages-2Mi',
      'vendor.test/gpu',
      'pods',
    ]);
  });

  it.each<[rule: string, name: string, pods: readonly Pod[], expected: object]>([
    [
      'every part of what pods cannot have is told by itself',
      'memory',
      [],
      {
        capacity: '4Gi',
        systemReserved: '100Mi',
        kubeReserved: '100Mi',
        evictionReserved: '100Mi',
        inHugePages: '16Mi',
        allocatable: '3780Mi',
        free: '3780Mi',
      },
    ],
    [
      'what pods request is not free',
      'cpu',
      [asking('a', { cpu: '1' }, { cpu: '2' }), asking('b', { cpu: '250m' })],
      { requested: '1250m', limits: '2', free: '1750m' },
    ],
    ['pods are counted', 'pods', [pod('a', {}), pod('b', {})], { requested: '2', free: '108' }],
    [
      'more than there is is below zero',
      'vendor.test/gpu',
      [asking('a', { 'vendor.test/gpu': '2' })],
      { allocatable: '1', requested: '2', free: '-1' },
    ],
    [
      'a resource that the node does not have is told where a pod requests it',
      'vendor.test/fpga',
      [asking('a', { 'vendor.test/fpga': '1' })],
      { capacity: '0', free: '-1' },
    ],
    [
      'the overhead of a pod counts',
      'memory',
      [pod('a', { overhead: { memory: '80Mi' } })],
      { requested: '80Mi', free: '3700Mi' },
    ],
  ])('%s', (_, name, pods, expected) => {
    expect(resource({ pods }, name)).toMatchObject(expected);
  });

  it('are told of a pod that names one like a part of every object', () => {
    expect(resource({ pods: [asking('a', { constructor: '1' })] }, 'constructor')).toMatchObject({
      capacity: '0',
      requested: '1',
      free: '-1',
    });
  });

  it('thresholds that reserve nothing are told as such', () => {
    const reservation = { ...input.reservation, ignoreEviction: true };
    expect(resource({ reservation }, 'memory')?.evictionReserved).toBe('0');
  });
});

it('pods stand by namespace and name, with what they were given', () => {
  const pods = [pod('z', {}), asking('b', { cpu: '1' }, { cpu: '1', memory: '1Gi' }), pod('a', {}, 'kube')];
  const described = describeNode({ ...input, pods }).pods;
  expect(described.items.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual([
    'default/b',
    'default/z',
    'kube/a',
  ]);
  expect(described.items[0]).toMatchObject({
    qosClass: 'Burstable',
    priority: 0,
    requests: { cpu: '1' },
    limits: { cpu: '1', memory: '1Gi' },
  });
});

it('there are never more pods in an answer than fit', () => {
  const pods = Array.from({ length: 1_003 }, (_, at) => pod(`p${at}`, {}));
  const described = describeNode({ ...input, pods }).pods;
  expect([described.items.length, described.omitted]).toEqual([1_000, 3]);
});

describe('who holds what', () => {
  const cpus: ResourceHoldings = {
    sharedCpus: '0-1',
    held: [{ podUid: 'uid-a', container: 'app', cpus: '2-3' }],
  };
  const memory: ResourceHoldings = {
    held: [
      {
        podUid: 'uid-a',
        container: 'app',
        memory: [{ resource: 'memory', numaNodes: [0], bytes: 1024 }],
      },
    ],
  };

  it('one line for each container, whichever managers tell of it', () => {
    expect(describeNode({ ...input, pods: [pod('a', {})], holdings: [cpus, memory] }).holdings).toEqual({
      sharedCpus: '0-1',
      holders: {
        omitted: 0,
        items: [
          {
            namespace: 'default',
            name: 'a',
            uid: 'uid-a',
            container: 'app',
            cpus: '2-3',
            memory: [{ resource: 'memory', numaNodes: [0], bytes: 1024 }],
          },
        ],
      },
    });
  });

  it('a pod that is gone is named by its UID until it has given back what it held', () => {
    expect(describeNode({ ...input, holdings: [cpus] }).holdings.holders.items[0]).toMatchObject({
      name: '',
      uid: 'uid-a',
    });
  });
});

it('a node that nobody has told of yet has a name and nothing else', () => {
  const { name, resources, conditions } = describeNode({ ...input, node: { metadata: { name: 'n1' } } });
  expect({ name, resources, conditions }).toEqual({ name: 'n1', resources: [], conditions: [] });
});
