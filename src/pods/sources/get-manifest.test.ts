import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Cancelled, systemClock } from '../../async/index.js';
import { untrusted } from '../../http-get/test-certificate.js';
import { type GetManifestOptions, getManifest } from './get-manifest.js';

const open: Server[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: Server): Promise<string> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (handle: RequestListener): Promise<string> => listen(createServer(handle));

const get = (url: string, options: Partial<GetManifestOptions> = {}): ReturnType<typeof getManifest> =>
  getManifest({
    clock: systemClock,
    url,
    headers: {},
    timeoutMs: 5_000,
    limitBytes: 1_000,
    signal: new AbortController().signal,
    ...options,
  });

describe('the request for a manifest', () => {
  async function sent(url: (host: string) => string, headers: GetManifestOptions['headers']) {
    let line = '';
    let seen: string[] = [];
    const host = await serve((request, response) => {
      line = `${request.method} ${request.url} HTTP/${request.httpVersion}`;
      seen = request.rawHeaders;
      response.end();
    });
    await get(url(host), { headers });
    const pairs = seen.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${seen[at + 1]}`] : []));
    return { line, headers: pairs.map((text) => text.replace(host, 'HOST')).sort() };
  }

  it.each<[string, (host: string) => string, GetManifestOptions['headers'], string, readonly string[]]>([
    [
      'nothing but what HTTP needs',
      (host) => `http://${host}/a/b?c=d#e`,
      {},
      'GET /a/b?c=d HTTP/1.1',
      ['Connection: close', 'Host: HOST'],
    ],
    [
      'the headers as given, each of several values',
      (host) => `http://${host}`,
      { 'x-One': ['1', '2'], Authorization: ['Bearer t'] },
      'GET / HTTP/1.1',
      ['Authorization: Bearer t', 'Connection: close', 'Host: HOST', 'x-One: 1', 'x-One: 2'],
    ],
    [
      'the host of the URL, whatever the headers say',
      (host) => `http://${host}/`,
      { host: ['pods.example'] },
      'GET / HTTP/1.1',
      ['Connection: close', 'Host: HOST'],
    ],
    [
      'user and password of the URL',
      (host) => `http://us%40er:p%3Aw@${host}/`,
      {},
      'GET / HTTP/1.1',
      [
        `Authorization: Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
        'Connection: close',
        'Host: HOST',
      ],
    ],
    [
      'a given Authorization rather than user and password',
      (host) => `http://user:pw@${host}/`,
      { authorization: ['Bearer t'] },
      'GET / HTTP/1.1',
      ['Connection: close', 'Host: HOST', 'authorization: Bearer t'],
    ],
  ])('has %s', async (_, url, headers, line, expected) => {
    expect(await sent(url, headers)).toEqual({ line, headers: expected });
  });
});

describe('the response with a manifest', () => {
  it('has its status in words and its bytes', async () => {
    const host = await serve((_, response) => response.writeHead(404, 'Nowhere').end(Buffer.from([0xff, 0])));
    expect(await get(`http://${host}`)).toEqual({
      status: 404,
      statusText: '404 Nowhere',
      body: Buffer.from([0xff, 0]),
    });
  });

  it('is refused when it reaches the limit, and is not read to its end', async () => {
    const host = await serve((_, response) => void response.write('x'.repeat(1_000)));
    await expect(get(`http://${host}`)).rejects.toThrow('the response reaches the limit of 1000 bytes');
  });

  it('may be one byte shorter than the limit', async () => {
    const host = await serve((_, response) => void response.end('x'.repeat(999)));
    expect((await get(`http://${host}`)).body).toHaveLength(999);
  });

  it('is an error when it breaks off', async () => {
    const host = await serve((_, response) => {
      response.writeHead(200, { 'Content-Length': '9' }).write('a');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(get(`http://${host}`)).rejects.toThrow('aborted');
  });

  it('is an error when it takes too long', async () => {
    const host = await serve((_, response) => void response.writeHead(200).write('a'));
    await expect(get(`http://${host}`, { timeoutMs: 100 })).rejects.toThrow('no response within 0.1 s');
  });

  it('is nothing when the caller has gone', async () => {
    const host = await serve(() => {});
    const controller = new AbortController();
    const cut = get(`http://${host}`, { signal: controller.signal });
    setTimeout(() => controller.abort(), 30);
    await expect(cut).rejects.toBeInstanceOf(Cancelled);
    await expect(get(`http://${host}`, { signal: controller.signal })).rejects.toBeInstanceOf(Cancelled);
  });
});

describe('a server that gives no manifest', () => {
  it('refuses the connection', async () => {
    const host = await serve(() => {});
    await new Promise((resolve) => open.pop()?.close(resolve));
    await expect(get(`http://${host}`)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      message: `connect ECONNREFUSED ${host}`,
    });
  });

  it('hangs up', async () => {
    const host = await serve((request) => request.socket.destroy());
    await expect(get(`http://${host}`)).rejects.toMatchObject({
      code: 'ECONNRESET',
      message: 'socket hang up',
    });
  });

  it('has a certificate that nobody signed', async () => {
    const host = await listen(createTlsServer(untrusted, (_, response) => response.end('x')));
    await expect(get(`https://${host}`)).rejects.toThrow('self-signed certificate');
  });
});

describe('redirects of a manifest', () => {
  it.each([301, 302, 303, 307, 308])('status %i is followed, with the same headers', async (status) => {
    let token: string | string[] | undefined;
    const host = await serve((request, response) => {
      if (request.url === '/old') response.writeHead(status, { Location: '/new' }).end('moved');
      else {
        token = request.headers['x-token'];
        response.end(request.headers.authorization);
      }
    });
    const answer = await get(`http://user:pw@${host}/old`, { headers: { 'X-Token': ['t'] } });
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe('Basic dXNlcjpwdw==');
    expect(token).toBe('t');
  });

  it.each([300, 304])('status %i is the response', async (status) => {
    const host = await serve((_, response) => response.writeHead(status, { Location: '/new' }).end());
    expect((await get(`http://${host}/old`)).status).toBe(status);
  });

  it('another host gets no headers', async () => {
    let seen: string[] = [];
    const other = await serve((request, response) => {
      seen = request.rawHeaders;
      response.end('there');
    });
    const host = await serve((_, response) =>
      response.writeHead(302, { Location: `http://${other}/` }).end(),
    );
    const answer = await get(`http://user:pw@${host}/`, { headers: { 'X-Token': ['t'] } });
    expect(answer.body.toString()).toBe('there');
    expect(seen).toEqual(['Host', other, 'Connection', 'close']);
  });

  it('end after ten', async () => {
    let requests = 0;
    const host = await serve((_, response) => {
      requests++;
      response.writeHead(302, { Location: '/again' }).end();
    });
    await expect(get(`http://${host}/`)).rejects.toThrow('stopped after 10 redirects');
    expect(requests).toBe(11);
  });

  it('must be URLs', async () => {
    const host = await serve((_, response) => response.writeHead(302, { Location: 'http://[' }).end());
    await expect(get(`http://${host}/`)).rejects.toThrow('Invalid URL');
  });
});
