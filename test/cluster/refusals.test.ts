/** Who may not, is told so: identities and permissions on the node's own port, with real certificates, tokens and RBAC. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterPki, type IssuedPair } from '../env/control-plane-pki.js';
import { createTempDir } from '../env/index.js';
import { type Cluster, eventually, podManifest, startCluster } from './cluster.js';
import { type AskOptions, ask } from './kubelet-port.js';

let cluster: Cluster;
const isNodelet = (process.env.NODELET_TEST_KUBELET ?? '') === '';
/** Long enough to be seen, short enough to be waited for. */
const allowedSeconds = 5;

beforeAll(async () => {
  cluster = await startCluster({
    node: {
      config: {
        authorization: {
          mode: 'Webhook',
          webhook: { cacheAuthorizedTTL: `${allowedSeconds}s`, cacheUnauthorizedTTL: '1s' },
        },
      },
    },
  });
  await cluster.apply(podManifest('box'), serviceAccount('reader'), serviceAccount('stranger'));
  await cluster.untilReady('box');
});
afterAll(() => cluster?.stop());

const serviceAccount = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: 'default' },
});

const user = (commonName: string, lifetimeMs?: number): IssuedPair =>
  cluster.plane.pki.issue({
    subject: { commonName, organizations: ['dev'] },
    ...(lifetimeMs === undefined ? {} : { lifetimeMs }),
  });

const token = async (...args: string[]): Promise<string> =>
  (await cluster.kubectl('create', 'token', ...args)).trim();

const status = async (path: string, options: AskOptions): Promise<number> =>
  (await ask(cluster, path, options)).status;

/** Lets a user do something to a subresource of nodes. */
async function allow(name: string, subresource: string, verbs: readonly string[], more: object = {}) {
  const role = `${name}-${subresource}`;
  const subjects = name.includes(':')
    ? [{ kind: 'ServiceAccount', namespace: 'default', name: name.split(':').at(-1) }]
    : [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
  const metadata = { name: role.replaceAll(':', '-') };
  await cluster.apply(
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: [''], resources: [`nodes/${subresource}`], verbs, ...more }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata,
      subjects,
      roleRef: { kind: 'ClusterRole', name: metadata.name, apiGroup: 'rbac.authorization.k8s.io' },
    },
  );
}

// The first of them in a minute are written down one by one, so this comes first.
describe.runIf(isNodelet)('who is refused is written down', () => {
  const written = (what: RegExp): Promise<void> =>
    eventually(`a line with ${what}`, async () => what.test(cluster.node.log));

  it('without the credentials', async () => {
    await ask(cluster, '/pods?secret=1', { token: 'not-to-be-written' });
    await written(/GET \/pods answered 401/);
    expect(cluster.node.log).not.toContain('not-to-be-written');
  });

  it('with the name', async () => {
    await ask(cluster, '/pods', { certificate: user('mallory') });
    await written(/GET \/pods answered 403.*mallory/);
  });
});

describe('nobody in particular', () => {
  const unauthorized = { status: 401, body: 'Unauthorized' };

  it.each(['/pods', '/metrics', '/exec/default/box/app?command=id&output=1', '/healthz', '/logs/'])(
    'gets nothing of %s',
    async (path) => {
      const answer = await ask(cluster, path);
      expect(answer).toMatchObject(unauthorized);
      expect(answer.headers['www-authenticate']).toBeUndefined();
    },
  );

  it('learns only that what does not exist does not', async () => {
    expect(await ask(cluster, '/nothing')).toMatchObject({ status: 404, body: '404 page not found\n' });
  });

  it('is who shows a certificate of another authority', async () => {
    const { path } = await createTempDir('foreign', { cleanups: cluster.cleanups });
    const certificate = new ClusterPki(path).issue({
      subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
    });
    expect(await ask(cluster, '/pods', { certificate })).toMatchObject(unauthorized);
  });

  it('is who shows a certificate that has expired', async () => {
    expect(await ask(cluster, '/pods', { certificate: user('alice', -60_000) })).toMatchObject(unauthorized);
  });

  it.each([
    ['no token', 'nonsense'],
    ['a token that is none', 'a.b.c'],
    ['one that is not even one word', 'two words'],
  ])('is who shows %s', async (_, given) => {
    expect(await ask(cluster, '/pods', { token: given })).toMatchObject(unauthorized);
  });

  it('is who shows a token for somebody else', async () => {
    const given = await token('stranger', '--audience=elsewhere');
    expect(await ask(cluster, '/pods', { token: given })).toMatchObject(unauthorized);
  });
});

