import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Timeline } from '../timeline/index.js';
import { podExecPath } from './exec-path.js';
import { pageLimits } from './limits.js';
import { nodeRequest } from './node-paths.js';
import { type PageServer, startPageServer } from './page-server.js';
import { foreignRequest } from './request-rules.js';
import { keyHeader, PageSessions } from './sessions.js';

describe('foreignRequest', () => {
  const own = { host: '127.0.0.1:8080' };
  it.each<[string, Record<string, string>, boolean, string | undefined]>([
    ['the page itself', own, false, undefined],
    ['the page by another name of loopback', { host: 'localhost:8080' }, false, undefined],
    ['the page, with its origin', { ...own, origin: 'http://127.0.0.1:8080' }, true, undefined],
    ['a typed address', { ...own, 'sec-fetch-site': 'none' }, false, undefined],
    [
      'a link elsewhere',
      { ...own, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      false,
      undefined,
    ],
    [
      'a name that somebody makes resolve to loopback',
      { host: 'evil.example:8080' },
      false,
      'the Host is not this page',
    ],
    ['another port', { host: '127.0.0.1:8081' }, false, 'the Host is not this page'],
    ['no Host', {}, false, 'the Host is not this page'],
    ['another origin', { ...own, origin: 'http://evil.example' }, false, 'the Origin is not this page'],
    [
      'another port as origin',
      { ...own, origin: 'http://127.0.0.1:9' },
      false,
      'the Origin is not this page',
    ],
    ['the opaque origin', { ...own, origin: 'null' }, false, 'the Origin is not this page'],
    ['a WebSocket without an origin', own, true, 'the request has no Origin'],
    [
      'a script of another site',
      { ...own, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      false,
      'another site asks',
    ],
    ['a script of another port', { ...own, 'sec-fetch-site': 'same-site' }, false, 'another site asks'],
  ])('%s', (_, headers, needsOrigin, refusal) => {
    expect(foreignRequest({ port: 8080, headers, needsOrigin })).toBe(refusal);
  });
});

describe('nodeRequest', () => {
  it.each([
    ['pods', 'read'],
    ['debug/timeline', 'read'],
    ['containerLogs/default/web-1/app', 'read'],
    ['exec/default/web-1/app', 'open'],
    ['containerLogs/default/../app', 'refuse'],
    ['containerLogs/default/a%2Fb/app', 'refuse'],
    ['stop', 'refuse'],
    ['run/default/web/app', 'refuse'],
    ['debug/flags/v', 'refuse'],
    ['debug/what-if/config', 'refuse'],
    ['portForward/default/web', 'refuse'],
    ['', 'refuse'],
  ])('%s: %s', (path, expected) => {
    expect(nodeRequest(path.split('/'))).toBe(expected);
  });
});

describe('podExecPath', () => {
  it('asks for the same command as at the node, with the words of the API', () => {
    const asked = new URLSearchParams([
      ['command', 'sh'],
      ['command', '-c'],
      ['command', 'echo a&container=b'],
      ['input', '1'],
      ['output', '1'],
      ['tty', '1'],
    ]);
    const url = new URL(podExecPath(['exec', 'default', 'web-1', 'app'], asked), 'https://api');
    expect(url.pathname).toBe('/api/v1/namespaces/default/pods/web-1/exec');
    expect([...url.searchParams]).toEqual([
      ['container', 'app'],
      ['command', 'sh'],
      ['command', '-c'],
      ['command', 'echo a&container=b'],
      ['stdin', '1'],
      ['stdout', '1'],
      ['tty', '1'],
    ]);
  });
});

describe('PageSessions', () => {
  const sessions = new PageSessions(1);
  const { key = '', setCookie = '' } = sessions.letIn(sessions.newSecret()) ?? {};
  const [cookie = ''] = setCookie.split(';');
  it.each<[string, Record<string, string>, boolean]>([
    ['cookie and key', { cookie, [keyHeader]: key }, true],
    [
      'the key of a WebSocket',
      { cookie, 'sec-websocket-protocol': `v5.channel.k8s.io, nodelet.key.${key}` },
      true,
    ],
    ['among other cookies', { cookie: `a=b; ${cookie}; c`, [keyHeader]: key }, true],
    ['no key', { cookie }, false],
    ['no cookie', { [keyHeader]: key }, false],
    ['another key', { cookie, [keyHeader]: `${key}x` }, false],
    ['another cookie', { cookie: `${cookie}x`, [keyHeader]: key }, false],
  ])('%s', (_, headers, known) => {
    expect(sessions.isKnown(headers)).toBe(known);
  });

  it('takes each secret once, and forgets the oldest', () => {
    const all = new PageSessions(1);
    const first = all.newSecret();
    const others = Array.from({ length: pageLimits.openAddresses }, () => all.newSecret());
    expect(all.letIn(first)).toBeUndefined();
    expect(others.map((secret) => all.letIn(secret) !== undefined)).toEqual(others.map(() => true));
    expect(all.letIn(others[0] ?? '')).toBeUndefined();
  });

  it('lets the oldest browser out for a new one too many', () => {
    const all = new PageSessions(1);
    const headers = Array.from({ length: pageLimits.browsers + 1 }, () => {
      const let_ = all.letIn(all.newSecret());
      return { cookie: let_?.setCookie.split(';')[0] ?? '', [keyHeader]: let_?.key ?? '' };
    });
    expect(headers.map((one) => all.isKnown(one))).toEqual(headers.map((_, at) => at > 0));
  });
});

describe('the server', () => {
  let server: PageServer;
  let address: URL;
  beforeEach(async () => {
    server = await startPageServer({
      target: { kind: 'run', name: 'none', endpoint: () => Promise.reject(new Error('it is gone')) },
      port: 0,
      timeline: new Timeline(),
      files: async (name) =>
        name === 'index.html' ? { type: 'text/html; charset=utf-8', bytes: Buffer.from('<p>') } : undefined,
    });
    address = new URL(server.newAddress());
  });
  afterEach(() => server.close());

  const ask = (
    path: string,
    options: {
      readonly method?: string;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    } = {},
  ): Promise<{ status: number; headers: Record<string, unknown>; body: string }> =>
    new Promise((resolve, reject) => {
      const { method = 'GET', headers = {}, body = '' } = options;
      const asked = request({ host: '127.0.0.1', port: address.port, path, method, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
        );
      });
      asked.on('error', reject).end(body);
    });
  const letIn = async (): Promise<Record<string, string>> => {
    const { headers, body } = await ask('/session', {
      method: 'POST',
      headers: { origin: address.origin },
      body: address.hash.slice(1),
    });
    const [cookie = ''] = String(headers['set-cookie']).split(';');
    return { cookie, [keyHeader]: JSON.parse(body).key };
  };

  it('listens on loopback, and guards every answer', async () => {
    expect(address.hostname).toBe('127.0.0.1');
    for (const path of ['/', '/nothing.js', '/node/pods', '/node/stop', '/session']) {
      const { headers } = await ask(path);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      });
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    }
  });

  it.each<[string, string, object, number]>([
    ['its files to everybody', '/', {}, 200],
    ['no other file', '/..%2Fnodelet.js', {}, 404],
    ['nothing to another host', '/', { headers: { host: 'evil.example' } }, 403],
    ['nothing of the node to a stranger', '/node/pods', {}, 401],
    [
      'no session for a guess',
      '/session',
      { method: 'POST', headers: { origin: 'SELF' }, body: 'x'.repeat(43) },
      403,
    ],
    ['no session without an origin', '/session', { method: 'POST', body: 'x' }, 403],
    [
      'no long secret',
      '/session',
      { method: 'POST', headers: { origin: 'SELF' }, body: 'x'.repeat(5000) },
      413,
    ],
  ])('gives %s', async (_, path, options, status) => {
    const given = JSON.parse(JSON.stringify(options).replace('SELF', address.origin));
    expect((await ask(path, given)).status).toBe(status);
  });

  it('asks the node for what the page shows, and says when it is gone', async () => {
    const headers = await letIn();
    expect(await ask('/node/pods', { headers })).toMatchObject({
      status: 502,
      body: 'none does not answer: it is gone',
    });
    expect((await ask('/node/stop', { headers })).status).toBe(404);
    expect(
      (await ask('/node/pods', { method: 'POST', headers: { ...headers, origin: address.origin } })).status,
    ).toBe(405);
    expect((await ask('/node/exec/default/web/app', { headers })).status).toBe(404);
  });
});
