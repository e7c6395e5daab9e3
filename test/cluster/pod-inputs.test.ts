/** What a pod gets from the API beside its own spec: Services, ConfigMaps, Secrets, tokens, and facts about itself. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../src/kube/index.js';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  podManifest,
  startCluster,
  waitingReason,
} from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  // Volumes are looked at anew this often.
  const gates = ['ClusterTrustBundle', 'ClusterTrustBundleProjection'];
  cluster = await startCluster({
    plane: {
      apiServerArgs: [
        `--feature-gates=${gates.map((gate) => `${gate}=true`).join(',')}`,
        '--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true',
      ],
    },
    node: {
      config: { syncFrequency: '3s', featureGates: Object.fromEntries(gates.map((gate) => [gate, true])) },
    },
  });
});
afterAll(() => cluster?.stop());

const app = (fields: Partial<Container> = {}): Container => ({
  name: 'app',
  image: busybox,
  command: forever,
  ...fields,
});

async function start(
  name: string,
  fields: Partial<Container>,
  spec: Partial<PodSpec> = {},
  metadata = {},
): Promise<void> {
  await cluster.apply(podManifest(name, { ...spec, containers: [app(fields)] }, metadata));
  await cluster.untilReady(name);
}

const configMap = (name: string, data: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

const secret = (name: string, stringData: object): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  stringData,
});

describe('Services', () => {
  const service = (name: string, ports: readonly object[]): object => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { app: name }, ports },
  });

  it('are told in variables to pods that come after them', async () => {
    await start('early', {});
    await cluster.apply(
      service('cache-one', [
        { name: 'main', port: 6379 },
        { name: 'more', port: 53, protocol: 'UDP' },
      ]),
    );
    const found = await cluster.get<{ spec: { clusterIP: string } }>('service', 'cache-one');
    const { clusterIP } = found.spec;
    await start('later', {});
    const later = await cluster.environment('later');
    expect(later).toMatchObject({
      CACHE_ONE_SERVICE_HOST: clusterIP,
      CACHE_ONE_SERVICE_PORT: '6379',
      CACHE_ONE_SERVICE_PORT_MAIN: '6379',
      CACHE_ONE_SERVICE_PORT_MORE: '53',
      CACHE_ONE_PORT: `tcp://${clusterIP}:6379`,
      CACHE_ONE_PORT_6379_TCP: `tcp://${clusterIP}:6379`,
      CACHE_ONE_PORT_6379_TCP_PROTO: 'tcp',
      CACHE_ONE_PORT_6379_TCP_PORT: '6379',
      CACHE_ONE_PORT_6379_TCP_ADDR: clusterIP,
      CACHE_ONE_PORT_53_UDP: `udp://${clusterIP}:53`,
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
    });
    const early = await cluster.environment('early');
    expect(early.CACHE_ONE_SERVICE_HOST).toBeUndefined();
    expect(early.KUBERNETES_SERVICE_HOST).toBe('10.96.0.1');
  });

  it('are not told to pods that do not want links, but for the API itself', async () => {
    await cluster.apply(service('unwanted', [{ port: 80 }]));
    await start(
      'unlinked',
      { env: [{ name: 'API', value: 'at $(KUBERNETES_SERVICE_HOST)' }] },
      { enableServiceLinks: false },
    );
    const seen = await cluster.environment('unlinked');
    expect(Object.keys(seen).filter((name) => name.startsWith('UNWANTED'))).toEqual([]);
    expect(seen).toMatchObject({
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_PORT: 'tcp://10.96.0.1:443',
      API: 'at 10.96.0.1',
    });
  });
});

describe.concurrent('ConfigMaps and Secrets', () => {
  it('are variables and files, and a change shows up in files', async () => {
    await cluster.apply(
      configMap('settings', { color: 'red', shape: 'round' }),
      secret('login', { user: 'me', password: 'first' }),
    );
    await start(
      'reads',
      {
        env: [
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
          { name: 'NONE', valueFrom: { secretKeyRef: { name: 'login', key: 'none', optional: true } } },
        ],
        envFrom: [
          { prefix: 'S_', configMapRef: { name: 'settings' } },
          { secretRef: { name: 'absent', optional: true } },
        ],
        volumeMounts: [
          { name: 'settings', mountPath: '/settings' },
          { name: 'login', mountPath: '/login' },
          { name: 'settings', mountPath: '/one', subPath: 'color' },
        ],
      },
      {
        volumes: [
          { name: 'settings', configMap: { name: 'settings' } },
          {
            name: 'login',
            secret: {
              secretName: 'login',
              defaultMode: 0o400,
              items: [{ key: 'password', path: 'deep/word' }],
            },
          },
        ],
      },
    );
    const seen = await cluster.environment('reads');
    expect(seen).toMatchObject({ COLOR: 'red', PASSWORD: 'first', S_color: 'red', S_shape: 'round' });
    expect(seen.NONE).toBeUndefined();
    const files = '/settings/color /settings/shape /login/deep/word /one';
    const read = (): Promise<string> =>
      cluster.exec('reads', 'sh', '-c', `tail -n +1 ${files}; stat -Lc %a /login/deep/word`);
    expect(await read()).toMatch(/red[\s\S]*round[\s\S]*first[\s\S]*red[\s\S]*400/);
    await cluster.apply(
      configMap('settings', { color: 'blue', shape: 'round' }),
      secret('login', { user: 'me', password: 'second' }),
    );
    await eventually('the change shows up', async () =>
      /blue[\s\S]*round[\s\S]*second[\s\S]*red/.test(await read()),
    );
  });

  it('are waited for when a container needs one that is missing', async () => {
    const from = { configMapRef: { name: 'comes-later' } };
    await cluster.apply(podManifest('waits', { containers: [app({ envFrom: [from] })] }));
    const waiting = await cluster.untilPod(
      'waits',
      'waits',
      (pod) => waitingReason(pod) === 'CreateContainerConfigError',
    );
    expect(container(waiting).state?.waiting?.message).toBe('configmap "comes-later" not found');
    expect(waiting.status?.phase).toBe('Pending');
    const { type, message } = await cluster.untilEvent('waits', 'Failed');
    expect([type, message]).toEqual(['Warning', 'Error: configmap "comes-later" not found']);
    await cluster.apply(configMap('comes-later', { late: 'yes' }));
    await cluster.untilReady('waits');
    expect(await cluster.environment('waits')).toMatchObject({ late: 'yes' });
  });

  it('are waited for when a volume needs one that is missing', async () => {
    const volumes = [{ name: 'key', secret: { secretName: 'made-later' } }];
    const volumeMounts = [{ name: 'key', mountPath: '/key' }];
    await cluster.apply(podManifest('unmounted', { volumes, containers: [app({ volumeMounts })] }));
    const { message } = await cluster.untilEvent('unmounted', 'FailedMount');
    expect(message).toBe('MountVolume.SetUp failed for volume "key" : secret "made-later" not found');
    await cluster.untilPod('unmounted', 'waits', (pod) => waitingReason(pod) === 'ContainerCreating');
    await cluster.apply(secret('made-later', { it: 'works' }));
    await cluster.untilReady('unmounted');
    expect(await cluster.exec('unmounted', 'cat', '/key/it')).toBe('works');
  });
});

it('trust bundles of the cluster are in a projected volume, and follow it', async () => {
  const authority = await readFile(cluster.plane.pki.path('ca.crt'), 'utf8');
  const bundle = (name: string, trustBundle: string): object => ({
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'ClusterTrustBundle',
    metadata: { name },
    spec: { trustBundle },
  });
  await cluster.apply(bundle('roots', authority));
  const volumes = [
    {
      name: 'trust',
      projected: {
        sources: [
          { clusterTrustBundle: { name: 'roots', path: 'roots.pem' } },
          { clusterTrustBundle: { name: 'none', path: 'none.pem', optional: true } },
        ],
      },
    },
  ];
  await start('trusting', { volumeMounts: [{ name: 'trust', mountPath: '/trust' }] }, { volumes });
  expect((await cluster.exec('trusting', 'cat', '/trust/roots.pem')).trim()).toBe(authority.trim());
  expect(await cluster.exec('trusting', 'cat', '/trust/none.pem')).toBe('');
  await cluster.apply(bundle('none', authority));
  await eventually(
    'the new bundle is there',
    async () => (await cluster.exec('trusting', 'cat', '/trust/none.pem')).trim() === authority.trim(),
  );
});