describe('a user without rights', () => {
  it.each([
    ['GET', '/pods', 'get', 'pods proxy'],
    ['GET', '/runningpods/', 'get', 'pods proxy'],
    ['GET', '/healthz', 'get', 'healthz proxy'],
    ['GET', '/configz', 'get', 'configz proxy'],
    ['GET', '/stats/summary', 'get', 'stats'],
    ['GET', '/metrics/resource', 'get', 'metrics'],
    ['GET', '/logs/', 'get', 'log'],
    ['POST', '/checkpoint/default/box/app', 'create', 'checkpoint'],
    ['POST', '/exec/default/box/app?command=id&output=1', 'create', 'proxy'],
    ['POST', '/run/default/box/app?cmd=id', 'create', 'proxy'],
    ['GET', '/containerLogs/default/box/app', 'get', 'proxy'],
    ['DELETE', '/metrics', 'delete', 'metrics'],
    ['OPTIONS', '/metrics', '', 'metrics'],
  ])('may not %s %s', async (method, path, verb, subresources) => {
    expect(await ask(cluster, path, { method, certificate: user('alice') })).toMatchObject({
      status: 403,
      body: `Forbidden (user=alice, verb=${verb}, resource=nodes, subresource(s)=[${subresources}])\n`,
    });
  });

  it('is told the same with a token', async () => {
    const body =
      'Forbidden (user=system:serviceaccount:default:stranger, verb=get, resource=nodes, subresource(s)=[metrics])\n';
    expect(await ask(cluster, '/metrics', { token: await token('stranger') })).toMatchObject({
      status: 403,
      body,
    });
  });
});

describe.concurrent('a user with some rights', () => {
  it('may what was granted, and nothing else', async () => {
    await allow('bob', 'metrics', ['get']);
    const certificate = user('bob');
    await eventually('bob may read metrics', async () => (await status('/metrics', { certificate })) === 200);
    expect(await status('/metrics/cadvisor', { certificate })).toBe(200);
    for (const path of ['/pods', '/stats/summary', '/configz', '/containerLogs/default/box/app']) {
      expect([path, await status(path, { certificate })]).toEqual([path, 403]);
    }
    const exec = '/exec/default/box/app?command=id&output=1';
    expect(await status(exec, { certificate, method: 'POST' })).toBe(403);
  });

  it('may through nodes/proxy what has no permission of its own', async () => {
    await allow('carol', 'proxy', ['get']);
    const certificate = user('carol');
    await eventually('carol may read pods', async () => (await status('/pods', { certificate })) === 200);
    expect(await ask(cluster, '/configz', { certificate })).toMatchObject({ status: 200 });
    expect(await status('/stats/summary', { certificate })).toBe(403);
    expect(await status('/run/default/box/app?cmd=id', { certificate, method: 'POST' })).toBe(403);
  });

  it('may nothing on this node when another one is meant', async () => {
    await allow('dave', 'metrics', ['get'], { resourceNames: ['another-node'] });
    await allow('dave', 'configz', ['get'], { resourceNames: [cluster.node.name] });
    const certificate = user('dave');
    await eventually('dave may read it', async () => (await status('/configz', { certificate })) === 200);
    expect(await status('/metrics', { certificate })).toBe(403);
  });

  it('is known by a token, until the account or the pod that it stands for is gone', async () => {
    await cluster.apply(podManifest('bearer'));
    await allow('sa:reader', 'metrics', ['get']);
    const ofAccount = { token: await token('reader') };
    await eventually('the token may', async () => (await status('/metrics', ofAccount)) === 200);
    await cluster.untilReady('bearer');
    const bound = ['--bound-object-kind=Pod', '--bound-object-name=bearer'];
    const ofPod = { token: await token('default', ...bound) };
    expect(await status('/metrics', ofPod)).toBe(403);
    await cluster.kubectl('delete', 'serviceaccount', 'reader');
    await cluster.delete('bearer');
    await eventually('the tokens are worth nothing', async () => {
      const both = [await status('/metrics', ofAccount), await status('/metrics', ofPod)];
      return both.every((each) => each === 401);
    });
  });

  it('loses them when they are taken away', async () => {
    await allow('erin', 'metrics', ['get']);
    const certificate = user('erin');
    await eventually('erin may', async () => (await status('/metrics', { certificate })) === 200);
    await cluster.kubectl('delete', 'clusterrolebinding', 'erin-metrics');
    await eventually('erin may not', async () => (await status('/metrics', { certificate })) === 403);
  });
});

describe('without the API server', () => {
  it('known answers hold for their time, and then nobody is let in', async () => {
    await allow('frank', 'metrics', ['get']);
    const certificate = user('frank');
    const given = { token: await token('stranger') };
    await eventually('frank may', async () => (await status('/metrics', { certificate })) === 200);
    // Two asks apart show that the answer is fresh enough for the third to find it.
    const askedMs = Date.now();
    await cluster.plane.server('kube-apiserver').kill();
    const cached = await status('/metrics', { certificate });
    if (Date.now() - askedMs < (allowedSeconds - 1) * 1000) expect(cached).toBe(200);
    await eventually('the answer has aged', async () => (await status('/metrics', { certificate })) === 500);
    expect(await ask(cluster, '/metrics', { certificate })).toMatchObject({
      status: 500,
      body: 'Authorization error (user=frank, verb=get, resource=nodes, subresource=metrics)',
    });
    await eventually('tokens are not known', async () => (await status('/metrics', given)) === 401);
    expect(await ask(cluster, '/pods')).toMatchObject({ status: 401 });
    await cluster.plane.server('kube-apiserver').start();
    await eventually('frank may again', async () => (await status('/metrics', { certificate })) === 200);
  });
});
