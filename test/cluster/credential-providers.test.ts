/** Tokens of service accounts for a credential provider plugin, by a real API server; the images are in a registry that wants credentials. */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { buildBusyboxImage, CleanupStack, createTempDir, startRegistry } from '../env/index.js';
import { type Cluster, eventually, forever, podManifest, startCluster, waitingReason } from './cluster.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const audience = 'registry.example';
const auth = { user: 'puller', password: 'let-me-in' };
const cleanups = new CleanupStack();
let cluster: Cluster;
let dir: string;
let image: string;

beforeAll(async () => {
  const directory = await createTempDir('providers');
  cleanups.defer('directory', () => directory.remove());
  dir = directory.path;
  const registry = await startRegistry({ auth, cleanups });
  image = await registry.push(await buildBusyboxImage({ name: 'nodelet.test/tokens:1', config: {} }, []));
  const answer = {
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Image',
    auth: { [registry.host]: { username: auth.user, password: auth.password } },
  };
  const bin = path.join(dir, 'bin');
  await mkdir(bin);
  await writeFile(
    path.join(bin, 'giver'),
    `#!/bin/sh\ncat >> ${dir}/asked\necho >> ${dir}/asked\necho '${JSON.stringify(answer)}'\n`,
  );
  await chmod(path.join(bin, 'giver'), 0o755);
  const provider = {
    name: 'giver',
    apiVersion,
    matchImages: [registry.host],
    defaultCacheDuration: '10m',
    tokenAttributes: {
      serviceAccountTokenAudience: audience,
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: ['example.com/role'],
    },
  };
  const config = path.join(dir, 'providers.json');
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1',
      kind: 'CredentialProviderConfig',
      providers: [provider],
    }),
  );
  cluster = await startCluster({
    node: {
      flags: ['--image-credential-provider-config', config, '--image-credential-provider-bin-dir', bin],
    },
  });
  await cluster.node.containerd.useRegistry(registry.host, registry.url);
  await cluster.apply(
    ...[
      ['seller', { 'example.com/role': 'sales', 'example.com/other': 'x' }],
      ['plain', {}],
    ].map(([name, annotations]) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: 'default', annotations },
    })),
  );
});
afterAll(async () => {
  await cluster?.stop();
  await cleanups.run();
});

const create = (name: string, serviceAccountName: string): Promise<void> =>
  cluster.apply(
    podManifest(name, {
      serviceAccountName,
      automountServiceAccountToken: false,
      containers: [{ name: 'app', image, command: forever }],
    }),
  );

const asked = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(path.join(dir, 'asked'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

it('an account whose audience nobody allowed gets no token, and its pod no image', async () => {
  await create('web', 'seller');
  await cluster.untilPod('web', 'is refused', (pod) => /ErrImagePull/.test(waitingReason(pod) ?? ''));
  await eventually('the log tells why', async () => cluster.node.log.includes('failed to get a token of'));
  expect(cluster.node.log).toMatch(/not authorized to request tokens for audience .*registry\.example/);
  expect(await asked()).toEqual([]);
});

it('with a rule for the audience, the plugin gets a token bound to the pod', async () => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'registry-tokens' };
  await cluster.apply(
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'registry-tokens' },
      rules: [{ apiGroups: [''], resources: [audience], verbs: ['request-serviceaccounts-token-audience'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'registry-tokens' },
      roleRef,
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:nodes' }],
    },
  );
  const pod = await cluster.untilReady('web');
  const [request, ...more] = await asked();
  expect(more).toEqual([]);
  expect(request).toEqual({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: image.slice(0, image.lastIndexOf(':')),
    serviceAccountToken: expect.any(String),
    serviceAccountAnnotations: { 'example.com/role': 'sales' },
  });
  const token = String(request?.serviceAccountToken);
  const { status } = await cluster.api.create(resources.tokenReviews, {
    metadata: {},
    spec: { token, audiences: [audience] },
  });
  expect(status).toMatchObject({
    authenticated: true,
    audiences: [audience],
    user: {
      username: 'system:serviceaccount:default:seller',
      extra: { 'authentication.kubernetes.io/pod-uid': [pod.metadata.uid] },
    },
  });
  expect(cluster.node.log).not.toContain(token);
  expect(cluster.node.log).not.toContain(auth.password);
});

it('the image is for the account that pulled it, and for no other', async () => {
  const account = await cluster.api.get(resources.serviceAccounts, { namespace: 'default', name: 'seller' });
  const records = path.join(cluster.node.rootDir, 'image_manager/pulled');
  const texts = await Promise.all(
    (await readdir(records)).map((name) => readFile(path.join(records, name), 'utf8')),
  );
  const name = image.slice(0, image.lastIndexOf(':'));
  const record = texts
    .map((text) => JSON.parse(text))
    .find(({ credentialMapping }) => name in credentialMapping);
  expect(record?.credentialMapping[name]).toEqual({
    kubernetesServiceAccounts: [{ uid: account.metadata.uid, namespace: 'default', name: 'seller' }],
  });
  await create('again', 'seller');
  await cluster.untilReady('again');
  await cluster.untilEvent('again', 'Pulled', ({ message = '' }) => message.includes('already present'));
  await create('plain', 'plain');
  await cluster.untilPod('plain', 'is refused', (pod) => /ErrImagePull/.test(waitingReason(pod) ?? ''));
  // The response for the account was reused.
  expect(await asked()).toHaveLength(1);
});
