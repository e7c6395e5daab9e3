import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { ApiError, ApiUnreachable } from '../../kube-client/api-error.js';
import type { KubeApi, SubjectAccessReview, TokenReview } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { Timeline } from '../../timeline/index.js';
import { createAuthMetrics } from '../metrics.js';
import { AccessReviews, reviewSpec } from './access-reviews.js';
import { attributesOf } from './attributes.js';
import { bearerToken, webSocketToken, withoutTokens } from './bearer.js';
import { ExpiringCache } from './expiring-cache.js';
import { identityOfSubject, recognized } from './identity.js';
import { RefusalLog } from './refusal-log.js';
import { isWorthAnother } from './review-retry.js';
import { TokenReviews } from './token-reviews.js';

describe('the attributes of a request', () => {
  it.each<[string, string, string]>([
    ['GET /pods', 'get', 'pods proxy'],
    ['GET /pods/', 'get', 'pods proxy'],
    ['GET /runningpods/', 'get', 'pods proxy'],
    ['GET /allocatedPods', 'get', 'pods proxy'],
    ['GET /allocatedPods/a/b', 'get', 'pods proxy'],
    ['GET /podsfoo', 'get', 'proxy'],
    ['GET /healthz', 'get', 'healthz proxy'],
    ['GET /healthz/ping', 'get', 'healthz proxy'],
    ['GET /configz', 'get', 'configz proxy'],
    ['GET /flagz', 'get', 'configz'],
    ['GET /statusz', 'get', 'statusz'],
    ['GET /stats/summary', 'get', 'stats'],
    ['POST /stats/summary', 'create', 'stats'],
    ['GET /metrics/resource', 'get', 'metrics'],
    ['HEAD /metrics', '', 'metrics'],
    ['OPTIONS /metrics', '', 'metrics'],
    ['GET /logs/', 'get', 'log'],
    ['POST /checkpoint/a/b/c', 'create', 'checkpoint'],
    ['GET /exec/a/b/c', 'get', 'proxy'],
    ['POST /run/a/b/c', 'create', 'proxy'],
    ['GET /containerLogs/a/b/c', 'get', 'proxy'],
    ['PUT /debug/flags/v', 'update', 'proxy'],
    ['PATCH /pods', 'patch', 'pods proxy'],
    ['DELETE /pods', 'delete', 'pods proxy'],
  ])('%s', (target, verb, subresources) => {
    const [method = '', path = ''] = target.split(' ');
    const attributes = attributesOf(method, path);
    expect(attributes.map(({ subresource }) => subresource).join(' ')).toBe(subresources);
    expect(new Set(attributes.map((each) => each.verb))).toEqual(new Set([verb]));
  });
});

