import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { resources } from '../../kube-client/resources.js';
import { Discovery } from '../http/discovery.js';
import { ApiHandler } from '../http/handler.js';
import { scaleResponses } from '../http/scale.js';
import { kubeApiLimits } from '../limits.js';
import { ServedApi } from '../server.js';
import { tablePrinter } from '../tables/printer.js';

const configMaps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const pods = '/api/v1/namespaces/default/pods';
const apply = 'apply-patch+yaml';
const merge = 'merge-patch+json';
let clock: VirtualClock;
let handler: ApiHandler;

beforeEach(async () => {
  clock = new VirtualClock();
  const api = new ServedApi({ clock });
  await api.create(resources.namespaces, { metadata: { name: 'default' } }, undefined);
  await api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'default');
  const discovery = new Discovery({ kinds: api.kinds, posted: [], serverAddress: '127.0.0.1:6443' });
  handler = new ApiHandler({ api, discovery, printer: tablePrinter, others: [scaleResponses(api)] });
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of any response.
  readonly body: any;
}

async function ask(method: string, target: string, body?: unknown, type = 'json'): Promise<Answer> {
  const [path = '', query = ''] = target.split('?');
  const response = await handler.handle({
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': `application/${type}`, 'user-agent': 'tester/1.0' },
    user: { name: 'owner', groups: ['system:masters'] },
    readBody: () => Promise.resolve(Buffer.from(JSON.stringify(body))),
  });
  return { status: response.status, body: JSON.parse(String(response.body)) };
}

const config = (data?: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', ...metadata },
  ...(data === undefined ? {} : { data }),
});
const applyConfig = (manager: string, object: object, more = ''): Promise<Answer> =>
  ask('PATCH', `${configMaps}/c?fieldManager=${manager}${more}`, object, apply);

/** Who owns what, as `manager/operation` and sets. */
function owners({ body }: Answer): Record<string, unknown> {
  return Object.fromEntries(
    (body.metadata.managedFields ?? []).map((entry: Record<string, unknown>) => [
      `${entry.manager}/${entry.operation}${entry.subresource ? `/${entry.subresource}` : ''}`,
      entry.fieldsV1,
    ]),
  );
}

