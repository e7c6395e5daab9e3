import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../kube/index.js';
import { containerAnnotations, containerLabels, sandboxAnnotations, sandboxLabels } from './labels.js';

const pod: Pod = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u1',
    labels: { app: 'web', 'io.kubernetes.pod.name': 'forged' },
    annotations: { note: 'x' },
  },
  spec: { containers: [] },
};
const identity = {
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'shop',
  'io.kubernetes.pod.uid': 'u1',
};

describe('labels', () => {
  it('a sandbox has its pod’s, overridden by the identity', () => {
    expect(sandboxLabels(pod)).toEqual({ app: 'web', ...identity });
    expect(sandboxAnnotations(pod)).toEqual({ note: 'x' });
  });

  it('a container has none of its pod’s', () => {
    expect(containerLabels(pod, { name: 'c' })).toEqual({ ...identity, 'io.kubernetes.container.name': 'c' });
  });
});

describe('containerAnnotations', () => {
  const vector: Container = { name: 'test_container', image: 'foo/image:v1' };
  const always = {
    'io.kubernetes.container.hash': '8e45cbd0',
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '',
    'io.kubernetes.container.terminationMessagePolicy': '',
  };

  it('always has hash, restart count and termination settings', () => {
    expect(containerAnnotations(pod, vector, 3)).toEqual(always);
  });

  it('has everything that a kill without the pod object needs', () => {
    const container: Container = {
      ...vector,
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      ports: [{ containerPort: 80, protocol: 'TCP' }],
      lifecycle: { preStop: { exec: { command: ['sync'] } } },
    };
    const deleted: Pod = {
      metadata: { ...pod.metadata, deletionGracePeriodSeconds: 0 },
      spec: { containers: [], terminationGracePeriodSeconds: 30 },
    };
    expect(containerAnnotations(deleted, container, 3)).toEqual({
      ...always,
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.container.preStopHandler': '{"exec":{"command":["sync"]}}',
      'io.kubernetes.container.ports': '[{"containerPort":80,"protocol":"TCP"}]',
      'io.kubernetes.pod.terminationGracePeriod': '30',
      'io.kubernetes.pod.deletionGracePeriod': '0',
    });
  });
});
