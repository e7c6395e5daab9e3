import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../async/index.js';
import { ObjectNotFound, type Pod, type Secret } from '../../../kube/index.js';
import { Timeline } from '../../../timeline/index.js';
import { ImageKeyring } from './image-keyring.js';
import { NodeCredentials, nodeCredentialFiles } from './node-credentials.js';
import { credentialHash } from './pull-secrets.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function secret(name: string, auths: Record<string, string>, more: Partial<Secret> = {}): Secret {
  const entries = Object.fromEntries(
    Object.entries(auths).map(([registry, pair]) => [registry, { auth: base64(pair) }]),
  );
  return {
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64(JSON.stringify({ auths: entries })) },
    ...more,
  };
}

const podWith = (...names: string[]): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
  spec: { containers: [], imagePullSecrets: names.map((name) => ({ name })) },
});

function keyringOf(secrets: readonly Secret[], node: Record<string, string> = {}, plugin: string[] = []) {
  const timeline = new Timeline();
  const keyring = new ImageKeyring({
    timeline,
    objects: {
      async secret(_, name) {
        const found = secrets.find(({ metadata }) => metadata.name === name);
        if (found === undefined) throw new ObjectNotFound('secret', name);
        return found;
      },
    },
    node: {
      read: async () =>
        new Map(
          Object.entries(node).map(([registry, pair]) => {
            const [username = '', password = ''] = pair.split(':');
            return [registry, { username, password }];
          }),
        ),
    },
    plugins: () => [{ lookup: async () => plugin.map((username) => ({ username, password: '' })) }],
  });
  return { keyring, timeline };
}

const users = async (keyring: ImageKeyring, pod: Pod, image: string): Promise<string[]> =>
  (await keyring.lookup(pod, image)).map(({ username }) => username);

describe('the credentials of a pull', () => {
  it('come from the pod, then the machine, then plugins', async () => {
    const { keyring } = keyringOf([secret('a', { 'a.io': 'pod:1' })], { 'a.io': 'node:1' }, ['plugin']);
    expect(await users(keyring, podWith('a'), 'a.io/x:1')).toEqual(['pod', 'node', 'plugin']);
  });

  it('from several secrets are ordered by registry, the longest first, then by the pod’s order', async () => {
    const { keyring } = keyringOf([
      secret('a', { 'a.io': 'first:1' }),
      secret('b', { 'a.io/team': 'long:1', 'a.io': 'second:1' }),
    ]);
    expect(await users(keyring, podWith('a', 'b'), 'a.io/team/x')).toEqual(['long', 'first', 'second']);
  });

  it('of the default registry apply to short names, in each keyring on its own', async () => {
    const { keyring } = keyringOf([secret('a', { 'https://index.docker.io/v1/': 'pod:1' })], {
      'docker.io': 'node:1',
    });
    expect(await users(keyring, podWith('a'), 'busybox')).toEqual(['pod', 'node']);
  });

  it('from a secret include their source, and only name and password besides', async () => {
    const { keyring } = keyringOf([secret('a', { 'a.io': 'pod:1' })]);
    const source = {
      uid: 'uid-a',
      namespace: 'shop',
      name: 'a',
      credentialHash: credentialHash({ username: 'pod', password: '1' }),
    };
    expect(await keyring.lookup(podWith('a'), 'a.io/x')).toEqual([
      { username: 'pod', password: '1', source },
    ]);
    expect(await keyring.podSecrets(podWith('a'), 'a.io/x')).toEqual([source]);
    expect(await keyring.podSecrets(podWith('a'), 'b.io/x')).toEqual([]);
  });

  it('may be in the older type of secret', async () => {
    const old = secret(
      'a',
      {},
      {
        type: 'kubernetes.io/dockercfg',
        data: { '.dockercfg': base64(JSON.stringify({ 'a.io': { username: 'old', password: 'p' } })) },
      },
    );
    expect(await users(keyringOf([old]).keyring, podWith('a'), 'a.io/x')).toEqual(['old']);
  });

  it('are not in secrets of other types', async () => {
    const { keyring } = keyringOf([secret('a', { 'a.io': 'pod:1' }, { type: 'Opaque' })]);
    expect(await users(keyring, podWith('a'), 'a.io/x')).toEqual([]);
  });

  it('from unreadable secrets are skipped without an event; entries without a name are ignored', async () => {
    const { keyring, timeline } = keyringOf([secret('b', { 'a.io': 'pod:1' })]);
    const pod = podWith('a', '', 'b', 'c');
    expect(await users(keyring, pod, 'a.io/x')).toEqual(['pod']);
    expect(await keyring.unreadSecrets(pod)).toEqual(['a', 'c']);
    expect(timeline.ofPod('u1').filter(({ event }) => event !== undefined)).toEqual([]);
  });

  it('from a malformed secret fail the lookup', async () => {
    const broken = secret('a', {}, { data: { '.dockerconfigjson': base64('{"auths":') } });
    await expect(keyringOf([broken]).keyring.lookup(podWith('a'), 'a.io/x')).rejects.toThrow(
      'image pull secret shop/a: not a JSON text',
    );
  });
});

describe('the identity of credentials', () => {
  it.each([
    ['name and password', { username: 'u', password: 'p' }, '{"username":"u","password":"p"}'],
    ['empty ones are left out', { username: '', password: 'p' }, '{"password":"p"}'],
    [
      'email counts',
      { username: 'u', password: 'p', email: 'e' },
      '{"username":"u","password":"p","email":"e"}',
    ],
    [
      'letters of HTML are escaped',
      { username: 'u', password: '<&>' },
      '{"username":"u","password":"\\u003c\\u0026\\u003e"}',
    ],
  ])('%s', async (_, auth, json) => {
    const { createHash } = await import('node:crypto');
    expect(credentialHash(auth)).toBe(createHash('sha256').update(json).digest('hex'));
  });
});

describe('the files of the machine', () => {
  it('are searched in this order', () => {
    expect(nodeCredentialFiles('/root-dir', '/cwd', '/home/me').map(({ path }) => path)).toEqual([
      '/root-dir/config.json',
      '/cwd/config.json',
      '/home/me/.docker/config.json',
      '/.docker/config.json',
      '/root-dir/.dockercfg',
      '/cwd/.dockercfg',
      '/home/me/.dockercfg',
      '/.dockercfg',
    ]);
  });

  it('the first valid one counts, and is reread after five minutes', async () => {
    const clock = new VirtualClock();
    const timeline = new Timeline();
    const files = new Map([
      ['/r/config.json', '{broken'],
      ['/h/.docker/config.json', '{"auths":{"a.io":{"username":"one","password":"p"}}}'],
      ['/r/.dockercfg', '{"a.io":{"username":"never","password":"p"}}'],
    ]);
    const node = new NodeCredentials({
      clock,
      timeline,
      rootDir: '/r',
      workingDir: '/w',
      homeDir: '/h',
      async read(path) {
        const text = files.get(path);
        if (text === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
        return text;
      },
    });
    const user = async () => (await node.read()).get('a.io')?.username;
    expect(await user()).toBe('one');
    expect(timeline.ofNode().map(({ message }) => message)).toEqual([
      'registry passwords in /r/config.json are not used',
    ]);
    files.set('/w/config.json', '{"auths":{"a.io":{"username":"two","password":"p"}}}');
    await clock.advance(299_999);
    expect(await user()).toBe('one');
    await clock.advance(1);
    expect(await user()).toBe('two');
  });
});
