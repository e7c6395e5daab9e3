/** The page in front of an agent: its API over TLS, with the credentials of whoever runs the page. */
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import {
  authority,
  call,
  type MainServer,
  type MainTestOptions,
  startMain,
  testApi,
} from '../server/main/test-main.js';
import { Timeline } from '../timeline/index.js';
import { type PageServer, startPageServer } from './page-server.js';
import { keyHeader } from './sessions.js';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function start(
  token: string,
  test: MainTestOptions = {},
): Promise<{ main: MainServer; page: PageServer }> {
  const main = await startMain({ api: testApi().api, ...test });
  open.push(main);
  const page = await startPageServer({
    target: {
      kind: 'agent',
      name: 'node-1',
      endpoint: async () => ({
        kind: 'https',
        url: new URL(`https://127.0.0.1:${main.port}`),
        headers: { Authorization: `Bearer ${token}` },
        tls: { ca: authority.pem },
      }),
    },
    port: 0,
    timeline: new Timeline(),
    files: async () => undefined,
  });
  open.push(page);
  return { main, page };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function askThrough(page: PageServer, path: string): Promise<Answer> {
  const address = new URL(page.newAddress());
  const ask = (asked: string, method: string, headers: Record<string, string>, body = ''): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: address.port, path: asked, method, headers },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: text, headers: answer.headers }),
          );
        },
      );
      sent.on('error', reject).end(body);
    });
  const let_ = await ask('/session', 'POST', { origin: address.origin }, address.hash.slice(1));
  const [cookie = ''] = String(let_.headers['set-cookie']).split(';');
  return ask(path, 'GET', { cookie, [keyHeader]: JSON.parse(let_.body).key });
}

describe('an agent', () => {
  it('answers with what its API has, and no browser sees the token', async () => {
    const { main, page } = await start('good');
    main.timeline.record({
      kind: 'transition',
      what: 'pod.phase',
      message: 'Pending → Running',
      pod: { uid: 'u', name: 'web', namespace: 'default' },
      data: { from: 'Pending', to: 'Running' },
    });
    const pods = await askThrough(page, '/node/pods');
    expect(pods).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(pods.body).kind).toBe('PodList');
    const { status, body, headers } = await askThrough(page, '/node/debug/timeline');
    expect(status).toBe(200);
    const lines = body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({ what: 'pod.phase', message: 'Pending → Running' }),
    );
    expect(lines.at(-1)).toMatchObject({ current: true });
    expect(JSON.stringify([pods, headers, body])).not.toContain('good');
  });

  it.each([
    ['an agent that does not know the token', 'bad', {}, 403, 'Unauthorized'],
    [
      'an agent that does not allow it',
      'good',
      { api: testApi(() => false).api },
      403,
      'Forbidden (user=bob, verb=get, resource=nodes, subresource(s)=[proxy])',
    ],
  ])('%s refuses, and the browser stays let in', async (_, token, test, status, said) => {
    const { page } = await start(token, test);
    expect(await askThrough(page, '/node/debug/timeline')).toMatchObject({
      status,
      body: expect.stringContaining(said),
    });
  });

  it('is not seen where the debugging handlers are off', async () => {
    const { main } = await start('good', { config: { enableDebuggingHandlers: false } });
    for (const path of ['/debug/timeline', '/debug/watch'])
      expect((await call(main, `GET ${path}`, { token: 'good' })).status).toBe(405);
  });

  it('is asked as nodes/proxy for its timeline and its pods, followed', async () => {
    const { api, accessReviews } = testApi();
    const { page } = await start('good', { api });
    await askThrough(page, '/node/debug/timeline');
    expect(accessReviews.map(({ spec }) => spec.resourceAttributes)).toMatchObject([
      { verb: 'get', resource: 'nodes', subresource: 'proxy' },
    ]);
  });
});
