/** Whenever credentials fail, no error, event, record, metric or file reveals anything of them. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../async/index.js';
import { CriError, type CriRuntime, ImageStatusResponse, ListImagesResponse } from '../../../cri/index.js';
import { ObjectNotFound, type Pod, type Secret } from '../../../kube/index.js';
import { Registry } from '../../../metrics/index.js';
import { Timeline } from '../../../timeline/index.js';
import { createPluginMetrics } from '../../metrics.js';
import { testDurableFiles } from '../../test-durable-files.js';
import { ImageManager } from '../image-manager.js';
import { PullQueue, PullRate } from '../pull-queue.js';
import { PullRecords } from '../verification/index.js';
import { ImageKeyring } from './image-keyring.js';
import { loadCredentialPlugins } from './load-plugins.js';
import { NodeCredentials } from './node-credentials.js';

const hidden = 's3cr3t';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Every form in which it could leak. */
const forms = [hidden, base64(hidden), base64(`u:${hidden}`), base64(`u:${hidden}`).slice(4, 12)];

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodelet-untold-'));
});
afterEach(() => rm(dir, { recursive: true }));

interface Given {
  /** The text of the pod's pull secret. */
  readonly secret?: string;
  /** The text of the machine's docker config. */
  readonly node?: string;
  /** The plugin, a shell script. */
  readonly plugin?: string;
  /** Gives the plugin a token with the hidden text. */
  readonly token?: { readonly cacheType: 'ServiceAccount' | 'Token' };
  /** The plugin's arguments and variables. */
  readonly args?: readonly string[];
  /** The registry's response. */
  readonly pull?: () => Promise<{ imageRef: string }>;
  readonly policy?: 'IfNotPresent' | 'Always';
  readonly prepare?: () => Promise<unknown>;
}

/** Pulls for a pod as an agent would, and returns everything that anybody could read of it. */
async function told(given: Given): Promise<string> {
  const timeline = new Timeline();
  const registry = new Registry();
  const bin = join(dir, 'bin');
  await mkdir(bin);
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [
      {
        name: 'giver',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        matchImages: ['a.io'],
        defaultCacheDuration: '1m',
        args: given.args ?? [],
        env: [{ name: 'TOKEN', value: hidden }],
        ...(given.token === undefined
          ? {}
          : {
              tokenAttributes: {
                serviceAccountTokenAudience: 'a.io',
                requireServiceAccount: true,
                ...given.token,
              },
            }),
      },
    ],
  };
  const configPath = join(dir, 'providers.json');
  await writeFile(configPath, JSON.stringify(config));
  await writeFile(join(bin, 'giver'), given.plugin ?? '#!/bin/sh\nexit 1\n');
  await chmod(join(bin, 'giver'), 0o755);
  const plugins = await loadCredentialPlugins({
    configPath,
    binDir: bin,
    clock: systemClock,
    timeline,
    metrics: createPluginMetrics(registry),
    tokensEnabled: true,
    serviceAccounts: {
      serviceAccount: async () => ({ uid: 'uid-a', annotations: {} }),
      token: async () => hidden,
    },
  });
  const keyring = new ImageKeyring({
    timeline,
    objects: {
      secret: async (namespace, name): Promise<Secret> => {
        if (given.secret === undefined) throw new ObjectNotFound('secret', name);
        return {
          metadata: { name, namespace, uid: 'uid-s' },
          type: 'kubernetes.io/dockerconfigjson',
          data: { '.dockerconfigjson': base64(given.secret) },
        };
      },
    },
    node: new NodeCredentials({
      clock: systemClock,
      timeline,
      rootDir: dir,
      workingDir: '/nonexistent',
      homeDir: '/nonexistent',
      read: async (path) => {
        if (given.node !== undefined && path === join(dir, 'config.json')) return given.node;
        throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      },
    }),
    plugins: () => plugins,
  });
  const records = new PullRecords({
    rootDir: dir,
    store: testDurableFiles(systemClock),
    clock: systemClock,
    timeline,
    policy: 'AlwaysVerify',
    allowlist: [],
    podSecrets: (pod, image) => keyring.podSecrets(pod, image),
    podServiceAccount: (pod, image) => keyring.podServiceAccount(pod, image),
  });
  await records.start({ listImages: async () => ListImagesResponse.create({}) });
  await given.prepare?.();
  const cri: Pick<CriRuntime, 'imageStatus' | 'pullImage'> = {
    imageStatus: async () => ImageStatusResponse.create({ image: { id: 'sha256:1', size: 1 } }),
    pullImage: given.pull ?? (() => Promise.reject(new CriError('Unknown', '401 Unauthorized'))),
  };
  const manager = new ImageManager({
    cri,
    clock: systemClock,
    timeline,
    queue: new PullQueue({
      maxParallelPulls: 1,
      rate: new PullRate({ clock: systemClock, qps: 0, burst: 0 }),
    }),
    keyring,
    access: records,
    recorder: records,
  });
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
    spec: { containers: [], imagePullSecrets: [{ name: 'mine' }], serviceAccountName: 'robot' },
  };
  const container = { name: 'app', image: 'a.io/app:1', imagePullPolicy: given.policy ?? 'IfNotPresent' };
  const ensured = await manager
    .ensure({
      pod,
      container,
      sandboxConfig: {},
      fieldPath: undefined,
      runtimeHandler: '',
      signal: undefined,
    })
    .catch((error: unknown) => error);
  const files: string[] = [];
  for (const name of await readdir(join(dir, 'image_manager'), { recursive: true })) {
    files.push(name, await readFile(join(dir, 'image_manager', name), 'utf8').catch(() => ''));
  }
  return [
    // The whole chain of causes, as a crash would print it.
    inspect(ensured, { depth: 20, showHidden: true }),
    JSON.stringify(timeline.ofPod('u1')),
    JSON.stringify(timeline.ofNode()),
    registry.text(),
    ...files,
  ].join('\n');
}

