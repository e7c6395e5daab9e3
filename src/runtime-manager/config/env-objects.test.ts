/** Environments from the objects of a store, from the read to the variables. */
import { describe, expect, it } from 'vitest';
import {
  type ConfigMap,
  type Container,
  ObjectNotFound,
  type ObjectStore,
  objectReaders,
  type Pod,
  type Secret,
} from '../../kube/index.js';
import { fetchEnvironmentInputs } from './env-inputs.js';
import { computeEnvironment } from './environment.js';

function storeOf(configMaps: Record<string, ConfigMap>, secrets: Record<string, Secret>): ObjectStore {
  const find = async <T>(
    kind: string,
    objects: Record<string, T>,
    namespace: string,
    name: string,
  ): Promise<T> => {
    if (name === 'unregistered') throw new Error(`object "${namespace}"/"${name}" not registered`);
    const found = objects[name];
    if (found === undefined) throw new ObjectNotFound(kind, name);
    return found;
  };
  return {
    registerPod: () => {},
    unregisterPod: () => {},
    configMap: (namespace, name) => find('configmap', configMaps, namespace, name),
    secret: (namespace, name) => find('secret', secrets, namespace, name),
  };
}

const store = storeOf(
  { settings: { metadata: {}, data: { color: 'red', '1.bad-name': 'kept' }, binaryData: { raw: 'AP8=' } } },
  { keys: { metadata: {}, data: { token: Buffer.from('p4ss').toString('base64') } } },
);

async function environment(container: Omit<Container, 'name'>): Promise<Record<string, unknown>> {
  const pod: Pod = {
    metadata: { uid: 'u', name: 'p', namespace: 'ns' },
    spec: { containers: [], enableServiceLinks: false },
  };
  const named = { name: 'c', ...container };
  const inputs = await fetchEnvironmentInputs(pod, named, objectReaders(store));
  const settings = { nodeIps: [], hostIps: [], nodeAllocatable: {} };
  return Object.fromEntries(computeEnvironment({ pod, container: named, podIps: [], settings, inputs }));
}

describe('environment from objects', () => {
  const rows: [rule: string, container: Omit<Container, 'name'>, expected: object][] = [
    [
      'all keys of a ConfigMap whatever their names, without binary data',
      { envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }] },
      { P_color: 'red', 'P_1.bad-name': 'kept' },
    ],
    ['all keys of a Secret', { envFrom: [{ secretRef: { name: 'keys' } }] }, { token: 'p4ss' }],
    [
      'an optional object that is missing',
      { envFrom: [{ configMapRef: { name: 'none', optional: true } }] },
      {},
    ],
    [
      'single keys',
      {
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
          { name: 'C', value: '$(A)-$(B)' },
        ],
      },
      { A: 'red', B: 'p4ss', C: 'red-p4ss' },
    ],
    [
      'optional keys that are missing',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } } }] },
      {},
    ],
  ];
  it.each(rows)('%s', async (_rule, container, expected) => {
    expect(await environment(container)).toEqual(expected);
  });

  const from = (valueFrom: NonNullable<NonNullable<Container['env']>[number]['valueFrom']>) => ({
    env: [{ name: 'A', valueFrom }],
  });
  const failures: [rule: string, container: Omit<Container, 'name'>, message: string][] = [
    ['no ConfigMap', { envFrom: [{ configMapRef: { name: 'none' } }] }, 'configmap "none" not found'],
    ['no Secret', from({ secretKeyRef: { name: 'none', key: 'k' } }), 'secret "none" not found'],
    [
      'no key of a ConfigMap',
      from({ configMapKeyRef: { name: 'settings', key: 'k' } }),
      "couldn't find key k in ConfigMap ns/settings",
    ],
    [
      'no key of a Secret',
      from({ secretKeyRef: { name: 'keys', key: 'k' } }),
      "couldn't find key k in Secret ns/keys",
    ],
    [
      'binary data is no key',
      from({ configMapKeyRef: { name: 'settings', key: 'raw' } }),
      "couldn't find key raw in ConfigMap ns/settings",
    ],
    [
      'an object that may not be read is not a missing one',
      from({ secretKeyRef: { name: 'unregistered', key: 'k', optional: true } }),
      'object "ns"/"unregistered" not registered',
    ],
  ];
  it.each(failures)('fails: %s', async (_rule, container, message) => {
    await expect(environment(container)).rejects.toThrow(new Error(message));
  });
});