describe('a ConfigMap that is applied', () => {
  it('is created, belongs to its manager, and does not change when it is applied again', async () => {
    const created = await applyConfig('a', config({ x: '1', y: '2' }, { labels: { l: 'v' } }));
    expect(created.status).toBe(201);
    expect(owners(created)).toEqual({
      'a/Apply': { 'f:data': { 'f:x': {}, 'f:y': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
    });
    await clock.advance(5000);
    const again = await applyConfig('a', config({ x: '1', y: '2' }, { labels: { l: 'v' } }));
    expect(again.status).toBe(200);
    expect(again.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
  });

  it('shares fields with who applies the same values', async () => {
    await applyConfig('a', config({ x: '1', y: '2' }));
    const shared = await applyConfig('b', config({ x: '1' }));
    expect(owners(shared)).toEqual({
      'a/Apply': { 'f:data': { 'f:x': {}, 'f:y': {} } },
      'b/Apply': { 'f:data': { 'f:x': {} } },
    });
    const dropped = await applyConfig('a', config({ y: '2' }));
    expect(dropped.body.data).toEqual({ x: '1', y: '2' });
    expect((await applyConfig('b', config({}))).body.data).toEqual({ y: '2' });
  });

  it('is not changed by who would take fields of others', async () => {
    await applyConfig('a', config({ x: '1', y: '2' }, { labels: { l: 'v' } }));
    expect((await applyConfig('b', config({ x: '9' }))).body).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "a": .data.x',
      details: {
        causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.data.x' }],
      },
    });
    expect((await applyConfig('b', config({ x: '9', y: '9' }, { labels: { l: 'w' } }))).body.message).toBe(
      'Apply failed with 3 conflicts: conflicts with "a":\n- .data.x\n- .data.y\n- .metadata.labels.l',
    );
    await ask('PATCH', `${configMaps}/c?fieldManager=u`, { data: { z: '1' } }, merge);
    expect((await applyConfig('a', config({ z: '3' }))).body.message).toBe(
      'Apply failed with 1 conflict: conflict with "u" using v1: .data.z',
    );
  });

  it('gives its fields to who forces it', async () => {
    await applyConfig('a', config({ x: '1', y: '2' }));
    const forced = await applyConfig('b', config({ x: '9' }), '&force=true');
    expect(forced.body.data).toEqual({ x: '9', y: '2' });
    expect(owners(forced)).toEqual({
      'a/Apply': { 'f:data': { 'f:y': {} } },
      'b/Apply': { 'f:data': { 'f:x': {} } },
    });
  });

  it('loses what its manager no longer applies, and mappings that are empty then', async () => {
    await applyConfig('a', config({ x: '1' }, { labels: { l: 'v' } }));
    const { body } = await applyConfig('a', config({ x: '1' }));
    expect(body.metadata).not.toHaveProperty('labels');
    expect((await applyConfig('a', config())).body).not.toHaveProperty('data');
  });

  it('moves fields to who updates them, and forgets those that are removed', async () => {
    await applyConfig('a', config({ x: '1', y: '2' }));
    const updated = await ask(
      'PATCH',
      `${configMaps}/c?fieldManager=u`,
      { data: { x: '7', z: '1' }, metadata: { annotations: { q: 'r' } } },
      merge,
    );
    expect(owners(updated)).toEqual({
      'a/Apply': { 'f:data': { 'f:y': {} } },
      'u/Update': {
        'f:data': { 'f:x': {}, 'f:z': {} },
        'f:metadata': { 'f:annotations': { '.': {}, 'f:q': {} } },
      },
    });
    const removed = await ask(
      'PATCH',
      `${configMaps}/c?fieldManager=v`,
      { data: { x: null, y: null } },
      merge,
    );
    expect(owners(removed)).toEqual({
      'u/Update': { 'f:data': { 'f:z': {} }, 'f:metadata': { 'f:annotations': { '.': {}, 'f:q': {} } } },
    });
  });

  it('forgets all managers on request, and gets one for the past when it is applied then', async () => {
    await ask('POST', `${configMaps}?fieldManager=k`, config({ n: '1', k: '1' }));
    const reset = await ask('PATCH', `${configMaps}/c`, { metadata: { managedFields: [{}] } }, merge);
    expect(owners(reset)).toEqual({});
    expect(owners(await ask('PATCH', `${configMaps}/c`, { data: { m: '1' } }, merge))).toEqual({});
    expect(owners(await applyConfig('a', config({ n: '1' })))).toEqual({
      'a/Apply': { 'f:data': { 'f:n': {} } },
      'before-first-apply/Update': { 'f:data': { '.': {}, 'f:k': {}, 'f:m': {}, 'f:n': {} } },
    });
    expect((await applyConfig('a', config({ n: '2' }))).body.message).toContain(
      'conflict with "before-first-apply" using v1: .data.n',
    );
  });

  it('has at most ten managers that update; the oldest are joined', async () => {
    for (let index = 0; index < 13; index++) {
      await clock.advance(1000);
      if (index === 0) await ask('POST', `${configMaps}?fieldManager=m0`, config({ k0: '0' }));
      else
        await ask('PATCH', `${configMaps}/c?fieldManager=m${index}`, { data: { [`k${index}`]: '1' } }, merge);
    }
    const found = await ask('GET', `${configMaps}/c`);
    expect(Object.keys(owners(found))).toHaveLength(10);
    expect(owners(found)['ancient-changes/Update']).toEqual({
      'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} },
    });
  });

  it('refuses one manager that applies too many', async () => {
    for (let index = 0; index < kubeApiLimits.appliersPerObject; index++)
      expect((await applyConfig(`m${index}`, config({ [`k${index}`]: '1' }))).status).toBeLessThan(300);
    expect((await applyConfig('one', config({ more: '1' }))).body.message).toContain('Too many');
  });

  it('takes managers from a client that moves them, as after a client-side apply', async () => {
    await ask('POST', `${configMaps}?fieldManager=kubectl-client-side-apply`, config({ x: '1' }));
    const moved = await ask(
      'PATCH',
      `${configMaps}/c?fieldManager=kubectl`,
      [
        {
          op: 'replace',
          path: '/metadata/managedFields',
          value: [
            {
              manager: 'kubectl',
              operation: 'Apply',
              apiVersion: 'v1',
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:data': { 'f:x': {} } },
            },
          ],
        },
      ],
      'json-patch+json',
    );
    expect(owners(moved)).toEqual({ 'kubectl/Apply': { 'f:data': { 'f:x': {} } } });
    expect((await applyConfig('kubectl', config({ x: '2' }))).body.data).toEqual({ x: '2' });
  });

  it.each([
    ['without a manager', `${configMaps}/c`, config({}), 422, 'is required for apply patch'],
    ['without a kind', `${configMaps}/c?fieldManager=a`, { metadata: { name: 'c' } }, 400, 'invalid object'],
    ['for another name', `${configMaps}/d?fieldManager=a`, config({}), 400, 'does not match the name'],
    [
      'with managed fields',
      `${configMaps}/c?fieldManager=a`,
      config({}, { managedFields: [{ manager: 'z' }] }),
      400,
      'metadata.managedFields must be nil',
    ],
    [
      'with an unknown field',
      `${configMaps}/c?fieldManager=a`,
      { ...config({}), foo: 1 },
      400,
      '.foo: field not declared in schema',
    ],
    ['for a status that is not there', `${pods}/c/status?fieldManager=a`, config({}), 400, 'invalid object'],
  ])('is refused %s', async (_what, target, body, status, message) => {
    const response = await ask('PATCH', target, body, apply);
    expect(response.status).toBe(status);
    expect(response.body.message).toContain(message);
  });

  it('is checked and not stored in a dry run', async () => {
    expect((await applyConfig('a', config({ x: '1' }), '&dryRun=All')).status).toBe(201);
    expect((await ask('GET', `${configMaps}/c`)).status).toBe(404);
  });
});

describe('a Deployment that is applied', () => {
  const container = {
    name: 'a',
    image: 'i',
    ports: [{ containerPort: 80 }],
    env: [{ name: 'X', value: '1' }],
  };
  const deployment = (spec: object = {}, podSpec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'e' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container], ...podSpec } },
      ...spec,
    },
  });
  const applied = (manager: string, object: object, more = ''): Promise<Answer> =>
    ask('PATCH', `${deployments}/e?fieldManager=${manager}${more}`, object, apply);

  it('has owners of members of its lists, by their keys', async () => {
    const created = await applied(
      'a',
      deployment(
        { replicas: 2, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
        { nodeSelector: { n: '1' }, volumes: [{ name: 'v', emptyDir: {} }] },
      ),
    );
    expect(created.status).toBe(201);
    expect(owners(created)['a/Apply']).toEqual({
      'f:spec': {
        'f:replicas': {},
        'f:selector': {},
        'f:strategy': { 'f:rollingUpdate': { 'f:maxSurge': {} }, 'f:type': {} },
        'f:template': {
          'f:metadata': { 'f:labels': { 'f:a': {} } },
          'f:spec': {
            'f:containers': {
              'k:{"name":"a"}': {
                '.': {},
                'f:env': { 'k:{"name":"X"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
                'f:image': {},
                'f:name': {},
                'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
              },
            },
            'f:nodeSelector': {},
            'f:volumes': { 'k:{"name":"v"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} } },
          },
        },
      },
    });
    const more = await applied('b', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'e' },
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'zz', image: 'q' },
              { name: 'a', env: [{ name: 'Y', value: '2' }] },
            ],
          },
        },
      },
    });
    expect(more.body.spec.template.spec.containers).toMatchObject([
      { name: 'zz', image: 'q' },
      { name: 'a', image: 'i', env: [{ name: 'X' }, { name: 'Y' }] },
    ]);
    const dropped = await applied('a', deployment());
    expect(dropped.body.spec.template.spec).not.toHaveProperty('volumes');
    expect(dropped.body.spec.template.spec).not.toHaveProperty('nodeSelector');
    expect(dropped.body.spec.template.spec.containers).toMatchObject([
      { name: 'zz' },
      { name: 'a', env: [{ name: 'X' }, { name: 'Y' }] },
    ]);
  });

  it('owns its status only at the subresource', async () => {
    await applied('a', deployment());
    const status = (manager: string, more: object): Promise<Answer> =>
      ask(
        'PATCH',
        `${deployments}/e/status?fieldManager=${manager}`,
        { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'e', labels: { x: 'y' } }, ...more },
        apply,
      );
    const told = await status('st', { spec: { replicas: 9 }, status: { replicas: 3 } });
    expect(told.body.status).toMatchObject({ replicas: 3 });
    expect(owners(told)['st/Apply/status']).toEqual({ 'f:status': { 'f:replicas': {} } });
    const main = await applied('ms', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'e', labels: { x: 'y' } },
      status: { replicas: 4 },
    });
    expect(main.body.status.replicas).toBe(3);
    expect(owners(main)['ms/Apply']).toEqual({ 'f:metadata': { 'f:labels': { 'f:x': {} } } });
    await ask('PATCH', `${deployments}/e/status?fieldManager=sp`, { status: { replicas: 5 } }, merge);
    expect((await status('st', { status: { replicas: 3 } })).body.message).toBe(
      'Apply failed with 1 conflict: conflict with "sp" with subresource "status" using apps/v1: .status.replicas',
    );
  });

  it('is refused with a member named twice', async () => {
    const twice = deployment({}, { containers: [container, container] });
    expect((await applied('a', twice)).body.message).toContain(
      '.spec.template.spec.containers: duplicate entries for key [name="a"]',
    );
  });
});

it('a created pod belongs to its creator, with the defaults', async () => {
  const created = await ask('POST', `${pods}?fieldManager=k`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', labels: { q: 'w' }, finalizers: ['x.y/z'] },
    spec: { containers: [{ name: 'a', image: 'i', command: ['x'] }], nodeSelector: { a: 'b' } },
  });
  expect(created.status).toBe(201);
  const set = owners(created)['k/Update'] as Record<string, Record<string, unknown>>;
  expect(set['f:metadata']).toEqual({
    'f:finalizers': { '.': {}, 'v:"x.y/z"': {} },
    'f:labels': { '.': {}, 'f:q': {} },
  });
  expect(set['f:spec']).toMatchObject({
    'f:containers': {
      'k:{"name":"a"}': { '.': {}, 'f:command': {}, 'f:image': {}, 'f:name': {}, 'f:resources': {} },
    },
    'f:nodeSelector': {},
    'f:restartPolicy': {},
    'f:securityContext': {},
  });
  expect(Object.keys(set['f:spec']?.['f:containers'] ?? {})).toEqual(['k:{"name":"a"}']);
  expect(set).not.toHaveProperty('f:status');
});
