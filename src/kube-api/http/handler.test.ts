import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { resources } from '../../kube-client/resources.js';
import { postedKinds } from '../posted/posted-kinds.js';
import { PostedObjects } from '../posted/responder.js';
import { ServedApi } from '../server.js';
import { tablePrinter } from '../tables/printer.js';
import { Discovery } from './discovery.js';
import { ApiHandler } from './handler.js';
import { postedResponses } from './posted-responses.js';
import { scaleResponses } from './scale.js';
import { serverFacts } from './server-facts.js';

let api: ServedApi;
let handler: ApiHandler;

beforeEach(async () => {
  api = new ServedApi({ clock: new VirtualClock() });
  await api.create(resources.namespaces, { metadata: { name: 'default' } }, undefined);
  await api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'default');
  const posted = new PostedObjects(api, {
    issue: () => ({ token: 'secret', expiresMs: 0 }),
    verify: () => undefined,
  });
  handler = new ApiHandler({
    api,
    discovery: new Discovery({ kinds: api.kinds, posted: postedKinds, serverAddress: '127.0.0.1:6443' }),
    printer: tablePrinter,
    others: [
      serverFacts({ kubernetesVersion: 'v1.37.1', platform: 'linux/amd64' }),
      postedResponses(api, posted),
      scaleResponses(api),
    ],
  });
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of any response.
  readonly body: any;
}

async function ask(
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const [path = '', query = ''] = target.split('?');
  const response = await handler.handle({
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': 'application/json', ...headers },
    user: { name: 'owner', groups: ['system:masters'] },
    ...(body === undefined ? {} : { readBody: () => Promise.resolve(Buffer.from(JSON.stringify(body))) }),
  });
  if (typeof response.body !== 'string') throw new Error('expected a whole response');
  return { status: response.status, body: JSON.parse(response.body) };
}

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'busybox' }] },
});
const pods = '/api/v1/namespaces/default/pods';

describe('objects', () => {
  it('a posted pod gets an identity and its defaults, and can be read', async () => {
    const created = await ask('POST', pods, pod('web'));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      kind: 'Pod',
      metadata: {
        name: 'web',
        namespace: 'default',
        generation: 1,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
      spec: { restartPolicy: 'Always' },
      status: { phase: 'Pending' },
    });
    expect((await ask('GET', `${pods}/web`)).body.metadata.uid).toBe(created.body.metadata.uid);
  });

  it.each([
    ['a second one of the same name', 409, 'AlreadyExists', pods, pod('web')],
    ['one in a namespace that is not there', 404, 'NotFound', '/api/v1/namespaces/other/pods', pod('x')],
    [
      'one that names another namespace',
      400,
      'BadRequest',
      pods,
      { ...pod('x'), metadata: { name: 'x', namespace: 'other' } },
    ],
    ['one without containers', 422, 'Invalid', pods, { ...pod('x'), spec: { containers: [] } }],
    ['one of another kind', 400, 'BadRequest', pods, { ...pod('x'), kind: 'Secret' }],
    ['no object', 400, 'BadRequest', pods, 7],
    [
      'a kind that is not served',
      404,
      'NotFound',
      '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
      {},
    ],
  ])('%s is refused with %d %s', async (_what, code, reason, path, body) => {
    await ask('POST', pods, pod('web'));
    expect(await ask('POST', path, body)).toMatchObject({
      status: code,
      body: { kind: 'Status', code, reason },
    });
  });

  it('a dry run checks and stores nothing', async () => {
    expect((await ask('POST', `${pods}?dryRun=All`, pod('web'))).status).toBe(201);
    expect((await ask('GET', `${pods}/web`)).status).toBe(404);
  });

  it('patches change what they name', async () => {
    await ask('POST', pods, pod('web'));
    const merge = { 'content-type': 'application/merge-patch+json' };
    const labelled = await ask('PATCH', `${pods}/web`, { metadata: { labels: { a: 'b' } } }, merge);
    expect(labelled.body.metadata).toMatchObject({ labels: { a: 'b' }, generation: 1 });
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const image = { spec: { containers: [{ name: 'app', image: 'busybox:2' }] } };
    expect((await ask('PATCH', `${pods}/web`, image, strategic)).body).toMatchObject({
      metadata: { generation: 2 },
      spec: { containers: [{ name: 'app', image: 'busybox:2' }] },
    });
    expect((await ask('PATCH', `${pods}/web`, { spec: { hostNetwork: true } }, merge)).status).toBe(422);
  });

  it('lists in pages of one version, whatever changes meanwhile', async () => {
    for (const name of ['a', 'b', 'c']) await ask('POST', pods, pod(name));
    const first = await ask('GET', `${pods}?limit=2`);
    expect(first.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'a',
      'b',
    ]);
    await ask('DELETE', `${pods}/c?gracePeriodSeconds=0`);
    await ask('POST', pods, pod('bb'));
    const rest = await ask('GET', `${pods}?limit=2&continue=${first.body.metadata.continue}`);
    expect(rest.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'c',
    ]);
  });

  it('gives rows to clients that ask for a table', async () => {
    await ask('POST', pods, pod('web'));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { body } = await ask('GET', pods, undefined, { accept });
    expect(body).toMatchObject({ kind: 'Table', rows: [{ cells: expect.arrayContaining(['web']) }] });
  });
});

