import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from '../../kube/index.js';
import { type AdmissionRule, admit, podLimit, type Shortage, together } from './admission.js';
import { choosePreempted, requirementsText } from './preemption.js';

interface Shape {
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
  readonly priority?: number;
  readonly isStatic?: boolean;
}

function pod(name: string, { requests, limits, priority, isStatic }: Shape = {}): Pod {
  const spec: PodSpec = {
    containers: [
      { name: 'c', image: 'i', resources: { ...(requests && { requests }), ...(limits && { limits }) } },
    ],
    ...(priority === undefined ? {} : { priority }),
  };
  const annotations = isStatic ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {};
  return { metadata: { name, namespace: 'default', uid: name, ...annotations }, spec };
}
const cpu = (name: string, amount: string, more: Shape = {}): Pod =>
  pod(name, { requests: { cpu: amount }, ...more });
const guaranteed = (name: string, amount: string): Pod => {
  const resources = { cpu: amount, memory: '1Mi' };
  return pod(name, { requests: resources, limits: resources });
};
const critical = pod('critical', { priority: 2_000_000_000 });
const lacks = (resource: string, amount: number): Shortage => ({
  resource,
  requested: amount,
  used: 100,
  capacity: 100,
});

describe('who makes room for a critical pod', () => {
  it.each<[string, readonly Pod[], readonly Shortage[], readonly string[] | string]>([
    [
      'of those that are enough, the one that asks for least',
      [cpu('a', '100m'), cpu('b', '300m'), cpu('c', '250m')],
      [lacks('cpu', 200)],
      ['c'],
    ],
    ['the one that is enough', [cpu('a', '100m'), cpu('b', '300m')], [lacks('cpu', 200)], ['b']],
    [
      'several, the largest first, where one is not enough',
      [cpu('a', '100m'), cpu('b', '150m'), cpu('c', '50m')],
      [lacks('cpu', 200)],
      ['b', 'c'],
    ],
    [
      'nobody, where pods without requests are all there is',
      [pod('a'), pod('b')],
      [lacks('cpu', 200)],
      '[(res: cpu, q: 200), ]',
    ],
    [
      'nobody, where all together are not enough',
      [cpu('a', '100m')],
      [lacks('cpu', 250), lacks('memory', 5)],
      '[(res: cpu, q: 150), (res: memory, q: 5), ]',
    ],
    [
      'a pod without requests before one that has some',
      [guaranteed('g', '1'), pod('e')],
      [lacks('pods', 1)],
      ['e'],
    ],
    [
      'a pod with requests before one whose requests are its limits',
      [guaranteed('g', '200m'), cpu('b', '200m')],
      [lacks('cpu', 200)],
      ['b'],
    ],
    ['the later of two equals', [cpu('a', '200m'), cpu('b', '200m')], [lacks('cpu', 200)], ['b']],
    [
      'the one that asks for less memory',
      [
        pod('much', { requests: { cpu: '200m', memory: '2Gi' } }),
        pod('little', { requests: { cpu: '200m', memory: '1Gi' } }),
        pod('more', { requests: { cpu: '200m', memory: '3Gi' } }),
      ],
      [lacks('cpu', 200)],
      ['little'],
    ],
    [
      'the one that comes closest in all that is missing',
      [
        cpu('a', '200m'),
        pod('both', { requests: { cpu: '150m', memory: '80' } }),
        pod('m', { requests: { memory: '100' } }),
      ],
      [lacks('cpu', 150), lacks('memory', 80)],
      ['both'],
    ],
    [
      'a static pod of a lower priority',
      [cpu('s', '200m', { isStatic: true, priority: 1 })],
      [lacks('cpu', 200)],
      ['s'],
    ],
    [
      'no static pod without a priority',
      [cpu('s', '200m', { isStatic: true })],
      [lacks('cpu', 200)],
      '[(res: cpu, q: 200), ]',
    ],
    [
      'no other critical pod of the same priority',
      [cpu('s', '200m', { priority: 2_000_000_000 })],
      [lacks('cpu', 200)],
      '[(res: cpu, q: 200), ]',
    ],
  ])('%s', (_rule, active, shortages, expected) => {
    const choice = choosePreempted(critical, active, shortages);
    const found =
      choice.kind === 'victims'
        ? choice.pods.map(({ metadata }) => metadata.name)
        : requirementsText(choice.missing);
    expect(found).toEqual(expected);
  });
});

describe('what is told of a critical pod', () => {
  const affinity: AdmissionRule = {
    name: 'affinity',
    admit: () => ({ admit: false, reason: 'NodeAffinity', message: 'no' }),
  };
  it('the shortages alone, if nothing else speaks against it', () => {
    expect(
      admit([together([podLimit(1)])], { pod: critical, others: [pod('a')], operation: 'add' }),
    ).toMatchObject({
      reason: 'OutOfpods',
      shortages: [{ resource: 'pods', requested: 1, used: 1, capacity: 1 }],
    });
  });
  it('what is no shortage before anything else, so that nobody makes room in vain', () => {
    expect(
      admit([together([podLimit(1), affinity])], { pod: critical, others: [pod('a')], operation: 'add' }),
    ).toEqual({
      admit: false,
      reason: 'NodeAffinity',
      message: 'no',
    });
  });
  it('of any other pod: the first refusal, and no shortages', () => {
    const answer = admit([together([podLimit(1), affinity])], {
      pod: pod('plain'),
      others: [pod('a')],
      operation: 'add',
    });
    expect(answer).toMatchObject({ reason: 'OutOfpods' });
    expect(answer).not.toHaveProperty('shortages');
  });
});
