/** Plugins that are asked with a token of the pod's service account: who is asked for, what is told, what is reused. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../../async/index.js';
import type { Pod } from '../../../kube/index.js';
import { Registry } from '../../../metrics/index.js';
import { Timeline } from '../../../timeline/index.js';
import type { PodServiceAccounts } from '../../contracts.js';
import { createPluginMetrics } from '../../metrics.js';
import { loadCredentialPlugins } from './load-plugins.js';
import { CredentialPlugin } from './plugin.js';
import type { CredentialProvider } from './plugin-config.js';
import { cacheIdentity, requestKey, selectAnnotations } from './plugin-identity.js';
import type { TokenAttributes } from './token-attributes.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const image = 'x.a.io/app';
const attributes: TokenAttributes = {
  audience: 'registry.example',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredAnnotationKeys: ['a.io/role'],
  optionalAnnotationKeys: ['a.io/id'],
};
const provider = (more: Partial<TokenAttributes> = {}): CredentialProvider => ({
  name: 'ecr',
  apiVersion,
  matchImages: ['*.a.io'],
  defaultCacheDurationMs: 60_000,
  args: [],
  env: [],
  tokenAttributes: { ...attributes, ...more },
});

const podOf = (name: string, serviceAccountName = 'seller'): Pod => ({
  metadata: { name, namespace: 'shop', uid: `uid-${name}` },
  spec: { containers: [], ...(serviceAccountName === '' ? {} : { serviceAccountName }) },
});

interface Given {
  readonly attributes?: Partial<TokenAttributes>;
  readonly annotations?: Record<string, string>;
  readonly uid?: string;
  readonly accounts?: Partial<PodServiceAccounts>;
  readonly reply?: object;
  readonly password?: (token: string) => string;
}

function scene(given: Given = {}) {
  const state = {
    uid: given.uid ?? 'sa-1',
    annotations: given.annotations ?? { 'a.io/role': 'r', other: 'o' },
  };
  const inputs: Record<string, unknown>[] = [];
  const tokenRequests: object[] = [];
  const timeline = new Timeline();
  const registry = new Registry();
  const clock = new VirtualClock();
  const plugin = new CredentialPlugin(provider(given.attributes), {
    clock,
    timeline,
    binDir: '/bin/plugins',
    metrics: createPluginMetrics(registry),
    serviceAccounts: {
      serviceAccount: async () => state,
      token: async ({ pod, signal: _, ...rest }) => {
        tokenRequests.push({ pod: pod.metadata.name, ...rest });
        return `token-of-${pod.metadata.name}`;
      },
      ...given.accounts,
    },
    run: async (_, { input }) => {
      const request = JSON.parse(input) as Record<string, unknown>;
      inputs.push(request);
      const { password = () => 'p' } = given;
      return JSON.stringify({
        kind: 'CredentialProviderResponse',
        apiVersion,
        cacheKeyType: 'Image',
        auth: { '*.a.io': { username: 'u', password: password(String(request.serviceAccountToken)) } },
        ...given.reply,
      });
    },
  });
  return { plugin, inputs, tokenRequests, timeline, registry, clock, state };
}

describe('a plugin with tokens', () => {
  it('is given the token and the annotations it names, and its credentials are of the account', async () => {
    const { plugin, inputs, tokenRequests } = scene({
      annotations: { 'a.io/role': 'r', 'a.io/id': '7', other: 'o' },
    });
    expect(await plugin.lookup(podOf('web'), image)).toEqual([
      { username: 'u', password: 'p', serviceAccount: { uid: 'sa-1', namespace: 'shop', name: 'seller' } },
    ]);
    expect(inputs).toEqual([
      {
        kind: 'CredentialProviderRequest',
        apiVersion,
        image,
        serviceAccountToken: 'token-of-web',
        serviceAccountAnnotations: { 'a.io/role': 'r', 'a.io/id': '7' },
      },
    ]);
    expect(tokenRequests).toEqual([{ pod: 'web', serviceAccountUid: 'sa-1', audience: 'registry.example' }]);
  });

  it('is asked without a token for a pod without an account, where none is required', async () => {
    const { plugin, inputs } = scene({
      attributes: { requireServiceAccount: false, requiredAnnotationKeys: [] },
    });
    expect(await plugin.lookup(podOf('static', ''), image)).toEqual([{ username: 'u', password: 'p' }]);
    expect(inputs).toEqual([{ kind: 'CredentialProviderRequest', apiVersion, image }]);
  });

  it.each<[string, Given, Pod, string]>([
    ['without an account', {}, podOf('web', ''), 'the pod has no service account'],
    [
      'whose account lacks a required annotation',
      { annotations: { 'a.io/id': '7' } },
      podOf('web'),
      'service account shop/seller: required annotation a.io/role not found',
    ],
  ])('is not asked for a pod %s, and nobody is alarmed', async (_, given, pod, reason) => {
    const { plugin, inputs, tokenRequests, timeline, registry } = scene(given);
    expect(await plugin.lookup(pod, image)).toEqual([]);
    expect([inputs, tokenRequests]).toEqual([[], []]);
    expect(timeline.ofPod('uid-web')).toMatchObject([
      { level: 'debug', error: expect.stringContaining(reason) },
    ]);
    expect(registry.text()).not.toContain('plugin_errors_total{');
  });

  it.each<[string, Given['accounts'], string]>([
    [
      'no such account',
      { serviceAccount: () => Promise.reject(new Error('serviceaccounts "seller" not found')) },
      'failed to get service account shop/seller: serviceaccounts "seller" not found',
    ],
    [
      'no token',
      { token: () => Promise.reject(new Error('audience not allowed')) },
      'failed to get a token of service account shop/seller: audience not allowed',
    ],
  ])('that cannot be asked (%s) gives nothing, and the pod tells why', async (_, accounts, reason) => {
    const { plugin, inputs, timeline } = scene({ accounts });
    expect(await plugin.lookup(podOf('web'), image)).toEqual([]);
    expect(inputs).toEqual([]);
    expect(timeline.ofPod('uid-web')).toMatchObject([
      { level: 'error', error: expect.stringContaining(reason) },
    ]);
  });

  it('gives nothing on a node without an API', async () => {
    const timeline = new Timeline();
    const plugin = new CredentialPlugin(provider(), {
      clock: new VirtualClock(),
      timeline,
      binDir: '/bin/plugins',
      metrics: createPluginMetrics(new Registry()),
      run: () => Promise.reject(new Error('asked')),
    });
    expect(await plugin.lookup(podOf('web'), image)).toEqual([]);
    expect(timeline.ofPod('uid-web')[0]?.error).toContain('this node has no API server');
  });

  it('that is cancelled while the API is asked fails as cancelled', async () => {
    const stop = new AbortController();
    const { plugin } = scene({
      accounts: {
        serviceAccount: () => {
          stop.abort();
          return Promise.reject(new Error('aborted'));
        },
      },
    });
    await expect(plugin.lookup(podOf('web'), image, stop.signal)).rejects.toThrow('context canceled');
  });
});

describe('what a plugin answered for one pod is used', () => {
  it.each<[string, Given, Pod, string, number]>([
    ['for another pod of the account', {}, podOf('api'), image, 1],
    ['not for another account', {}, podOf('api', 'buyer'), image, 2],
    ['not for another image', {}, podOf('web'), 'x.a.io/other', 2],
    [
      'for all images of the registry',
      { reply: { cacheKeyType: 'Registry' } },
      podOf('web'),
      'x.a.io/other',
      1,
    ],
    ['for everything', { reply: { cacheKeyType: 'Global' } }, podOf('web'), 'y.a.io/other', 1],
    [
      'globally, yet not for another account',
      { reply: { cacheKeyType: 'Global' } },
      podOf('web', 'buyer'),
      image,
      2,
    ],
    ['not for another token, if those count', { attributes: { cacheType: 'Token' } }, podOf('api'), image, 2],
    ['for the same token', { attributes: { cacheType: 'Token' } }, podOf('web'), image, 1],
    ['not if it said so', { reply: { cacheDuration: '0s' } }, podOf('web'), image, 2],
  ])('%s', async (_, given, pod, other, runs) => {
    const { plugin, inputs } = scene(given);
    const account = (name: string) => ({ uid: 'sa-1', namespace: 'shop', name });
    await plugin.lookup(podOf('web'), image);
    expect(await plugin.lookup(pod, other)).toMatchObject([
      { serviceAccount: account(pod.spec.serviceAccountName ?? '') },
    ]);
    expect(inputs).toHaveLength(runs);
  });

  it('no longer when the account was made anew, or its annotations have changed', async () => {
    const { plugin, inputs, state } = scene();
    await plugin.lookup(podOf('web'), image);
    state.uid = 'sa-2';
    expect(await plugin.lookup(podOf('web'), image)).toMatchObject([{ serviceAccount: { uid: 'sa-2' } }]);
    state.annotations = { 'a.io/role': 'other' };
    await plugin.lookup(podOf('web'), image);
    expect(inputs).toHaveLength(3);
    state.annotations = { ...state.annotations, unnamed: 'x' };
    await plugin.lookup(podOf('web'), image);
    expect(inputs).toHaveLength(3);
  });

  it('not for pods without an account, nor theirs for it', async () => {
    const open = { requireServiceAccount: false, requiredAnnotationKeys: [] };
    const { plugin, inputs } = scene({ attributes: open, reply: { cacheKeyType: 'Global' } });
    await plugin.lookup(podOf('static', ''), image);
    await plugin.lookup(podOf('web'), image);
    await plugin.lookup(podOf('static', ''), image);
    await plugin.lookup(podOf('web'), image);
    expect(inputs).toHaveLength(2);
  });

  it('at the same time by requests of the same token only', async () => {
    const { plugin, inputs } = scene({ reply: { cacheDuration: '0s' } });
    await Promise.all(['web', 'web', 'api'].map((name) => plugin.lookup(podOf(name), image)));
    expect(inputs).toHaveLength(2);
  });
});

describe('a token as the password', () => {
  it('is refused where responses are for an account', async () => {
    const { plugin, timeline, registry } = scene({ password: (token) => token });
    expect(await plugin.lookup(podOf('web'), image)).toEqual([]);
    const told = timeline.ofPod('uid-web');
    expect(told[0]?.error).toContain(
      `returned the service account token as the password for image "${image}", which is not allowed when service account cache type is not set to 'Token'`,
    );
    expect(JSON.stringify(told)).not.toContain('token-of-web');
    expect(registry.text()).toContain('plugin_errors_total{plugin_name="ecr"} 1');
  });

  it('is accepted where they are for a token', async () => {
    const { plugin } = scene({ attributes: { cacheType: 'Token' }, password: (token) => token });
    expect(await plugin.lookup(podOf('web'), image)).toMatchObject([{ password: 'token-of-web' }]);
  });
});

describe('keys', () => {
  const asked = {
    account: { uid: 'u', namespace: 'n', name: 's' },
    annotations: { b: '2', a: '1' },
    token: 's3cr3t',
  };

  it('hold no token', () => {
    for (const key of [
      cacheIdentity('Token', asked),
      cacheIdentity('ServiceAccount', asked),
      requestKey('a.io/x', asked),
    ])
      expect(key).not.toContain('s3cr3t');
  });

  it('do not depend on the order of annotations', () => {
    const turned = { ...asked, annotations: { a: '1', b: '2' } };
    expect(cacheIdentity('ServiceAccount', turned)).toBe(cacheIdentity('ServiceAccount', asked));
    expect(requestKey('a.io/x', turned)).toBe(requestKey('a.io/x', asked));
  });

  it('annotations named like what every object has are not there', () => {
    const keys = { ...attributes, requiredAnnotationKeys: [], optionalAnnotationKeys: ['constructor'] };
    expect(selectAnnotations(keys, {})).toEqual({ kind: 'selected', annotations: {} });
    expect(selectAnnotations({ ...keys, requiredAnnotationKeys: ['constructor'] }, {})).toEqual({
      kind: 'missing',
      key: 'constructor',
    });
  });
});

describe('a program', () => {
  const dirs: string[] = [];
  afterEach(async () => {
    for (const dir of dirs.splice(0)) await rm(dir, { recursive: true });
  });

  it('gets the token on stdin, and nowhere else', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'nodelet-plugins-'));
    dirs.push(dir);
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1',
      kind: 'CredentialProviderConfig',
      providers: [
        {
          name: 'ecr',
          apiVersion,
          matchImages: ['*.a.io'],
          defaultCacheDuration: '10m',
          args: ['get'],
          tokenAttributes: {
            serviceAccountTokenAudience: 'registry.example',
            cacheType: 'Token',
            requireServiceAccount: true,
            requiredServiceAccountAnnotationKeys: ['a.io/role'],
          },
        },
      ],
    };
    await writeFile(join(dir, 'config.json'), JSON.stringify(config));
    const answer = `{"kind":"CredentialProviderResponse","apiVersion":"${apiVersion}","cacheKeyType":"Image","auth":{"x.a.io":{"username":"u","password":"p"}}}`;
    const script = `#!/bin/sh
dir=$(dirname "$0")
printf "%s\\n" "$@" > "$dir/words"
env > "$dir/env"
cat > "$dir/input"
echo '${answer}'
`;
    await writeFile(join(dir, 'ecr'), script);
    await chmod(join(dir, 'ecr'), 0o755);
    const [plugin] = await loadCredentialPlugins({
      configPath: join(dir, 'config.json'),
      binDir: dir,
      clock: systemClock,
      timeline: new Timeline(),
      metrics: createPluginMetrics(new Registry()),
      tokensEnabled: true,
      serviceAccounts: {
        serviceAccount: async () => ({ uid: 'sa-1', annotations: { 'a.io/role': 'r' } }),
        token: async () => 's3cr3t',
      },
    });
    expect(await plugin?.lookup(podOf('web'), image)).toMatchObject([{ username: 'u', password: 'p' }]);
    const written = (file: string): Promise<string> => readFile(join(dir, file), 'utf8');
    expect(JSON.parse(await written('input'))).toEqual({
      kind: 'CredentialProviderRequest',
      apiVersion,
      image,
      serviceAccountToken: 's3cr3t',
      serviceAccountAnnotations: { 'a.io/role': 'r' },
    });
    expect(await written('words')).toBe('get\n');
    expect(await written('env')).not.toContain('s3cr3t');
  });
});