describe('what the API has', () => {
  it.each(['/api', '/apis', '/api/v1', '/apis/apps/v1', '/apis/apps', '/version'])('%s', async (path) => {
    expect((await ask('GET', path)).status).toBe(200);
  });

  it('has all resources in one document for clients that can read it', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { body } = await ask('GET', '/apis', undefined, { accept });
    const [apps] = body.items.filter(
      ({ metadata }: { metadata: { name: string } }) => metadata.name === 'apps',
    );
    expect(apps.versions[0].resources.map(({ resource }: { resource: string }) => resource)).toContain(
      'deployments',
    );
  });
});

it('a namespace stays, and takes nothing new, until its finalizers are gone', async () => {
  await ask('POST', '/api/v1/namespaces', { metadata: { name: 'mine' } });
  expect((await ask('DELETE', '/api/v1/namespaces/mine')).body.metadata.deletionTimestamp).toBeDefined();
  expect((await ask('POST', '/api/v1/namespaces/mine/pods', pod('x'))).status).toBe(403);
  const { body } = await ask('GET', '/api/v1/namespaces/mine');
  await ask('PUT', '/api/v1/namespaces/mine/finalize', { ...body, spec: {} });
  expect((await ask('GET', '/api/v1/namespaces/mine')).status).toBe(404);
});

it('a deployment is scaled through its subresource', async () => {
  const path = '/apis/apps/v1/namespaces/default/deployments';
  await ask('POST', path, {
    metadata: { name: 'web' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: pod('web').spec },
    },
  });
  const merge = { 'content-type': 'application/merge-patch+json' };
  expect((await ask('PATCH', `${path}/web/scale`, { spec: { replicas: 3 } }, merge)).body).toMatchObject({
    kind: 'Scale',
    spec: { replicas: 3 },
    status: { selector: 'app=web' },
  });
  expect((await ask('GET', `${path}/web`)).body.spec.replicas).toBe(3);
  expect((await ask('PUT', `${path}/web/scale`, { spec: { replicas: -1 } })).status).toBe(422);
});

it('asks who one is, and what one may do', async () => {
  const me = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
  expect(me.body.status.userInfo.username).toBe('owner');
  const may = await ask('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    spec: { resourceAttributes: { verb: 'delete', resource: 'pods' } },
  });
  expect(may.body.status.allowed).toBe(true);
});

it('a deletion that is only tried, as its body says, deletes nothing', async () => {
  await ask('POST', pods, pod('web'));
  expect((await ask('DELETE', `${pods}/web`, { dryRun: ['All'], gracePeriodSeconds: 0 })).status).toBe(200);
  expect((await ask('DELETE', pods, { dryRun: ['All'] })).status).toBe(200);
  const eviction = { metadata: { name: 'web' }, deleteOptions: { dryRun: ['All'] } };
  expect((await ask('POST', `${pods}/web/eviction`, eviction)).status).toBe(201);
  expect((await ask('GET', `${pods}/web`)).body.metadata.deletionTimestamp).toBeUndefined();
  expect((await ask('DELETE', `${pods}/web`, { dryRun: ['Some'] })).status).toBe(400);
});

it.each(['(', ',(', 'app=a,(x', 'a in (b', ')'])(
  'a selector that cannot be read selects nothing: %s',
  async (selector) => {
    await ask('POST', pods, pod('web'));
    expect((await ask('DELETE', `${pods}?labelSelector=${encodeURIComponent(selector)}`)).status).toBe(400);
    expect((await ask('GET', `${pods}/web`)).body.metadata.deletionTimestamp).toBeUndefined();
  },
);

it('a patch that copies an object into itself again and again is refused', async () => {
  await ask('POST', pods, pod('web'));
  const copies = Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '', path: `/x${at}` }));
  const type = { 'content-type': 'application/json-patch+json' };
  expect((await ask('PATCH', `${pods}/web`, copies, type)).status).toBe(422);
});

it('the namespaces that the node needs stay', async () => {
  expect((await ask('DELETE', '/api/v1/namespaces/default')).status).toBe(403);
});