describe('the identity in a certificate', () => {
  const extra = { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab'] };
  it.each([
    [
      'the common name and the organizations',
      { CN: 'alice', O: ['dev', 'ops'] },
      { user: 'alice', groups: ['dev', 'ops'], extra },
    ],
    ['one organization', { CN: 'alice', O: 'dev' }, { user: 'alice', groups: ['dev'], extra }],
    ['no organization', { CN: 'alice' }, { user: 'alice', groups: [], extra }],
    ['the last of several names', { CN: ['a', 'b'] }, { user: 'b', groups: [], extra }],
    ['a uid', { CN: 'alice', '1.3.6.1.4.1.57683.2': 'u1' }, { user: 'alice', uid: 'u1', groups: [], extra }],
  ])('%s', (_, subject, identity) => {
    expect(identityOfSubject(subject, 'ab')).toEqual({ kind: 'identity', identity });
  });
  it.each([
    ['nobody without a common name', { O: 'dev' }, 'nobody'],
    ['nobody with an empty one', { CN: '' }, 'nobody'],
    ['two uids', { CN: 'a', '1.3.6.1.4.1.57683.2': ['1', '2'] }, 'invalid'],
    ['an empty uid', { CN: 'a', '1.3.6.1.4.1.57683.2': '' }, 'invalid'],
  ])('%s', (_, subject, kind) => {
    expect(identityOfSubject(subject, 'ab').kind).toBe(kind);
  });
  it.each([
    [['dev'], ['dev', 'system:authenticated']],
    [['system:authenticated'], ['system:authenticated']],
    [['system:unauthenticated'], ['system:unauthenticated']],
  ])('%s is recognized as %s', (groups, all) => {
    expect(recognized({ user: 'a', groups }).groups).toEqual(all);
  });
});

describe('tokens in requests', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER abc def', 'abc'],
    ['Bearer ', undefined],
    ['Bearer', undefined],
    ['Bearer  abc', undefined],
    ['Basic abc', undefined],
    [undefined, undefined],
  ])('%s', (authorization, token) => {
    expect(bearerToken({ authorization })).toEqual(
      token === undefined ? { kind: 'none' } : { kind: 'token', token },
    );
  });

  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  const carrier = (token: string) =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
  it.each([
    [
      'a token beside a protocol',
      { ...upgrade, 'sec-websocket-protocol': `${carrier('abc')}, v5.channel.k8s.io` },
      'token',
    ],
    ['a token alone', { ...upgrade, 'sec-websocket-protocol': carrier('abc') }, 'invalid'],
    ['two tokens', { ...upgrade, 'sec-websocket-protocol': `${carrier('a')},${carrier('b')},x` }, 'invalid'],
    ['padding', { ...upgrade, 'sec-websocket-protocol': `${carrier('ab')}==, x` }, 'invalid'],
    [
      'no text',
      { ...upgrade, 'sec-websocket-protocol': 'base64url.bearer.authorization.k8s.io._w, x' },
      'invalid',
    ],
    ['no WebSocket', { 'sec-websocket-protocol': `${carrier('abc')}, x` }, 'none'],
    ['no token', { ...upgrade, 'sec-websocket-protocol': 'v5.channel.k8s.io' }, 'none'],
  ])('%s', (_, headers, kind) => {
    expect(webSocketToken(headers).kind).toBe(kind);
  });

  it('are stripped after authentication', () => {
    const offered = `v5.channel.k8s.io, ${carrier('abc')}`;
    const request = withoutTokens({
      method: 'GET',
      path: '/',
      query: new URLSearchParams(),
      headers: { authorization: 'Bearer abc', 'sec-websocket-protocol': offered, host: 'a' },
      rawHeaders: ['Host', 'a', 'Authorization', 'Bearer abc', 'Sec-WebSocket-Protocol', offered],
    });
    expect(request.headers).toEqual({ host: 'a', 'sec-websocket-protocol': 'v5.channel.k8s.io' });
    expect(request.rawHeaders).toEqual(['Host', 'a', 'Sec-WebSocket-Protocol', 'v5.channel.k8s.io']);
  });
});

describe('ExpiringCache', () => {
  it('drops expired entries, and the least recently used ones when full', async () => {
    const clock = new VirtualClock();
    const cache = new ExpiringCache<number>(clock, 2);
    cache.set('a', 1, 1000);
    cache.set('b', 2, 5000);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3, 5000);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
    await clock.advance(1000);
    expect([cache.get('a'), cache.get('c')]).toEqual([undefined, 3]);
    expect(cache.size).toBe(1);
  });
});

it.each([
  ['429', new ApiError({ code: 429, message: '' }), true],
  ['500', new ApiError({ code: 500, message: '' }), true],
  ['503 that says when', new ApiError({ code: 503, message: '', retryAfterSeconds: 1 }), true],
  ['503', new ApiError({ code: 503, message: '' }), false],
  ['403', new ApiError({ code: 403, message: '' }), false],
  ['a lost connection', new ApiUnreachable('reset', 'unknown'), true],
  ['nobody listening', new ApiUnreachable('refused', 'not-sent'), false],
])('retries after %s: %s', (_, error, again) => {
  expect(isWorthAnother(error)).toBe(again);
});

