import { describe, expect, it } from 'vitest';
import type { Node, Pod, PodManifest, PodSpec } from '../../kube/index.js';
import { admit, together } from './admission.js';
import { enoughResources, nodeAffinityHandler, operatingSystemLabel, toleratedTaints } from './node-fit.js';

const node: Node = {
  metadata: { name: 'n1', labels: { disk: 'ssd', 'kubernetes.io/os': 'linux' } },
  spec: {
    taints: [
      { key: 'gone', effect: 'NoExecute' },
      { key: 'full', effect: 'NoSchedule' },
    ],
  },
  status: { allocatable: { cpu: '4', memory: '1Gi', 'ephemeral-storage': '10Gi', 'x.io/gpu': '1' } },
};
const untainted: Node = { ...node, spec: {} };

function pod(
  requests: Record<string, string>,
  spec: Partial<PodSpec> = {},
  { metadata, ...more }: Partial<PodManifest> = {},
): Pod {
  return {
    metadata: { uid: Math.random().toString(), name: 'p', namespace: 'default', ...metadata },
    spec: { containers: [{ name: 'a', image: 'i', resources: { requests } }], ...spec },
    ...more,
  };
}

function verdict(given: Pod, others: readonly Pod[] = [], of: Node | undefined = untainted): string {
  const handlers = [
    operatingSystemLabel(() => of),
    together([enoughResources(() => of), nodeAffinityHandler('n1', () => of), toleratedTaints(() => of)]),
  ];
  const answer = admit(handlers, { pod: given, others, operation: 'add' });
  return answer.admit ? 'admitted' : `${answer.reason}: ${answer.message}`;
}

