import { describe, expect, it } from 'vitest';
import type { Node, PersistentVolumeClaim, Pod, PodSpec } from '../../kube/index.js';
import { type BindInput, decideBinding } from './decide.js';

const node: Node = {
  metadata: { name: 'node', labels: { zone: 'a' } },
  status: { allocatable: { cpu: '2', memory: '1Gi', pods: '3' } },
};
const pod = (spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'web', labels },
  spec: { containers: [{ name: 'main', image: 'i' }], ...spec },
});
const asking = (requests: Record<string, string>): Partial<PodSpec> => ({
  containers: [{ name: 'main', image: 'i', resources: { requests } }],
});
const port = (hostPort: number): Partial<PodSpec> => ({
  containers: [{ name: 'main', image: 'i', ports: [{ containerPort: 1, hostPort }] }],
});
const term = (app: string) => [{ topologyKey: 'zone', labelSelector: { matchLabels: { app } } }];
const together = (app: string): Partial<PodSpec> => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(app) } },
});
const apart = (app: string): Partial<PodSpec> => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term(app) } },
});
const claim = (phase: string, more: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default' },
  spec: { ...more },
  status: { phase },
});
const withClaim: Partial<PodSpec> = {
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
};
const tainted = (effect: string, spec = {}): Node => ({
  ...node,
  spec: { taints: [{ key: 'k', value: 'v', effect }], ...spec },
});

const decided = (given: Pod, more: Partial<BindInput> = {}): string => {
  const decision = decideBinding({
    pod: given,
    node,
    nodeName: 'node',
    others: [],
    volumes: { claim: () => undefined, volume: () => undefined, storageClass: () => undefined },
    namespaceLabels: () => ({}),
    ...more,
  });
  return decision.kind === 'unschedulable'
    ? decision.message.replace('0/1 nodes are available: ', '')
    : decision.kind;
};

describe('decideBinding', () => {
  it.each<[rule: string, given: Pod, more: Partial<BindInput>, expected: string]>([
    ['a pod that fits is bound', pod(), {}, 'bind'],
    ['a pod that has a node is left alone', pod({ nodeName: 'node' }), {}, 'ignore'],
    ['a pod of another scheduler is foreign', pod({ schedulerName: 'mine' }), {}, 'foreign'],
    ['a pod with gates waits', pod({ schedulingGates: [{ name: 'g' }] }), {}, 'gated'],
    [
      'a node that has not registered',
      pod(),
      { node: undefined },
      'no nodes available to schedule pods: node "node" has not registered',
    ],
    [
      'a cordoned node',
      pod(),
      { node: { ...node, spec: { unschedulable: true } } },
      '1 node(s) were unschedulable.',
    ],
    [
      'a cordoned node that is tolerated',
      pod({ tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }),
      { node: { ...node, spec: { unschedulable: true } } },
      'bind',
    ],
    ['a taint', pod(), { node: tainted('NoSchedule') }, '1 node(s) had untolerated taint(s) {k: v}.'],
    [
      'a tolerated taint',
      pod({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
      { node: tainted('NoExecute') },
      'bind',
    ],
    ['a taint that only advises', pod(), { node: tainted('PreferNoSchedule') }, 'bind'],
    [
      'a node selector',
      pod({ nodeSelector: { zone: 'b' } }),
      {},
      "1 node(s) didn't match Pod's node affinity/selector (the node lacks zone=b).",
    ],
    [
      'too little of two resources',
      pod(asking({ cpu: '3', memory: '2Gi' })),
      {},
      '1 Insufficient cpu, 1 Insufficient memory.',
    ],
    [
      'what others have counts',
      pod(asking({ cpu: '1500m' })),
      { others: [pod(asking({ cpu: '1' }))] },
      '1 Insufficient cpu.',
    ],
    [
      'a resource that the node does not have',
      pod(asking({ 'example.com/gpu': '1' })),
      {},
      '1 Insufficient example.com/gpu.',
    ],
    ['too many pods', pod(), { others: [pod(), pod(), pod()] }, '1 Too many pods.'],
    [
      'a taken port',
      pod(port(80)),
      { others: [pod(port(80))] },
      "1 node(s) didn't have free ports for the requested pod ports (taken: 80).",
    ],
    [
      'apart from a pod that is there',
      pod(apart('db')),
      { others: [pod({}, { app: 'db' })] },
      "1 node(s) didn't match pod anti-affinity rules.",
    ],
    [
      'a pod that is there wants nobody like it',
      pod({}, { app: 'db' }),
      { others: [pod(apart('db'))] },
      "1 node(s) didn't satisfy existing pods anti-affinity rules.",
    ],
    [
      'together with a pod that is not there',
      pod(together('db')),
      {},
      "1 node(s) didn't match pod affinity rules.",
    ],
    ['together with a pod that is there', pod(together('db')), { others: [pod({}, { app: 'db' })] }, 'bind'],
    ['the first of those that want to be together', pod(together('db'), { app: 'db' }), {}, 'bind'],
    ['a claim that does not exist', pod(withClaim), {}, 'persistentvolumeclaim "data" not found.'],
    [
      'a claim that is not bound',
      pod(withClaim),
      { volumes: { claim: () => claim('Pending'), volume: () => undefined, storageClass: () => undefined } },
      'pod has unbound immediate PersistentVolumeClaims.',
    ],
    [
      'a claim that is bound',
      pod(withClaim),
      { volumes: { claim: () => claim('Bound'), volume: () => undefined, storageClass: () => undefined } },
      'bind',
    ],
    [
      'the claim of a former pod of the same name',
      pod({ volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] }),
      { volumes: { claim: () => claim('Bound'), volume: () => undefined, storageClass: () => undefined } },
      'PVC "default/web-v" was not created for pod "default/web" (pod is not owner).',
    ],
    [
      'a claim that waits for its first pod',
      pod(withClaim),
      {
        volumes: {
          claim: () => claim('Pending', { storageClassName: 'late' }),
          volume: () => undefined,
          storageClass: () => ({ metadata: {}, provisioner: 'p', volumeBindingMode: 'WaitForFirstConsumer' }),
        },
      },
      'select-node',
    ],
    [
      'claims of devices',
      pod({ resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] }),
      {},
      '1 node(s) cannot allocate resource claims: no allocator of resource.k8s.io runs here.',
    ],
    [
      'spreading over more domains than there are',
      pod(
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'DoNotSchedule',
              minDomains: 2,
              labelSelector: { matchLabels: { app: 'db' } },
            },
          ],
        },
        { app: 'db' },
      ),
      { others: [pod({}, { app: 'db' })] },
      "1 node(s) didn't match pod topology spread constraints.",
    ],
  ])('%s', (_, given, more, expected) => {
    expect(decided(given, more)).toBe(expected);
  });
});