/** Responds to each review with the function's result for its number. */
function reviewer<T>(response: (review: T, count: number) => unknown): {
  api: Pick<KubeApi, 'create'>;
  seen: T[];
} {
  const seen: T[] = [];
  const create = async (_: unknown, object: unknown): Promise<unknown> => {
    seen.push(object as T);
    return { ...(object as object), status: response(object as T, seen.length) };
  };
  return { api: { create: create as KubeApi['create'] }, seen };
}

describe('TokenReviews', () => {
  const reviews = (response: (review: TokenReview, count: number) => unknown) => {
    const clock = new VirtualClock();
    const { api, seen } = reviewer(response);
    const registry = new Registry();
    const metrics = createAuthMetrics(registry);
    const tokens = new TokenReviews({ api, clock, metrics, cacheTtlMs: 120_000, random: () => 0 });
    return { tokens, seen, clock, registry };
  };
  const alice = () => ({ authenticated: true, user: { username: 'alice', groups: ['dev'], uid: 'u' } });

  it('asks once per token and lifetime, also for concurrent requests', async () => {
    const { tokens, seen, clock, registry } = reviews(alice);
    const asked = Promise.all([tokens.identityOf('t'), tokens.identityOf('t')]);
    const active = 'authentication_token_cache_active_fetch_count';
    expect(samples(registry)).toMatchObject({
      [`${active}{status="in_flight"}`]: 1,
      [`${active}{status="blocked"}`]: 1,
    });
    const both = await asked;
    expect(both[0]).toEqual({ user: 'alice', uid: 'u', groups: ['dev'] });
    expect(samples(registry)).toMatchObject({
      'apiserver_delegated_authn_request_total{code="201"}': 1,
      'apiserver_delegated_authn_request_duration_seconds_count{code="201"}': 1,
      'authentication_token_cache_request_total{status="miss"}': 2,
      'authentication_token_cache_fetch_total{status="ok"}': 1,
      [`${active}{status="in_flight"}`]: 0,
      [`${active}{status="blocked"}`]: 0,
    });
    await clock.advance(119_000);
    await tokens.identityOf('t');
    expect(seen).toEqual([expect.objectContaining({ kind: 'TokenReview', spec: { token: 't' } })]);
    await clock.advance(1_000);
    await tokens.identityOf('t');
    expect(seen.length).toBe(2);
  });

  it('caches that a token is invalid, but no error', async () => {
    const { tokens, seen, registry } = reviews((_, count) =>
      count === 1 ? { error: 'broken' } : { authenticated: false },
    );
    await expect(tokens.identityOf('t')).rejects.toThrow('broken');
    expect(samples(registry)).toMatchObject({ 'authentication_token_cache_fetch_total{status="error"}': 1 });
    await expect(tokens.identityOf('t')).rejects.toThrow('invalid bearer token');
    await expect(tokens.identityOf('t')).rejects.toThrow('invalid bearer token');
    expect(seen.length).toBe(2);
  });

  it('retries twice, with a growing delay', async () => {
    const { tokens, seen, clock } = reviews((_, count) => {
      if (count < 3) throw new ApiError({ code: 500, message: 'oops' });
      return alice();
    });
    let user: string | undefined;
    const asked = tokens.identityOf('t').then((identity) => {
      user = identity.user;
    });
    const begun = clock.monotonic();
    await clock.advanceUntil(() => user !== undefined, 10_000);
    await asked;
    expect([user, seen.length, clock.monotonic() - begun >= 1250]).toEqual(['alice', 3, true]);
  });
});

it('TokenReviews are limited, and further ones fail at once', async () => {
  let response = (): void => {};
  const gate = new Promise<void>((resolve) => {
    response = resolve;
  });
  const create = async (_: unknown, review: object): Promise<unknown> => {
    await gate;
    return { ...review, status: { authenticated: true, user: { username: 'bob' } } };
  };
  const api = { create: create as KubeApi['create'] };
  const tokens = new TokenReviews({ api, clock: new VirtualClock(), cacheTtlMs: 1000 });
  const asked = Array.from({ length: 64 }, (_, at) => tokens.identityOf(`t${at}`));
  await expect(tokens.identityOf('one more')).rejects.toThrow('too many tokens');
  const shared = tokens.identityOf('t0');
  response();
  await Promise.all(asked);
  expect((await shared).user).toBe('bob');
  expect((await tokens.identityOf('one more')).user).toBe('bob');
});

