import { describe, expect, it } from 'vitest';
import { takesGzip } from './metrics-route.js';
import { accepts, cleanPath, dispatch, findRoute, type Route } from './routes.js';

const handle = () => ({ status: 200, headers: {}, body: '' });
const routes: Route[] = [
  { kind: 'plain', path: '/healthz', handle },
  { kind: 'plain', path: '/healthz/ping', handle },
  { kind: 'plain', path: '/logs/', handle },
  { kind: 'resource', path: '/pods', methods: ['GET'], produces: 'application/json', handle },
  { kind: 'resource', path: '/runningpods/', methods: ['GET'], produces: 'application/json', handle },
];
const route = (target: string, accept?: string) => {
  const [method = '', path = ''] = target.split(' ');
  return findRoute(routes, { method, path, headers: accept === undefined ? {} : { accept } });
};

describe('findRoute', () => {
  it.each([
    ['a plain path takes every method', 'PATCH /healthz', 'handle'],
    ['a plain path is exact', 'GET /healthz/', 'unregistered'],
    ['nothing is registered below a plain path by itself', 'GET /healthz/log', 'unregistered'],
    ['the root is not registered', 'GET /', 'unregistered'],
    ['a name that only begins alike is another one', 'GET /podsfoo', 'unregistered'],
    ['a prefix takes what is below it', 'POST /logs/a/b', 'handle'],
    ['a resource takes its method', 'GET /pods', 'handle'],
    ['a resource takes its path with a slash', 'GET /pods/', 'handle'],
    ['a resource refuses other methods', 'PUT /pods', 'wrong-method'],
    ['a resource answers below its path that nothing is there', 'GET /pods/a', 'nothing-below'],
    ['an encoded letter is the letter', 'GET /p%6fds', 'handle'],
    ['an encoded slash is no slash', 'GET /healthz%2Fping', 'unregistered'],
    ['a broken encoding is malformed', 'GET /%zz', 'malformed'],
    ['an asterisk is malformed', 'OPTIONS *', 'malformed'],
  ])('%s', (_, target, kind) => {
    expect(route(target).kind).toBe(kind);
  });

  it.each([
    ['a missing slash', 'GET /logs', '/logs/'],
    ['a missing slash of a resource', 'GET /runningpods', '/runningpods/'],
    ['doubled slashes', 'GET //pods', '/pods'],
    ['dots', 'GET /a/./../pods', '/pods'],
    ['an unclean path that leads nowhere', 'GET /a//b', '/a/b'],
    ['a backslash after dots stays on this host', 'GET /a/../\\evil', '/%5Cevil'],
  ])('redirects %s', (_, target, path) => {
    expect(route(target)).toEqual({ kind: 'redirect', path });
  });

  it('rejects a media type that the client does not accept, after the method', () => {
    expect(route('GET /pods', 'text/plain').kind).toBe('not-acceptable');
    expect(route('PUT /pods', 'text/plain').kind).toBe('wrong-method');
  });
});

describe('dispatch', () => {
  const response = (target: string, headers = {}) => {
    const [method = '', url = ''] = target.split(' ');
    const [path = '', query] = url.split('?');
    return dispatch(routes, { method, path, query: new URLSearchParams(query), headers });
  };
  it('responds to misses in the forms that clients know', async () => {
    expect(await response('GET /nothing')).toMatchObject({ status: 404, body: '404 page not found\n' });
    expect(await response('GET /pods/a')).toMatchObject({ status: 404, body: '404: Page Not Found' });
    expect(await response('POST /pods')).toMatchObject({
      status: 405,
      headers: { Allow: 'GET' },
      body: '405: Method Not Allowed',
    });
    const refused = await response('GET /pods', { accept: 'text/plain' });
    expect(refused.status).toBe(406);
    expect(refused.body).toMatch(/^406: Not Acceptable.*application\/json/s);
  });
  it('keeps the query in a redirect', async () => {
    expect(await response('GET /logs?query=kubelet&tailLines=3')).toMatchObject({
      status: 307,
      headers: { Location: '/logs/?query=kubelet&tailLines=3' },
    });
  });
});

describe('cleanPath', () => {
  it.each([
    ['/', '/'],
    ['/..', '/'],
    ['/a/..', '/'],
    ['/a/b/..', '/a/'],
    ['/a/./b/', '/a/b/'],
    ['/../../a', '/a'],
  ])('%s is %s', (path, clean) => {
    expect(cleanPath(path)).toBe(clean);
  });
});

describe('accepts', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/json', true],
    ['text/html, application/json;q=0.9', true],
    ['text/plain', false],
    ['application/*', false],
  ])('%s: %s', (header, expected) => {
    expect(accepts(header, 'application/json')).toBe(expected);
  });
});

describe('takesGzip', () => {
  it.each([
    [undefined, false],
    ['gzip', true],
    ['zstd, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0.0, br', false],
    ['identity', false],
  ])('%s: %s', (header, expected) => {
    expect(takesGzip(header)).toBe(expected);
  });
});