const shortOf = (what: string, requested: number, used: number, capacity: number): string =>
  `OutOf${what}: Node didn't have enough resource: ${what}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

describe('resources', () => {
  it.each<[string, Pod, Pod[], string]>([
    ['what is left is enough', pod({ cpu: '400m' }), [pod({ cpu: '3600m' })], 'admitted'],
    [
      'what is left is not enough',
      pod({ cpu: '500m' }),
      [pod({ cpu: '3' }), pod({ cpu: '600m' })],
      shortOf('cpu', 500, 3600, 4000),
    ],
    [
      'others that ask for less than nothing leave no room',
      pod({ cpu: '5' }),
      [pod({ cpu: '-4' })],
      shortOf('cpu', 5000, 0, 4000),
    ],
    [
      'a container that asks for less than nothing makes no room for the next',
      pod(
        { cpu: '-4' },
        {
          containers: [
            { name: 'a', image: 'i', resources: { requests: { cpu: '-4' } } },
            { name: 'b', image: 'i', resources: { requests: { cpu: '5' } } },
          ],
        },
      ),
      [],
      shortOf('cpu', 5000, 0, 4000),
    ],
    [
      'nor does an overhead or a pod level of less than nothing',
      pod({ cpu: '5' }, { overhead: { cpu: '-4' } }),
      [pod({ cpu: '1' }, { resources: { requests: { cpu: '-4' } } })],
      shortOf('cpu', 5000, 0, 4000),
    ],
    ['nothing is asked for on a full node', pod({}), [pod({ cpu: '4' })], 'admitted'],
    ['memory in bytes', pod({ memory: '2Gi' }), [], shortOf('memory', 2147483648, 0, 1073741824)],
    ['cpu before memory', pod({ memory: '2Gi', cpu: '5' }), [], shortOf('cpu', 5000, 0, 4000)],
    [
      'an extended resource',
      pod({ 'x.io/gpu': '1' }),
      [pod({ 'x.io/gpu': '1' })],
      shortOf('x.io/gpu', 1, 1, 1),
    ],
    ['an extended resource of the cluster', pod({ 'y.io/license': '1' }), [], 'admitted'],
    ['a resource named like a part of every object', pod({ constructor: '1' }), [], 'admitted'],
    ['a resource named like all objects', pod(JSON.parse('{"__proto__":"1"}')), [], 'admitted'],
    [
      'overhead counts',
      pod({ cpu: '3900m' }, { overhead: { cpu: '200m' } }),
      [],
      shortOf('cpu', 4100, 0, 4000),
    ],
    [
      'a critical pod, which others may make room for',
      pod({ cpu: '5' }, { priority: 2_000_000_000 }),
      [],
      shortOf('cpu', 5000, 0, 4000),
    ],
  ])('%s', (_, given, others, expected) => {
    expect(verdict(given, others)).toBe(expected);
  });
});

describe('devices', () => {
  const gpus = (count: string): Node => ({ ...untainted, status: { allocatable: { 'x.io/gpu': count } } });
  const mapped = (containerName: string): Partial<PodManifest> => ({
    status: {
      extendedResourceClaimStatus: {
        resourceClaimName: 'c',
        requestMappings: [{ containerName, resourceName: 'x.io/gpu', requestName: 'r' }],
      },
    },
  });
  const asking = pod({ 'x.io/gpu': '2' });
  it.each<[string, Pod, Node, number | undefined, string]>([
    ['whose plugin has gone', asking, gpus('0'), undefined, shortOf('x.io/gpu', 2, 0, 0)],
    ['that the pod holds, and whose plugin has gone', asking, gpus('0'), 2, 'admitted'],
    ['that the pod holds some of', asking, gpus('0'), 1, shortOf('x.io/gpu', 2, 0, 1)],
    ['that a claim gives', pod({ 'x.io/gpu': '2' }, {}, mapped('a')), gpus('0'), undefined, 'admitted'],
    [
      'that a claim gives another container',
      pod({ 'x.io/gpu': '2' }, {}, mapped('b')),
      gpus('0'),
      undefined,
      shortOf('x.io/gpu', 2, 0, 0),
    ],
  ])('%s', (_, given, of, inUse, expected) => {
    const held = inUse === undefined ? undefined : new Map([['x.io/gpu', inUse]]);
    const rule = enoughResources(
      () => of,
      () => held,
    );
    const answer = admit([rule], { pod: given, others: [], operation: 'add' });
    expect(answer.admit ? 'admitted' : `${answer.reason}: ${answer.message}`).toBe(expected);
  });
});

const mismatch =
  "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const required = (operator: string, values: string[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator, values }] }],
      },
    },
  },
});

describe('the node that is meant', () => {
  it.each<[string, Partial<PodSpec>, string]>([
    ['a selector that matches', { nodeSelector: { disk: 'ssd' } }, 'admitted'],
    ['a selector that does not', { nodeSelector: { disk: 'hdd' } }, mismatch],
    ['a label that is not there', { nodeSelector: { zone: '' } }, mismatch],
    ['affinity that matches', required('In', ['ssd']), 'admitted'],
    ['affinity that does not', required('NotIn', ['ssd']), mismatch],
    ['both must hold', { nodeSelector: { disk: 'hdd' }, ...required('In', ['ssd']) }, mismatch],
    ['bound to it', { nodeName: 'n1' }, 'admitted'],
    [
      'bound to another',
      { nodeName: 'n2' },
      "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
    ],
    [
      'a critical pod is told of what is no shortage',
      { priority: 2_000_000_000, nodeSelector: { a: 'b' } },
      mismatch,
    ],
  ])('%s', (_, spec, expected) => {
    // A shortage does not hide that it is the wrong node.
    const cpu = expected === 'admitted' ? '1' : '5';
    expect(verdict(pod({ cpu }, { priority: 2_000_000_000, ...spec }))).toBe(expected);
  });
  it('a label for another operating system', () => {
    expect(verdict(pod({}, {}, { metadata: { name: 'w', labels: { 'kubernetes.io/os': 'windows' } } }))).toBe(
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    );
  });
});

const untolerated =
  "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
describe('taints', () => {
  it.each<[string, PodSpec['tolerations'], string]>([
    ['untolerated', [], untolerated],
    ['tolerated by key', [{ key: 'gone', operator: 'Exists' }], 'admitted'],
    ['tolerated by value', [{ key: 'gone', value: '' }], 'admitted'],
    ['another value', [{ key: 'gone', value: 'x' }], untolerated],
    ['another effect', [{ key: 'gone', operator: 'Exists', effect: 'NoSchedule' }], untolerated],
    ['everything is tolerated', [{ operator: 'Exists' }], 'admitted'],
    ['a toleration without key or operator', [{ value: '' }], untolerated],
  ])('%s', (_, tolerations = [], expected) => {
    expect(verdict(pod({}, { tolerations }), [], node)).toBe(expected);
  });
  const taint = (value: string) => ({ key: 'level', value, effect: 'NoExecute' }) as const;
  it.each<[string, 'Lt' | 'Gt', string, string, boolean, boolean]>([
    ['less', 'Lt', '10', '9', true, true],
    ['not less', 'Lt', '10', '10', true, false],
    ['more', 'Gt', '-3', '-2', true, true],
    ['not more', 'Gt', '10', '9', true, false],
    ['no number in the taint', 'Gt', '10', 'many', true, false],
    ['a number with a leading zero', 'Lt', '010', '9', true, false],
    ['less, with the gate off', 'Lt', '10', '9', false, false],
  ])('a taint whose value is %s', (_, operator, value, taintValue, gate, isTolerated) => {
    const tainted = { ...node, spec: { taints: [taint(taintValue)] } };
    const given = pod({}, { tolerations: [{ key: 'level', operator, value }] });
    const rule = toleratedTaints(() => tainted, gate);
    expect(admit([rule], { pod: given, others: [], operation: 'add' }).admit).toBe(isTolerated);
  });
  it('a static pod need not tolerate any', () => {
    const annotations = { 'kubernetes.io/config.source': 'file' };
    expect(verdict(pod({}, {}, { metadata: { name: 's', annotations } }), [], node)).toBe('admitted');
  });
});

it('while the node is not known, nothing is ruled out', () => {
  const handlers = [
    enoughResources(() => undefined),
    nodeAffinityHandler('n1', () => undefined),
    toleratedTaints(() => undefined),
  ];
  const given = pod({ cpu: '99' }, { nodeSelector: { a: 'b' } });
  expect(admit(handlers, { pod: given, others: [], operation: 'add' })).toEqual({ admit: true });
});