describe('RefusalLog', () => {
  const entry = (message: string) =>
    ({ kind: 'decision', what: 'server.refuse', message, data: { remoteAddress: '' } }) as const;
  const log = () => {
    const clock = new VirtualClock();
    const timeline = new Timeline({ clock });
    const told = () => timeline.ofNode().map(({ message }) => message);
    return { clock, told, refusals: new RefusalLog(clock, timeline) };
  };

  it('records each of a few, and counts those of a client that does not stop', async () => {
    const { clock, told, refusals } = log();
    for (let n = 0; n < 50; n++) refusals.tell('10.0.0.1', entry('loud'));
    refusals.tell('10.0.0.2', entry('other'));
    expect(told()).toEqual([...Array.from({ length: 20 }, () => 'loud'), 'other']);
    await clock.advance(60_000);
    refusals.tell('10.0.0.1', entry('again'));
    expect(told().slice(21)).toEqual(['30 more requests were refused', 'again']);
  });

  it('counts a limited number of clients, and reports the count of those it forgets', () => {
    const { told, refusals } = log();
    for (let n = 0; n < 21; n++) refusals.tell('first', entry('loud'));
    for (let n = 0; n < 300; n++) refusals.tell(`10.0.1.${n}`, entry('one'));
    expect(told().filter((message) => message === 'one').length).toBe(300);
    expect(told()).toContain('1 more requests were refused');
  });
});

describe('AccessReviews', () => {
  const attributes = { verb: 'get', subresource: 'pods' };
  const who = { user: 'alice', groups: ['dev', 'system:authenticated'], extra: { a: ['b'] } };
  const reviews = (response: (review: SubjectAccessReview, count: number) => unknown) => {
    const clock = new VirtualClock();
    const { api, seen } = reviewer(response);
    const options = { api, clock, nodeName: 'node-1', allowedTtlMs: 300_000, deniedTtlMs: 30_000 };
    return { access: new AccessReviews({ ...options, random: () => 0 }), seen, clock };
  };

  it('asks about the node in full', () => {
    expect(reviewSpec({ ...who, uid: 'u' }, attributes, 'node-1')).toEqual({
      user: 'alice',
      uid: 'u',
      groups: ['dev', 'system:authenticated'],
      extra: { a: ['b'] },
      resourceAttributes: {
        verb: 'get',
        version: 'v1',
        resource: 'nodes',
        subresource: 'pods',
        name: 'node-1',
      },
    });
  });

  it.each([
    [true, 299_000, 301_000],
    [false, 10_000, 31_000],
  ])('caches %s for its time', async (allowed, withinMs, afterMs) => {
    const { access, seen, clock } = reviews(() => ({ allowed }));
    const ask = () => access.isAllowed(who, attributes, '/pods', undefined);
    expect(await ask()).toBe(allowed);
    await clock.advance(withinMs);
    await ask();
    expect(seen.length).toBe(1);
    await clock.advance(afterMs - withinMs);
    await ask();
    expect(seen.length).toBe(2);
  });

  it('does not cache long attributes, nor errors', async () => {
    const { access, seen } = reviews(() => ({ allowed: true }));
    for (let at = 0; at < 2; at++)
      await access.isAllowed(who, attributes, `/${'x'.repeat(10_000)}`, undefined);
    expect(seen.length).toBe(2);
    const confused = reviews(() => ({ allowed: true, denied: true }));
    for (let at = 0; at < 2; at++) {
      await expect(confused.access.isAllowed(who, attributes, '/pods', undefined)).rejects.toThrow('both');
    }
    expect(confused.seen.length).toBe(2);
  });
});
