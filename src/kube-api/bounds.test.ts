/** What clients may not make the API of a node hold, do or say. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { VirtualClock } from '../async/index.js';
import type { ConfigMap, KubeObject } from '../kube/types/index.js';
import type { ServiceAccount } from '../kube-client/api-objects.js';
import type { Patch, WatchEvent } from '../kube-client/port.js';
import { resources, subresources } from '../kube-client/resources.js';
import type { ApiResponse } from './http/contracts.js';
import { Discovery } from './http/discovery.js';
import { ApiHandler } from './http/handler.js';
import { postedResponses } from './http/posted-responses.js';
import { scaleResponses } from './http/scale.js';
import { change, createIn, refusalOf, testApi, testPod, written } from './kinds/kinds-test-api.js';
import { kubeApiLimits } from './limits.js';
import { PostedObjects } from './posted/responder.js';
import type { ServedApi } from './server.js';
import { tablePrinter } from './tables/printer.js';

let api: ServedApi;
let clock: VirtualClock;
let posted: PostedObjects;
beforeEach(async () => {
  ({ api, clock } = await testApi());
  posted = new PostedObjects(api, {
    issue: ({ audiences }) => ({ token: audiences.join(), expiresMs: 0 }),
    verify: () => undefined,
  });
});

const ref = (name: string) => ({ namespace: 'shop', name });
const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({ metadata: { name }, data });
const large = 'x'.repeat(1_000_000);

async function ask(
  method: string,
  target: string,
  body?: string | Buffer,
  type = 'application/json',
): Promise<ApiResponse> {
  const handler = new ApiHandler({
    api,
    discovery: new Discovery({ kinds: api.kinds, posted: [], serverAddress: '127.0.0.1:1' }),
    printer: tablePrinter,
    others: [postedResponses(api, posted), scaleResponses(api)],
  });
  const [path = '', query = ''] = target.split('?');
  return handler.handle({
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'content-type': type },
    user: { name: 'owner', groups: ['system:masters'] },
    ...(body === undefined ? {} : { readBody: () => Promise.resolve(Buffer.from(body)) }),
  });
}

async function textOf({ body }: ApiResponse): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const pieces: Buffer[] = [];
  const write = async (bytes: Buffer): Promise<void> => void pieces.push(bytes);
  await body.stream({ write }, new AbortController().signal);
  return Buffer.concat(pieces).toString();
}

describe('what is stored', () => {
  it('is bounded in all: new objects first, then what grows', async () => {
    const half = 'x'.repeat(500_000);
    const count = Math.ceil(kubeApiLimits.creationBytes / half.length);
    for (let n = 0; n < count; n++) await createIn(api, resources.configMaps, map(`m${n}`, { half }));
    expect(api.storage.bytes).toBeGreaterThan(kubeApiLimits.creationBytes);
    expect(await refusalOf(createIn(api, resources.configMaps, map('more')))).toContain('403 the objects of');
    const grown = { data: { more: half } };
    let refused = '';
    for (let n = 0; n < count && refused === ''; n++) {
      const outcome = await refusalOf(change(api, resources.configMaps, `m${n}`, grown));
      if (outcome !== 'accepted') refused = outcome;
    }
    expect(refused).toContain('403 the objects of one node are limited');
    expect(api.storage.bytes).toBeLessThanOrEqual(kubeApiLimits.storedBytes);
    // Nothing keeps an owner from making room.
    await change(api, resources.configMaps, 'm0', { data: null });
    for (let n = 1; n < count; n++) await api.delete(resources.configMaps, ref(`m${n}`));
    expect(await refusalOf(createIn(api, resources.configMaps, map('more')))).toBe('accepted');
  });

  it('counts creations that waited for their account', async () => {
    const full = await testApi();
    await full.api.create(resources.namespaces, { metadata: { name: 'new' } }, undefined);
    for (let n = 0; n < kubeApiLimits.objectsPerKind; n++)
      full.api.storage.put(resources.pods, `new/p${n}`, () =>
        testPod({}, { name: `p${n}`, namespace: 'new' }),
      );
    full.api.storage.remove(resources.pods, 'new/p0', testPod({}, { name: 'p0', namespace: 'new' }));
    const waiting = ['a', 'b', 'c'].map((name) =>
      refusalOf(full.api.create(resources.pods, testPod({}, { name }), 'new')),
    );
    await full.api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'new');
    const outcomes = await Promise.all(waiting);
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    expect(full.api.storage.count(resources.pods)).toBe(kubeApiLimits.objectsPerKind);
  });

  it('events are bounded by their size, too', async () => {
    const event = (n: number) =>
      written({
        metadata: { name: `e${n}` },
        involvedObject: { namespace: 'shop' },
        message: 'm',
        action: large,
      });
    for (let n = 0; n < 40; n++) {
      await api.create(resources.events, event(n), 'shop');
      await clock.advance(1000);
    }
    expect(api.storage.bytesOf(resources.events)).toBeLessThanOrEqual(kubeApiLimits.keptEventBytes);
    const names = api.list(resources.events).items.map(({ metadata }) => metadata.name);
    expect(names).toContain('e39');
    expect(names).not.toContain('e0');
  });

  it('a generated name is a name', async () => {
    const made = await createIn<ConfigMap>(api, resources.configMaps, {
      metadata: { generateName: 'x'.repeat(300) },
    });
    expect(made.metadata.name).toMatch(/^x{58}[a-z0-9]{5}$/);
  });

  it.each(['..', '.', 'a/b', '../../etc/passwd', 'a\0b', 'A', 'x'.repeat(254), 'a%2fb', '-a', ''])(
    'a name that is none is refused: %j',
    async (name) => {
      expect(await refusalOf(createIn(api, resources.configMaps, map(name)))).toMatch(/^422 /);
      expect(api.storage.count(resources.configMaps)).toBe(0);
    },
  );
});

describe('patches', () => {
  const json = (...body: unknown[]): Patch => ({ type: 'json', body: body as never });
  const patched = (patch: Patch): Promise<string> =>
    refusalOf(api.patch(resources.configMaps, ref('m'), patch));

  it('do not nest without end', async () => {
    await createIn(api, resources.configMaps, map('m'));
    const doubled = Array.from({ length: 200 }, () => ({ op: 'copy', from: '/data', path: '/data/x' }));
    expect(await patched(json(...doubled))).toMatch(/^422 .*levels deep|^422 .*copies more/);
    let deepened: unknown = {};
    for (let n = 0; n < 90; n++) deepened = { a: deepened };
    const path = `/data${'/a'.repeat(90)}/a`;
    const twice = [
      { op: 'add', path: '/data/a', value: deepened },
      { op: 'add', path, value: deepened },
    ];
    expect(await patched(json(...twice))).toMatch(/^422 .*levels deep/);
  });

  it.each([
    ['application/merge-patch+json', ''],
    ['application/merge-patch+json', 'null'],
    ['application/strategic-merge-patch+json', '5'],
    ['application/json-patch+json', '[{"op":"remove","path":""}]'],
    ['application/json-patch+json', '[{"op":"replace","path":"","value":[]}]'],
  ])('that leave no object are refused: %s %j', async (media, body) => {
    await createIn(api, resources.configMaps, map('m'));
    const { status } = await ask('PATCH', '/api/v1/namespaces/shop/configmaps/m', body, media);
    expect(status).toBe(422);
  });

  it('merge lists with many thousand members', async () => {
    const env = Array.from({ length: 8_000 }, (_, n) => ({ name: `n${n}`, value: 'v' }));
    await createIn(api, resources.pods, testPod({ containers: [{ name: 'app', image: 'i', env }] }));
    const order = env.map(({ name }) => ({ name })).reverse();
    const removed = env.map(({ name }) => ({ name, $patch: 'delete' }));
    const patch = (container: object): Patch => ({
      type: 'strategic',
      body: { spec: { containers: [{ name: 'app', ...container }] } },
    });
    const tried = { dryRun: true };
    const outcome = (one: Patch): Promise<string> =>
      refusalOf(api.patch(resources.pods, ref('web'), one, tried));
    // A pod's environment never changes: it is refused when all has been merged.
    expect(await outcome(patch({ env: removed }))).toContain('422');
    expect(await outcome(patch({ env, '$setElementOrder/env': order }))).toContain('422');
  });

  it.each([
    ['merge', 'application/merge-patch+json'],
    ['strategic', 'application/strategic-merge-patch+json'],
  ])('%s: names of methods are names like others', async (_type, media) => {
    await createIn(api, resources.configMaps, map('m', { a: 'b' }));
    const body =
      '{"data":{"__proto__":"p","constructor":"c","toString":"t"},"metadata":{"labels":{"constructor":"l"}}}';
    const answer = await ask('PATCH', '/api/v1/namespaces/shop/configmaps/m', body, media);
    expect(answer.status).toBe(200);
    const stored = JSON.stringify(api.get(resources.configMaps, ref('m')).data);
    expect(JSON.parse(stored)).toEqual(
      JSON.parse('{"a":"b","__proto__":"p","constructor":"c","toString":"t"}'),
    );
    const found = (labelSelector: string): number =>
      api.list(resources.configMaps, { labelSelector }).items.length;
    expect([found('constructor=l'), found('toString'), found('!valueOf'), found('__proto__')]).toEqual([
      1, 0, 1, 0,
    ]);
    expect(({} as Record<string, unknown>).p).toBeUndefined();
  });
});

describe('a body', () => {
  const post = (body: string | Buffer, type?: string): Promise<ApiResponse> =>
    ask('POST', '/api/v1/namespaces/shop/configmaps', body, type);
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((letter, n) => {
      const before = 'abcdefgh'[n];
      return `${letter}: &${letter} [${Array.from({ length: 10 }, () => `*${before}`).join()}]`;
    }),
  ].join('\n');
  it.each([
    ['JSON that is too deep', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, 'application/json'],
    ['JSON that no stack holds', '['.repeat(1_000_000), 'application/json'],
    ['too many values', `{"a":[${'1,'.repeat(300_000)}1]}`, 'application/json'],
    ['YAML whose aliases grow', bomb, 'application/yaml'],
    ['YAML that is too deep', `a: ${'['.repeat(200)}${']'.repeat(200)}`, 'application/yaml'],
    ['no JSON', 'nonsense', 'application/json'],
    ['a list', '[]', 'application/json'],
    [
      'no protobuf',
      Buffer.from([0x6b, 0x38, 0x73, 0, 0xff, 0xff, 0xff]),
      'application/vnd.kubernetes.protobuf',
    ],
  ])('is refused with 400: %s', async (_what, body, type) => {
    expect((await post(body, type)).status).toBe(400);
  });

  it('of an object that is too large is refused, and so is what grows beyond', async () => {
    const over = 'x'.repeat(kubeApiLimits.objectBytes);
    const secret = { type: 'Opaque', metadata: { name: 's' }, data: { a: over } };
    expect(await refusalOf(createIn(api, resources.secrets, secret))).toMatch(/^4(13|22) /);
    await createIn(api, resources.pods, testPod());
    const status = { status: { message: over } };
    expect(await refusalOf(change(api, resources.pods, 'web', status, 'status'))).toMatch(/^413 /);
  });

  it('with many unknown fields gets a header that every client can read', async () => {
    const unknown = Object.fromEntries(
      Array.from({ length: 500 }, (_, n) => [`field${'x'.repeat(400)}${n}`, 1]),
    );
    const { status, headers } = await post(JSON.stringify({ metadata: { name: 'm' }, ...unknown }));
    expect(status).toBe(201);
    const { Warning: warning = '' } = headers;
    expect(warning).toContain('unknown field');
    expect(warning.length).toBeLessThan(kubeApiLimits.warningChars + 100);
  });

  it.each([2 ** 31, 1.5, -1, '1', null, 1e300])(
    'scales to no number of replicas like %j',
    async (replicas) => {
      await createIn(api, resources.deployments, {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      });
      const path = '/apis/apps/v1/namespaces/shop/deployments/d/scale';
      const { status } = await ask('PUT', path, JSON.stringify({ spec: { replicas } }));
      expect(status).toBe(replicas === null ? 200 : 422);
    },
  );
});

describe('a list', () => {
  it.each(['application/json', 'application/json;as=Table;g=meta.k8s.io;v=v1'])(
    'of many objects comes in pieces, and is whole: %s',
    async (accept) => {
      for (let n = 0; n < 40; n++)
        await createIn(api, resources.configMaps, map(`m${n}`, { text: '"é'.repeat(30_000) }));
      const handler = new ApiHandler({
        api,
        discovery: new Discovery({ kinds: api.kinds, posted: [], serverAddress: '127.0.0.1:1' }),
        printer: tablePrinter,
        others: [],
      });
      const answer = await handler.handle({
        method: 'GET',
        path: '/api/v1/namespaces/shop/configmaps',
        query: new URLSearchParams('includeObject=Object'),
        headers: { accept },
        user: { name: 'owner', groups: ['system:masters'] },
      });
      expect(typeof answer.body).toBe('object');
      const list = JSON.parse(await textOf(answer));
      const items = list.items ?? list.rows.map((row: { object: unknown }) => row.object);
      expect(items).toHaveLength(40);
      expect(list.metadata.resourceVersion).toBe(String(api.storage.revision));
      expect(items[39].data.text).toBe('"é'.repeat(30_000));
    },
  );

  it('that is not read is cut off', async () => {
    for (let n = 0; n < 3; n++) await createIn(api, resources.configMaps, map(`m${n}`, { large }));
    const { body } = await ask('GET', '/api/v1/configmaps');
    if (typeof body === 'string' || body instanceof Uint8Array) throw new Error('expected pieces');
    const reading = body.stream({ write: () => new Promise(() => undefined) }, new AbortController().signal);
    const outcome = refusalOf(reading);
    await clock.advance(kubeApiLimits.listMs);
    expect(await outcome).toContain('504 ');
  });

  it.each([
    ['continue=x', 400],
    [`continue=${Buffer.from('[1e9,"a"]').toString('base64url')}`, 410],
    [`continue=${Buffer.from('[-1,"a"]').toString('base64url')}`, 410],
    [`continue=${Buffer.from('[1,{}]').toString('base64url')}`, 400],
    ['limit=-1', 400],
    ['limit=1e9', 400],
    ['resourceVersion=x', 400],
    ['resourceVersion=99999999999999999999', 400],
    ['resourceVersion=999999', 504],
    ['resourceVersionMatch=Exact', 422],
    ['resourceVersionMatch=Nonsense&resourceVersion=1', 422],
    [`labelSelector=${'a,'.repeat(10_000)}a`, 400],
    ['labelSelector=a%20in%20(b', 400],
    ['fieldSelector=metadata.uid%3Dx', 400],
    ['fieldSelector=__proto__%3Dx', 400],
  ])('with %s is refused with %i', async (query, code) => {
    expect((await ask('GET', `/api/v1/namespaces/shop/configmaps?${query}`)).status).toBe(code);
  });
});

describe('a watcher', () => {
  async function take(events: AsyncIterator<WatchEvent<KubeObject>>, most: number): Promise<string[]> {
    const seen: string[] = [];
    for (let n = 0; n < most; n++) {
      const next = await events.next();
      if (next.done === true) return [...seen, 'end'];
      const { value } = next;
      seen.push('object' in value ? `${value.type} ${value.object.metadata.name}` : value.type);
      if (value.type === 'ERROR') expect(value.error.code).toBe(410);
    }
    return seen;
  }

  it('gets all objects of a kind that are there, however many', async () => {
    const many = 15_000;
    for (let n = 0; n < many; n++)
      api.storage.put(resources.configMaps, `shop/m${n}`, () => ({
        metadata: { name: `m${n}`, namespace: 'shop' },
      }));
    const events = api.watch(resources.configMaps, { sendInitialEvents: true, allowBookmarks: true });
    const seen = await take(events, many + 1);
    expect(new Set(seen).size).toBe(many + 1);
    expect(seen.at(-1)).toBe('BOOKMARK');
    await events.return();
  });

  it.each([
    ['before it has all', 1],
    ['while it waits', 11],
  ])('that does not read is told to list again, and nothing is kept for it: %s', async (_when, read) => {
    for (let n = 0; n < 10; n++) await createIn(api, resources.configMaps, map(`m${n}`));
    const events = api.watch(resources.configMaps, { sendInitialEvents: true });
    expect((await take(events, read)).at(-1)).toMatch(read === 1 ? /^ADDED/ : /^BOOKMARK/);
    for (let n = 0; n < 40; n++)
      await change(api, resources.configMaps, 'm1', { data: { n: `${n}`, large: large.slice(n) } });
    expect(await take(events, 3)).toEqual(['ERROR', 'end']);
  });

  it('of a kind that does not change is not disturbed by others', async () => {
    const watched = await createIn<ServiceAccount>(api, resources.serviceAccounts, {
      metadata: { name: 'a' },
    });
    const events = api.watch(resources.serviceAccounts, {
      resourceVersion: watched.metadata.resourceVersion ?? '',
    });
    const first = take(events, 1);
    for (let n = 0; n < 30; n++) await createIn(api, resources.configMaps, map(`m${n}`, { large }));
    await createIn(api, resources.configMaps, map('last'));
    for (let n = 0; n < 30; n++) await api.delete(resources.configMaps, ref(`m${n}`));
    await createIn(api, resources.serviceAccounts, { metadata: { name: 'b' } });
    expect(await first).toEqual(['ADDED b']);
    await events.return();
  });
});

describe('a token', () => {
  const token = (name: string, spec: unknown): Promise<string> =>
    refusalOf(posted.post(subresources.token, ref(name), { spec } as never));
  it.each<[string, unknown, string]>([
    ['audiences that are none', { audiences: 5 }, '422'],
    ['audiences of other things', { audiences: [{}] }, '422'],
    ['audiences too long for a header', { audiences: [large] }, '422'],
    ['no life', { expirationSeconds: 1 }, '422'],
    ['a binding to what it could outlive', { boundObjectRef: { kind: 'Secret', name: 's' } }, '422'],
    ['a binding to no pod', { boundObjectRef: { kind: 'Pod', name: 'gone' } }, '404'],
    [
      'a binding to another pod of the name',
      { boundObjectRef: { kind: 'Pod', name: 'web', uid: 'x' } },
      '409',
    ],
  ])('is refused with %s', async (_what, spec, code) => {
    await createIn(api, resources.pods, testPod());
    expect(await token('default', spec)).toMatch(new RegExp(`^${code} `));
    expect(await token('default', { boundObjectRef: { kind: 'Pod', name: 'web' } })).toBe('accepted');
  });
  it('of another account is not bound to a pod', async () => {
    await createIn(api, resources.pods, testPod());
    await createIn(api, resources.serviceAccounts, { metadata: { name: 'other' } });
    expect(await token('other', { boundObjectRef: { kind: 'Pod', name: 'web' } })).toContain(
      'different serviceaccount',
    );
  });
  it.each([{ groups: 5 }, { groups: [{}] }, { user: {} }])(
    'a review of no user is refused: %j',
    async (spec) => {
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      expect((await ask('POST', path, JSON.stringify({ spec }))).status).toBe(400);
    },
  );
});
