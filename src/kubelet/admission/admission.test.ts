import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import {
  type Admission,
  type AdmissionHandler,
  type AdmissionRule,
  admit,
  operatingSystem,
  podLimit,
  rejectionLabel,
} from './admission.js';
import { freeHostPorts } from './host-ports.js';

describe('admission', () => {
  const pod = (uid: string, spec: Partial<Pod['spec']> = {}): Pod => ({
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const port = (
    hostPort: number,
    more: { protocol?: 'TCP' | 'UDP'; hostIP?: string } = {},
  ): Partial<Pod['spec']> => ({
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort, ...more }] }],
  });
  const initPort = (hostPort: number, restartPolicy?: 'Always'): Partial<Pod['spec']> => ({
    initContainers: [
      {
        name: 'i',
        image: 'i',
        ports: [{ containerPort: 80, hostPort }],
        ...(restartPolicy === undefined ? {} : { restartPolicy }),
      },
    ],
  });
  const sidecarPort = (hostPort: number): Partial<Pod['spec']> => initPort(hostPort, 'Always');
  const others = (count: number): Pod[] => Array.from({ length: count }, (_, n) => pod(`o${n}`));
  const adding = (rules: readonly AdmissionRule[], added: Pod, active: readonly Pod[]): Admission =>
    admit(rules, { pod: added, others: active, operation: 'add' });
  it.each<[string, Admission, string | undefined]>([
    ['room left', adding([podLimit(3)], pod('a'), others(2)), undefined],
    ['a pod is not counted against itself', adding([podLimit(3)], pod('o0'), others(3)), undefined],
    ['the node is full', adding([podLimit(110)], pod('a'), others(110)), 'OutOfpods'],
    [
      'another operating system',
      adding([operatingSystem], pod('a', { os: { name: 'windows' } }), []),
      'PodOSNotSupported',
    ],
    ['a host port is taken', adding([freeHostPorts], pod('a', port(80)), [pod('b', port(80))]), 'NodePorts'],
    [
      'a sidecar has taken the host port',
      adding([freeHostPorts], pod('a', port(80)), [pod('b', sidecarPort(80))]),
      'NodePorts',
    ],
    [
      'a sidecar wants a host port that is taken',
      adding([freeHostPorts], pod('a', sidecarPort(80)), [pod('b', port(80))]),
      'NodePorts',
    ],
    [
      'an init container that ends holds no port',
      adding([freeHostPorts], pod('a', port(80)), [pod('b', initPort(80))]),
      undefined,
    ],
    [
      'by another protocol it is free',
      adding([freeHostPorts], pod('a', port(80)), [pod('b', port(80, { protocol: 'UDP' }))]),
      undefined,
    ],
    [
      'on another address it is free',
      adding([freeHostPorts], pod('a', port(80, { hostIP: '10.0.0.1' })), [
        pod('b', port(80, { hostIP: '10.0.0.2' })),
      ]),
      undefined,
    ],
  ])('%s', (_rule, answer, reason) => {
    expect(answer.admit ? undefined : answer.reason).toBe(reason);
  });
  it('says how much was asked for and used', () => {
    expect(adding([podLimit(110)], pod('a'), others(110))).toMatchObject({
      message: "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110",
    });
  });
  it.each([
    ['OutOfcpu', 'OutOfcpu'],
    ['OutOfexample.com/gpu', 'OutOfExtendedResources'],
    ['NodeAffinity', 'Other'],
    ['Evicted', 'Evicted'],
  ])('%s is counted as %s', (reason, label) => {
    expect(rejectionLabel(reason)).toBe(label);
  });
  it('waits for a handler that takes its time, and asks none after a refusal', async () => {
    const asked: string[] = [];
    const late = (name: string, answer: Admission): AdmissionHandler => ({
      name,
      admit: async ({ operation }) => {
        asked.push(`${name} ${operation}`);
        return answer;
      },
    });
    const refusal: Admission = { admit: false, reason: 'No', message: 'no' };
    const handlers = [
      podLimit(2),
      late('first', { admit: true }),
      late('second', refusal),
      late('third', refusal),
    ];
    const answer = admit(handlers, { pod: pod('a'), others: [], operation: 'resize' });
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toEqual(refusal);
    expect(asked).toEqual(['first resize', 'second resize']);
  });
  it.each<[string, AdmissionHandler['admit']]>([
    ['later', () => Promise.reject(new Error('no answer'))],
    [
      'at once',
      () => {
        throw new Error('no answer');
      },
    ],
  ])('refuses the pod where a handler fails %s', async (_when, fails) => {
    const broken: AdmissionHandler = { name: 'broken', admit: fails };
    expect(await admit([broken], { pod: pod('a'), others: [], operation: 'add' })).toEqual({
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message: 'Allocate failed due to no answer, which is unexpected',
    });
  });
});
