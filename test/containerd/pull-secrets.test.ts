/** Pulls from a real registry that wants credentials: of the machine, of a plugin, of a pod, and of nobody. */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod, PodStatus, Secret } from '../../src/kube/index.js';
import { buildBusyboxImage, startRegistry, type TestRegistry } from '../env/index.js';
import { eventually, forever, manifest, TestNode } from './agent.js';
import { apiPod, withKubelet } from './embedded.js';

const auth = { user: 'puller', password: 'let-me-in' };
let node: TestNode;
let registry: TestRegistry;
let images: string[] = [];
beforeAll(async () => {
  node = await TestNode.create({ config: { serializeImagePulls: false } });
  registry = await startRegistry({ auth, cleanups: node.cleanups });
  await node.containerd.useRegistry(registry.host, registry.url);
  const names = ['node', 'plugin', 'pod', 'shared', 'nobody'];
  images = await Promise.all(
    names.map(async (name) =>
      registry.push(await buildBusyboxImage({ name: `nodelet.test/${name}:1`, config: {} }, [])),
    ),
  );
  await mkdir(node.root, { recursive: true });
});
afterAll(() => node.stop());

const imageOf = (name: string): string => images.find((image) => image.includes(`/${name}:`)) ?? '';

const waiting = ({ containerStatuses = [] }: PodStatus): string | undefined =>
  containerStatuses[0]?.state?.waiting?.reason;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const dockerConfig = (): string =>
  JSON.stringify({ auths: { [registry.host]: { auth: base64(`${auth.user}:${auth.password}`) } } });

it('nobody: a pull without credentials is refused, and the reason is shown', async () => {
  await node.start();
  const image = imageOf('nobody');
  await node.apply('nobody.yaml', manifest('nobody', { image }));
  const status = await node.until('nobody', 'is refused', (one) => waiting(one) === 'ErrImagePull');
  expect(status.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
    /401 Unauthorized|authorization failed|no basic auth/,
  );
  await node.remove('nobody.yaml');
  await node.kill('SIGTERM');
});

it('node: credentials in the directory of the agent', async () => {
  await writeFile(path.join(node.root, 'config.json'), dockerConfig(), { mode: 0o600 });
  await node.start();
  await node.apply('node.yaml', manifest('node', { image: imageOf('node') }));
  await node.untilReady('node');
  const directory = path.join(node.root, 'image_manager/pulled');
  const records = await Promise.all(
    (await readdir(directory)).map((name) => readFile(path.join(directory, name), 'utf8')),
  );
  const record = records
    .map((text) => JSON.parse(text))
    .find(({ credentialMapping }) => imageOf('node').slice(0, -2) in credentialMapping);
  expect(record?.credentialMapping[imageOf('node').slice(0, -2)]).toEqual({ nodePodsAccessible: true });
  expect(await readdir(path.join(node.root, 'image_manager/pulling'))).toEqual([]);
  expect(records.join() + node.log).not.toContain(auth.password);
  await node.kill('SIGTERM');
  await rm(path.join(node.root, 'config.json'));
});

it('plugin: credentials of a program', async () => {
  const bin = path.join(node.dir, 'bin');
  await mkdir(bin);
  const answer = {
    kind: 'CredentialProviderResponse',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    cacheKeyType: 'Registry',
    auth: { [registry.host]: { username: auth.user, password: auth.password } },
  };
  await writeFile(
    path.join(bin, 'giver'),
    `#!/bin/sh\ncat > ${bin}/asked\necho '${JSON.stringify(answer)}'\n`,
  );
  await chmod(path.join(bin, 'giver'), 0o755);
  const config = path.join(node.dir, 'providers.yaml');
  const provider = {
    name: 'giver',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    matchImages: [registry.host],
    defaultCacheDuration: '1m',
  };
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1',
      kind: 'CredentialProviderConfig',
      providers: [provider],
    }),
  );
  await node.start('--image-credential-provider-config', config, '--image-credential-provider-bin-dir', bin);
  await node.apply('plugin.yaml', manifest('plugin', { image: imageOf('plugin') }));
  await node.untilReady('plugin');
  expect(JSON.parse(await readFile(path.join(bin, 'asked'), 'utf8'))).toEqual({
    kind: 'CredentialProviderRequest',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    image: imageOf('plugin').slice(0, -2),
  });
  expect(await node.metric('kubelet_credential_provider_plugin_duration_count{plugin_name="giver"}')).toBe(1);
  await node.kill('SIGTERM');
});

it('plugin that is not there: the agent does not start', async () => {
  const config = path.join(node.dir, 'providers.yaml');
  // It may have said that it is alive before it came so far.
  await node
    .start(
      '--image-credential-provider-config',
      config,
      '--image-credential-provider-bin-dir',
      '/nonexistent',
    )
    .catch(() => {});
  await eventually('it is told', async () =>
    node.log.includes('plugin binary executable /nonexistent/giver did not exist'),
  );
  await node.kill('SIGKILL');
});

const podOf = (name: string, image: string, ...secretNames: string[]): Pod =>
  apiPod(name, {
    containers: [{ name: 'app', image, command: forever }],
    imagePullSecrets: secretNames.map((secret) => ({ name: secret })),
  });

it('pod: pull secrets, and who may use what they brought', async () => {
  const secret = (name: string): Secret => ({
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64(dockerConfig()) },
  });
  // An agent without an API has no secrets.
  await withKubelet(node, [secret('mine'), secret('copy')], async ({ kubelet, set, status, untilReady }) => {
    const image = imageOf('pod');
    set(podOf('first', image, 'gone', 'mine'));
    await untilReady('first');
    const missing = (name: string): string[] =>
      kubelet.timeline
        .ofPod(`uid-${name}`)
        .filter(({ event }) => event?.reason === 'FailedToRetrieveImagePullSecret')
        .map(({ message }) => message);
    // The image is here now, and still not for everybody.
    set(podOf('first', image, 'gone', 'mine'), podOf('second', image, 'copy'), podOf('third', image, 'gone'));
    await untilReady('second');
    await eventually('the third is refused', async () => waiting(status('third')) === 'ErrImagePull');
    // A secret that is not there is told only where the pull failed.
    expect(missing('first')).toEqual([]);
    expect(new Set(missing('third'))).toEqual(
      new Set([
        'Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
      ]),
    );
    const pulls = kubelet.timeline.ofPod('uid-second').filter(({ event }) => event?.reason === 'Pulling');
    expect(pulls).toEqual([]);
    const all = ['first', 'second', 'third'].map((name) => kubelet.timeline.ofPod(`uid-${name}`));
    const told = JSON.stringify([all, kubelet.timeline.ofNode(), status('third')]) + kubelet.registry.text();
    for (const form of [auth.password, base64(`${auth.user}:${auth.password}`)]) {
      expect(told).not.toContain(form);
      expect(node.log).not.toContain(form);
    }
  });
});
