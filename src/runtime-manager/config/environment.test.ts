import { describe, expect, it } from 'vitest';
import type { Container, EnvVar, Pod, PodSpec } from '../../kube/index.js';
import {
  computeEnvironment,
  type EnvironmentInputs,
  type EnvValue,
  envBytes,
  environmentNeeds,
} from './environment.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const inputs: EnvironmentInputs = {
  configMaps: new Map([
    [
      'cm',
      {
        kind: 'found',
        value: { metadata: {}, data: { K: 'from-cm', ref: '$(K)' }, binaryData: { B: 'AA==' } },
      },
    ],
    ['broken', { kind: 'failed', error: new Error('the server is on fire') }],
  ]),
  secrets: new Map([
    ['s', { kind: 'found', value: { metadata: {}, data: { P: base64('pass'), RAW: 'gP8=' } } }],
  ]),
  files: new Map([
    ['vol:env', { kind: 'found', value: "F='file'\nE= 'x'\n" }],
    ['vol:bad', { kind: 'found', value: "F ='file'\n" }],
    ['vol:none', { kind: 'failed', error: new Error('ENOENT') }],
  ]),
  services: {
    kind: 'read',
    ofDefault: [
      {
        metadata: { name: 'kubernetes' },
        spec: { clusterIP: '10.96.0.1', ports: [{ port: 443, name: 'https' }] },
      },
    ],
    ofNamespace: [{ metadata: { name: 'db' }, spec: { clusterIP: '10.96.0.2', ports: [{ port: 5432 }] } }],
  },
};

function compute(
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
  change: Partial<EnvironmentInputs> = {},
): Record<string, EnvValue> {
  const full: Container = { name: 'c', ...container };
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
    spec: { containers: [full], enableServiceLinks: false, ...spec },
  };
  const settings = { nodeIps: [], hostIps: ['192.168.0.1'], nodeAllocatable: { cpu: '4' } };
  const environment = computeEnvironment({
    pod,
    container: full,
    podIps: ['10.0.0.7'],
    settings,
    inputs: { ...inputs, services: { kind: 'standalone' }, ...change },
  });
  return Object.fromEntries(environment);
}

describe('values', () => {
  const rows: [rule: string, container: Partial<Container>, expected: Record<string, string>][] = [
    ['a literal', { env: [{ name: 'A', value: 'x' }] }, { A: 'x' }],
    ['no value is an empty one', { env: [{ name: 'A' }] }, { A: '' }],
    [
      'earlier variables are expanded',
      {
        env: [
          { name: 'B', value: 'x' },
          { name: 'A', value: '$(B)y' },
        ],
      },
      { B: 'x', A: 'xy' },
    ],
    [
      'later ones are not',
      {
        env: [
          { name: 'A', value: '$(B)' },
          { name: 'B', value: 'x' },
        ],
      },
      { A: '$(B)', B: 'x' },
    ],
    [
      'the last of one name wins',
      {
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '$(A)2' },
        ],
      },
      { A: '12' },
    ],
    [
      'envFrom takes data only',
      { envFrom: [{ configMapRef: { name: 'cm' } }] },
      { K: 'from-cm', ref: '$(K)' },
    ],
    [
      'a prefix',
      { envFrom: [{ prefix: 'X_', configMapRef: { name: 'cm' } }] },
      { X_K: 'from-cm', X_ref: '$(K)' },
    ],
    [
      'env wins over envFrom',
      { envFrom: [{ configMapRef: { name: 'cm' } }], env: [{ name: 'K', value: 'own' }] },
      { K: 'own', ref: '$(K)' },
    ],
    [
      'env may use envFrom',
      { envFrom: [{ configMapRef: { name: 'cm' } }], env: [{ name: 'A', value: '$(K)' }] },
      { K: 'from-cm', ref: '$(K)', A: 'from-cm' },
    ],
    [
      'a missing optional object is skipped',
      {
        envFrom: [
          { configMapRef: { name: 'nope', optional: true } },
          { secretRef: { name: 'nope', optional: true } },
        ],
      },
      {},
    ],
    [
      'a key of a config map, not expanded',
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'ref' } } }] },
      { A: '$(K)' },
    ],
    [
      'a key of a secret',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'P' } } }] },
      { A: 'pass' },
    ],
    [
      'a missing optional key leaves the variable out',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'X', optional: true } } }] },
      {},
    ],
    [
      'a missing optional object too',
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'nope', key: 'X', optional: true } } }] },
      {},
    ],
    [
      'a field',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] },
      { A: '10.0.0.7' },
    ],
    [
      'a resource',
      { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }] },
      { A: '4' },
    ],
    [
      'a file',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'vol', path: 'env', key: 'F' } } }] },
      { A: 'file' },
    ],
    [
      'an empty value of a file, optional',
      {
        env: [
          {
            name: 'A',
            valueFrom: { fileKeyRef: { volumeName: 'vol', path: 'env', key: 'E', optional: true } },
          },
        ],
      },
      {},
    ],
    [
      'a value wins over valueFrom',
      { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'odd' } } }] },
      { A: 'x' },
    ],
  ];
  it.each(rows)('%s', (_rule, container, expected) => {
    expect(compute(container)).toEqual(expected);
  });

  it('secrets that are not text arrive unchanged, inside other values too', () => {
    const environment = compute({
      env: [
        { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'RAW' } } },
        { name: 'B', value: '<$(A)>' },
      ],
    });
    expect([...envBytes(environment.A!)]).toEqual([0x80, 0xff]);
    expect([...envBytes(environment.B!)]).toEqual([0x3c, 0x80, 0xff, 0x3e]);
  });
});

