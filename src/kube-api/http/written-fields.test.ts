import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { resources } from '../../kube-client/resources.js';
import { ServedApi } from '../server.js';
import { tablePrinter } from '../tables/printer.js';
import type { ApiResponse } from './contracts.js';
import { Discovery } from './discovery.js';
import { ApiHandler } from './handler.js';

const configMaps = '/api/v1/namespaces/default/configmaps';
let handler: ApiHandler;

beforeEach(async () => {
  const api = new ServedApi({ clock: new VirtualClock() });
  await api.create(resources.namespaces, { metadata: { name: 'default' } }, undefined);
  await api.create(resources.configMaps, { metadata: { name: 'known' }, data: { a: 'b' } }, 'default');
  const discovery = new Discovery({ kinds: api.kinds, posted: [], serverAddress: '127.0.0.1:6443' });
  handler = new ApiHandler({ api, discovery, printer: tablePrinter, others: [] });
});

async function ask(method: string, target: string, body: unknown, type = 'json'): Promise<ApiResponse> {
  const [path = '', query = ''] = target.split('?');
  return handler.handle({
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': `application/${type}` },
    user: { name: 'owner', groups: ['system:masters'] },
    readBody: () => Promise.resolve(Buffer.from(JSON.stringify(body))),
  });
}

function objectOf({ body }: ApiResponse): { readonly [member: string]: unknown } {
  return JSON.parse(String(body));
}

const odd = { metadata: { name: 'odd' }, data: { a: 'b' }, foo: 1 };
const writes: readonly [string, string, string, unknown, string][] = [
  ['a posted object', 'POST', configMaps, odd, 'json'],
  ['an object that is put', 'PUT', `${configMaps}/known`, { ...odd, metadata: { name: 'known' } }, 'json'],
  ['a merge patch', 'PATCH', `${configMaps}/known`, { foo: 1 }, 'merge-patch+json'],
  ['a strategic merge patch', 'PATCH', `${configMaps}/known`, { foo: 1 }, 'strategic-merge-patch+json'],
  [
    'a JSON patch',
    'PATCH',
    `${configMaps}/known`,
    [{ op: 'add', path: '/foo', value: 1 }],
    'json-patch+json',
  ],
];

describe.each(writes)('an unknown field of %s', (_what, method, path, body, type) => {
  it('is refused when the client asks for it', async () => {
    const response = await ask(method, `${path}?fieldValidation=Strict`, body, type);
    expect(response.status).toBe(method === 'PATCH' ? 422 : 400);
    expect(objectOf(response).message).toContain('strict decoding error: unknown field "foo"');
  });

  it.each(['', '?fieldValidation=Warn'])('is a warning otherwise (%s)', async (query) => {
    const response = await ask(method, `${path}${query}`, body, type);
    expect(response.status).toBeLessThan(300);
    expect(response.headers.Warning).toBe('299 - "unknown field \\"foo\\""');
    expect(objectOf(response)).not.toHaveProperty('foo');
  });

  it('is left out silently when the client wants that', async () => {
    const response = await ask(method, `${path}?fieldValidation=Ignore`, body, type);
    expect(response.status).toBeLessThan(300);
    expect(response.headers).not.toHaveProperty('Warning');
    expect(objectOf(response)).not.toHaveProperty('foo');
  });
});

it('a value of a wrong type is refused, whatever the client asks for', async () => {
  const wrong = { metadata: { name: 'odd' }, data: { a: 1 } };
  expect(objectOf(await ask('POST', `${configMaps}?fieldValidation=Ignore`, wrong))).toMatchObject({
    code: 400,
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  });
  const patch = { data: [] };
  expect((await ask('PATCH', `${configMaps}/known`, patch, 'merge-patch+json')).status).toBe(422);
  expect(
    (await ask('PATCH', `${configMaps}/known`, { metadata: null }, 'merge-patch+json')).status,
  ).toBeGreaterThanOrEqual(400);
  expect((await ask('POST', `${configMaps}?fieldValidation=Sure`, odd)).status).toBe(422);
});

it('a header holds nothing but printable letters', async () => {
  const response = await ask('POST', configMaps, { ...odd, 'fü\n"x': 1 });
  expect(response.headers.Warning).toMatch(/^[\x20-\x7e]+$/);
});

it('responses have lines for people who ask for it', async () => {
  const response = await ask('GET', `${configMaps}/known?pretty=true`, undefined);
  expect(String(response.body)).toContain('\n  "data": {\n    "a": "b"\n  }');
});