const says = (value: object | string): string =>
  `#!/bin/sh\ncat > /dev/null\ncat <<'END'\n${typeof value === 'string' ? value : JSON.stringify(value)}\nEND\n`;
const answer = (more: object): object => ({
  kind: 'CredentialProviderResponse',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  cacheKeyType: 'Image',
  auth: { 'a.io': { username: 'u', password: hidden } },
  ...more,
});
const auths = (entry: unknown): string => JSON.stringify({ auths: { 'a.io': entry } });
const good = auths({ auth: base64(`u:${hidden}`) });

/** Puts a file in place of a directory, so that nothing can be written there. */
async function putFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { recursive: true, force: true });
  await writeFile(path, '');
}

describe('credentials are never revealed', () => {
  it.each<[string, Given, RegExp]>([
    ['of a secret that is not JSON', { secret: `{"auths": ${hidden}` }, /not a JSON text/],
    [
      'of a secret whose registries are a list',
      { secret: JSON.stringify({ auths: [hidden] }) },
      /not an object/,
    ],
    [
      'of a password that is not text',
      { secret: auths({ password: [hidden] }) },
      /password of registry a\.io/,
    ],
    ['of what is not base64', { secret: auths({ auth: `${hidden}!` }) }, /unable to parse auth field/],
    ['of what has no colon', { secret: auths({ auth: base64(hidden) }) }, /unable to parse auth field/],
    ['of those that a registry rejects', { secret: good }, /401 Unauthorized/],
    ['of a machine whose file is not JSON', { node: `{${hidden}` }, /registry passwords in .* are not used/],
    ['of a machine that a registry rejects', { node: good }, /401 Unauthorized/],
    ['of a plugin that prints no JSON', { plugin: says(hidden) }, /error decoding credential provider/],
    ['of a plugin that prints a text', { plugin: says(JSON.stringify(hidden)) }, /error decoding credential/],
    [
      'of a plugin that fails and complains',
      { plugin: `#!/bin/sh\necho ${hidden}; echo ${hidden} >&2; exit 3\n`, args: [hidden] },
      /exit status 3/,
    ],
    ['of a plugin that cannot run', { plugin: '#!/nonexistent/shell\n', args: [hidden] }, /ENOENT/],
    [
      'of a plugin that never stops talking',
      { plugin: `#!/bin/sh\nyes ${hidden} | head -c 3000000\n`, args: [hidden] },
      /more than 1048576 bytes of output/,
    ],
    ['of a response of another kind', { plugin: says(answer({ kind: hidden })) }, /unexpected kind/],
    ['of a response of another version', { plugin: says(answer({ apiVersion: hidden })) }, /did not match/],
    [
      'of a response with a wrong key',
      { plugin: says(answer({ cacheKeyType: hidden })) },
      /valid cacheKeyType/,
    ],
    [
      'of a response with a wrong time',
      { plugin: says(answer({ cacheDuration: hidden })) },
      /valid cacheDuration/,
    ],
    [
      'of a response that is not an object',
      { plugin: says(answer({ auth: hidden })) },
      /error decoding credential/,
    ],
    ['of a valid response that a registry rejects', { plugin: says(answer({})) }, /401 Unauthorized/],
    [
      'of an account, by a plugin that gives its token back',
      { plugin: says(answer({})), token: { cacheType: 'ServiceAccount' } },
      /returned the service account token as the password/,
    ],
    [
      'of an account, by a plugin that complains with its token',
      { plugin: '#!/bin/sh\ncat; cat >&2; exit 3\n', token: { cacheType: 'Token' } },
      /exit status 3/,
    ],
    [
      'of an account whose token a registry rejects',
      { plugin: says(answer({})), token: { cacheType: 'Token' } },
      /401 Unauthorized/,
    ],
    [
      'of an account whose token a registry accepts',
      {
        plugin: says(answer({})),
        token: { cacheType: 'Token' },
        policy: 'Always',
        pull: async () => ({ imageRef: 'sha256:1' }),
      },
      /kubernetesServiceAccounts.*robot/,
    ],
    [
      'of a pull that works',
      { secret: good, policy: 'Always', pull: async () => ({ imageRef: 'sha256:1' }) },
      /credentialHash/,
    ],
    [
      'of a pull that cannot be recorded',
      {
        secret: good,
        policy: 'Always',
        pull: async () => ({ imageRef: 'sha256:1' }),
        prepare: () => putFile(join(dir, 'image_manager/pulled')),
      },
      /could not be recorded/,
    ],
    [
      'of a pull that cannot be announced',
      { secret: good, prepare: () => putFile(join(dir, 'image_manager/pulling')) },
      /Failed to record image pull intent/,
    ],
  ])('%s', async (_, given, expected) => {
    const all = await told(given);
    expect(all).toMatch(expected);
    for (const form of forms) expect(all).not.toContain(form);
  });
});
