import { describe, expect, it } from 'vitest';
import { defaultPullPolicy, parseImageName } from '../pods/image-name.js';
import { computeQosClass } from '../pods/qos.js';
import type { Container } from '../types/container.js';
import type { PodManifest, PodSpec } from '../types/pod.js';
import type { Volume } from '../types/volume.js';
import { clone } from '../values/deep-equal.js';
import { applyPodDefaults } from './defaults.js';

function podWith(spec: Partial<PodSpec>): PodManifest {
  return applyPodDefaults({
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'a', image: 'x:1' }], ...spec },
  });
}
function containerWith(container: Partial<Container>, spec: Partial<PodSpec> = {}): Container {
  return podWith({ ...spec, containers: [{ name: 'a', image: 'x:1', ...container }] }).spec.containers[0]!;
}
function volumeWith(volume: Omit<Volume, 'name'>): Volume {
  return podWith({ volumes: [{ name: 'v', ...volume }] }).spec.volumes![0]!;
}

describe('pod', () => {
  it('gets every default', () => {
    expect(podWith({})).toEqual({
      metadata: { name: 'p' },
      spec: {
        containers: [
          {
            name: 'a',
            image: 'x:1',
            imagePullPolicy: 'IfNotPresent',
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
            resources: {},
          },
        ],
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        terminationGracePeriodSeconds: 30,
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
        securityContext: {},
      },
    });
  });
  it('keeps what is given', () => {
    const given = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, enableServiceLinks: false };
    expect(podWith(given).spec).toMatchObject(given);
  });
  it('does not change when defaulted again', () => {
    const once = podWith({
      hostNetwork: true,
      volumes: [{ name: 'v' }],
      resources: { limits: { cpu: '1' } },
    });
    expect(applyPodDefaults(clone(once))).toEqual(once);
  });
  it.each([
    [{ serviceAccount: 'x' }, 'x'],
    [{ serviceAccountName: 'x' }, 'x'],
    [{ serviceAccountName: 'x', serviceAccount: 'y' }, 'x'],
  ])('carries the service account under both names: %j', (given, name) => {
    expect(podWith(given).spec).toMatchObject({ serviceAccount: name, serviceAccountName: name });
  });
});

describe('image pull policy', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['nginx:1.27', 'IfNotPresent'],
    [`nginx@${digest}`, 'IfNotPresent'],
    [`nginx:latest@${digest}`, 'Always'],
    ['localhost:5000/team/app', 'Always'],
    ['localhost:5000/team/app:v1', 'IfNotPresent'],
    ['Not A Name', 'IfNotPresent'],
    ['', 'IfNotPresent'],
  ])('%s → %s', (image, policy) => {
    expect(defaultPullPolicy(image)).toBe(policy);
    expect(containerWith({ image }).imagePullPolicy).toBe(policy);
  });
  it('parses a reference', () => {
    expect(parseImageName(`host.example:80/a/b:v1@${digest}`)).toEqual({
      repository: 'host.example:80/a/b',
      tag: 'v1',
      digest,
    });
    expect(parseImageName('a@b@c')).toBeUndefined();
    expect(parseImageName('a:b c')).toBeUndefined();
    expect(parseImageName('a//b')).toBeUndefined();
  });
});

describe('container', () => {
  const rows: [
    rule: string,
    given: Partial<Container>,
    expected: Partial<Container>,
    spec?: Partial<PodSpec>,
  ][] = [
    [
      'port protocol',
      { ports: [{ containerPort: 80 }] },
      { ports: [{ containerPort: 80, protocol: 'TCP' }] },
    ],
    [
      'host network sets the host port',
      { ports: [{ containerPort: 80 }] },
      { ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }] },
      { hostNetwork: true },
    ],
    [
      'requests from limits',
      { resources: { limits: { cpu: '1' } } },
      { resources: { limits: { cpu: '1' }, requests: { cpu: '1' } } },
    ],
    [
      'requests per resource',
      { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } } },
      { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } } },
    ],
    [
      'amounts round up to milli',
      { resources: { requests: { cpu: '1500u', memory: '1n' } } },
      { resources: { requests: { cpu: '2m', memory: '1m' } } },
    ],
    [
      'probe numbers',
      { livenessProbe: { exec: { command: ['x'] } } },
      {
        livenessProbe: {
          exec: { command: ['x'] },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    ],
    [
      'probe numbers that are given',
      { startupProbe: { grpc: { port: 1 }, periodSeconds: 2, failureThreshold: 0 } },
      {
        startupProbe: {
          grpc: { port: 1, service: '' },
          timeoutSeconds: 1,
          periodSeconds: 2,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    ],
    [
      'hooks by HTTP',
      { lifecycle: { preStop: { httpGet: { port: 1 } } } },
      { lifecycle: { preStop: { httpGet: { port: 1, path: '/', scheme: 'HTTP' } } } },
    ],
    [
      'probe by HTTP',
      {
        readinessProbe: {
          httpGet: { port: 'web' },
          timeoutSeconds: 5,
          periodSeconds: 1,
          successThreshold: 2,
          failureThreshold: 1,
        },
      },
      {
        readinessProbe: {
          httpGet: { port: 'web', path: '/', scheme: 'HTTP' },
          timeoutSeconds: 5,
          periodSeconds: 1,
          successThreshold: 2,
          failureThreshold: 1,
        },
      },
    ],
    [
      'field reference',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      { env: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } }] },
    ],
  ];
  it.each(rows)('%s', (_rule, given, expected, spec) => {
    expect(containerWith(clone(given), spec)).toMatchObject(expected);
  });
});

describe('volume', () => {
  const rows: [rule: string, given: Omit<Volume, 'name'>, expected: Omit<Volume, 'name'>][] = [
    ['no source is an empty directory', {}, { emptyDir: {} }],
    ['host path type', { hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
    ['secret mode', { secret: { secretName: 's' } }, { secret: { secretName: 's', defaultMode: 420 } }],
    ['config map mode', { configMap: { name: 'c' } }, { configMap: { name: 'c', defaultMode: 420 } }],
    [
      'given mode',
      { configMap: { name: 'c', defaultMode: 256 } },
      { configMap: { name: 'c', defaultMode: 256 } },
    ],
    [
      'downward API',
      { downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      {
        downwardAPI: {
          defaultMode: 420,
          items: [{ path: 'l', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.labels' } }],
        },
      },
    ],
    [
      'token lifetime',
      { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      {
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
        },
      },
    ],
    ['image', { image: { reference: 'x' } }, { image: { reference: 'x', pullPolicy: 'Always' } }],
    [
      'iscsi',
      { iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } },
      { iscsi: { targetPortal: 'p', iqn: 'i', lun: 0, iscsiInterface: 'default' } },
    ],
  ];
  it.each(rows)('%s', (_rule, given, expected) =>
    expect(volumeWith(clone(given))).toEqual({ name: 'v', ...expected }),
  );
});

it('pod-level resources stay as they are: the API completes them when a pod is created', () => {
  const resources = { limits: { cpu: '2', memory: '1Gi' } };
  const pod = podWith({ containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }], resources });
  expect(pod.spec.resources).toEqual(resources);
  expect(computeQosClass(pod)).toBe('Burstable');
});