describe('failures', () => {
  const rows: [rule: string, valueFrom: EnvVar['valueFrom'], message: string][] = [
    [
      'a missing key of a config map',
      { configMapKeyRef: { name: 'cm', key: 'X' } },
      "couldn't find key X in ConfigMap shop/cm",
    ],
    [
      'a missing key of a secret',
      { secretKeyRef: { name: 's', key: 'X' } },
      "couldn't find key X in Secret shop/s",
    ],
    ['a missing config map', { configMapKeyRef: { name: 'nope', key: 'X' } }, 'configmap "nope" not found'],
    ['a missing secret', { secretKeyRef: { name: 'nope', key: 'X' } }, 'secret "nope" not found'],
    [
      'an API error, even if optional',
      { configMapKeyRef: { name: 'broken', key: 'X', optional: true } },
      'the server is on fire',
    ],
    [
      'a missing volume',
      { fileKeyRef: { volumeName: 'v2', path: 'env', key: 'F' } },
      'cannot find the volume "v2" referenced by FileKeyRef',
    ],
    [
      'an unreadable file, even if optional',
      { fileKeyRef: { volumeName: 'vol', path: 'none', key: 'F', optional: true } },
      "couldn't parse env file",
    ],
    [
      'a malformed file',
      { fileKeyRef: { volumeName: 'vol', path: 'bad', key: 'F' } },
      "couldn't parse env file",
    ],
    [
      'a missing key of a file',
      { fileKeyRef: { volumeName: 'vol', path: 'env', key: 'X' } },
      'environment variable key "X" not found in file "env"',
    ],
    [
      'an empty value of a file',
      { fileKeyRef: { volumeName: 'vol', path: 'env', key: 'E' } },
      'environment variable key "E" not found in file "env"',
    ],
    [
      'an unknown source',
      {},
      'env variable A of container c in pod "web_shop(u1)" has a valueFrom that names no known source',
    ],
  ];
  it.each(rows)('%s', (_rule, valueFrom, message) => {
    expect(() => compute({ env: [{ name: 'A', valueFrom }] })).toThrow(message);
  });

  it('enableServiceLinks must be set', () => {
    expect(() => compute({}, { enableServiceLinks: undefined })).toThrow(
      'nil pod.spec.enableServiceLinks encountered, cannot construct envvars',
    );
  });

  it('services must have been listed', () => {
    expect(() => compute({}, {}, { services: { kind: 'unread' } })).toThrow(
      'services have not yet been read at least once, cannot construct envvars',
    );
  });
});

describe('service variables', () => {
  it('are only those of the API server without service links', () => {
    const names = Object.keys(compute({}, { enableServiceLinks: false }, { services: inputs.services }));
    expect(names.length).toBeGreaterThan(0);
    expect(names.every((name) => name.startsWith('KUBERNETES_'))).toBe(true);
  });

  it('can be used by env, and lose to it', () => {
    const environment = compute(
      {
        env: [
          { name: 'URL', value: 'pg://$(DB_SERVICE_HOST)' },
          { name: 'DB_PORT', value: 'mine' },
        ],
      },
      { enableServiceLinks: true },
      { services: inputs.services },
    );
    expect(environment).toMatchObject({ URL: 'pg://10.96.0.2', DB_PORT: 'mine', DB_SERVICE_PORT: '5432' });
  });
});

describe('environmentNeeds', () => {
  it('names each object once, and none that a value overrides', () => {
    const needs = environmentNeeds({
      name: 'c',
      envFrom: [{ configMapRef: { name: 'a' } }, { secretRef: { name: 's' } }],
      env: [
        { name: 'A', valueFrom: { configMapKeyRef: { name: 'a', key: 'k' } } },
        { name: 'B', value: 'x', valueFrom: { secretKeyRef: { name: 'unused', key: 'k' } } },
        { name: 'C', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
        { name: 'D', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'l' } } },
      ],
    });
    expect(needs).toEqual({
      configMaps: new Set(['a']),
      secrets: new Set(['s']),
      files: [{ volumeName: 'v', path: 'p' }],
    });
  });
});
