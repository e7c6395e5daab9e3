import { describe, expect, it } from 'vitest';
import type { ResourceRequirements } from '../types/container.js';
import type { PodManifest } from '../types/pod.js';
import { computeQosClass, qosClass } from './qos.js';

const full = { cpu: '1', memory: '1Gi' };
interface Row {
  rule: string;
  containers: (ResourceRequirements | undefined)[];
  init?: ResourceRequirements[];
  podLevel?: ResourceRequirements;
  expected: string;
}
const rows: Row[] = [
  { rule: 'nothing set', containers: [undefined], expected: 'BestEffort' },
  {
    rule: 'zero amounts count as nothing',
    containers: [{ requests: { cpu: '0' }, limits: { memory: '0' } }],
    expected: 'BestEffort',
  },
  {
    rule: 'only other resources',
    containers: [{ limits: { 'example.com/gpu': '1' } }],
    expected: 'BestEffort',
  },
  { rule: 'limits equal requests', containers: [{ requests: full, limits: full }], expected: 'Guaranteed' },
  {
    rule: 'equal amounts in other words',
    containers: [{ requests: { cpu: '1000m', memory: '1024Mi' }, limits: full }],
    expected: 'Guaranteed',
  },
  { rule: 'requests missing', containers: [{ limits: full }], expected: 'Burstable' },
  {
    rule: 'one limit missing',
    containers: [{ requests: { cpu: '1' }, limits: { cpu: '1' } }],
    expected: 'Burstable',
  },
  {
    rule: 'request below limit',
    containers: [{ requests: { cpu: '500m', memory: '1Gi' }, limits: full }],
    expected: 'Burstable',
  },
  {
    rule: 'one container without resources',
    containers: [{ requests: full, limits: full }, undefined],
    expected: 'Burstable',
  },
  {
    rule: 'init container without resources',
    containers: [{ requests: full, limits: full }],
    init: [{}],
    expected: 'Burstable',
  },
  { rule: 'only requests', containers: [{ requests: { cpu: '1' } }], expected: 'Burstable' },
  {
    rule: 'pod level wins over containers',
    containers: [undefined],
    podLevel: { requests: full, limits: full },
    expected: 'Guaranteed',
  },
  {
    rule: 'empty pod level is ignored',
    containers: [{ requests: full, limits: full }],
    podLevel: {},
    expected: 'Guaranteed',
  },
  {
    rule: 'pod level with only other resources is ignored',
    containers: [{ requests: full, limits: full }],
    podLevel: { requests: { 'ephemeral-storage': '1Gi' } },
    expected: 'Guaranteed',
  },
  {
    rule: 'pod level with huge pages decides',
    containers: [{ requests: full, limits: full }],
    podLevel: { requests: { 'hugepages-2Mi': '2Mi' }, limits: { 'hugepages-2Mi': '2Mi' } },
    expected: 'BestEffort',
  },
  {
    rule: 'equal sums of unequal containers',
    containers: [
      { requests: full, limits: { cpu: '2', memory: '1Gi' } },
      { requests: { cpu: '2', memory: '1Gi' }, limits: full },
    ],
    expected: 'Burstable',
  },
  {
    rule: 'pod level with one limit',
    containers: [undefined],
    podLevel: { requests: { cpu: '1' }, limits: { cpu: '1' } },
    expected: 'Burstable',
  },
];

function podOf(row: Row): PodManifest {
  return {
    metadata: {},
    spec: {
      containers: row.containers.map((resources, index) => ({ name: `c${index}`, resources })),
      initContainers: row.init?.map((resources, index) => ({ name: `i${index}`, resources })),
      resources: row.podLevel,
    },
  };
}

describe('quality of service', () => {
  it.each(rows)('$rule → $expected', (row) => expect(computeQosClass(podOf(row))).toBe(row.expected));
  it('keeps the recorded class', () => {
    const pod = podOf(rows[0]!);
    expect(qosClass({ ...pod, status: { qosClass: 'Guaranteed' } })).toBe('Guaranteed');
    expect(qosClass(pod)).toBe('BestEffort');
  });
});

it('of a pod with many containers looks at each of them a few times, however often it is asked for', () => {
  let looks = 0;
  const containers = Array.from({ length: 500 }, (_, n) => ({
    name: `c${n}`,
    image: 'i',
    get resources() {
      looks++;
      return { requests: full, limits: full };
    },
  }));
  const pod: PodManifest = { metadata: { name: 'many' }, spec: { containers } };
  for (const _ of containers) expect(qosClass(pod)).toBe('Guaranteed');
  expect(looks).toBeLessThan(5 * containers.length);
});
