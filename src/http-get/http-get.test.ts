import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Cancelled, systemClock } from '../async/index.js';
import type { HTTPGetAction } from '../kube/index.js';
import { HttpGetError, type HttpGetResponse } from './contracts.js';
import { httpGet } from './http-get.js';
import { httpGetRequest } from './request.js';
import { untrusted } from './test-certificate.js';

const open = new Map<Server, Set<Socket>>();

afterEach(async () => {
  for (const [server, sockets] of open) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
  open.clear();
});

async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  open.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return (server.address() as AddressInfo).port;
}

const serve = (handle: RequestListener): Promise<number> => listen(createServer(handle));

function get(
  port: number,
  action: Partial<HTTPGetAction> = {},
  { timeoutMs = 5_000, signal = new AbortController().signal, isPlainHttp2 = false } = {},
): Promise<HttpGetResponse> {
  const request = httpGetRequest(
    { port, ...action },
    { container: { name: 'app' }, podIp: '127.0.0.1', userAgent: 'kube-probe/1.37' },
  );
  return httpGet({ ...request, isPlainHttp2 }, { clock: systemClock, timeoutMs, signal });
}

/** Waits until no test server has a connection. */
async function untilClosed(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) {
    if ([...open.values()].every((sockets) => sockets.size === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('a connection was left behind');
}

describe('headers that cannot be sent', () => {
  it.each([
    ['http', 'X-Broken', 'a\nb', 'net/http: invalid header field value for "X-Broken"'],
    ['https', 'X-Broken', 'a\u0000b', 'net/http: invalid header field value for "X-Broken"'],
    ['https', 'Bad Name', 'x', 'net/http: invalid header field name "Bad Name"'],
    ['https', 'Host', 'a\nb', 'http: invalid Host header'],
  ])('over %s: %s', async (scheme, name, value, text) => {
    const port =
      scheme === 'http'
        ? await serve((_, response) => response.end())
        : await listen(createTlsServer(untrusted, (_, response) => response.end()));
    const asked = get(port, { scheme: scheme.toUpperCase(), httpHeaders: [{ name, value }] });
    await expect(asked).rejects.toThrow(`Get "${scheme}://127.0.0.1:${port}/": ${text}`);
    await untilClosed();
  });

  it('over HTTP/2: two values where there may be one', async () => {
    const port = await listen(createSecureServer(untrusted, (_, response) => void response.end()));
    const httpHeaders = ['a', 'b'].map((value) => ({ name: 'Authorization', value }));
    await expect(get(port, { scheme: 'HTTPS', httpHeaders })).rejects.toThrow(
      `Get "https://127.0.0.1:${port}/": Header field "authorization" must only have a single value`,
    );
    await untilClosed();
  });

  it.each([
    ['Connection', 'keep-alive'],
    ['HTTP2-Settings', 'AAMAAABk'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Connection', 'keep-alive'],
    ['TE', 'gzip'],
    ['Upgrade', 'websocket'],
    ['__proto__', 'x'],
  ])('over HTTP/2: %s, which is left out or harmless', async (name, value) => {
    let seen: string[] = [];
    const port = await listen(
      createSecureServer(untrusted, (request, response) => {
        seen = request.rawHeaders;
        response.end('ok');
      }),
    );
    const asked = get(port, { scheme: 'HTTPS', httpHeaders: [{ name, value }] });
    expect(await asked).toEqual({ status: 200, body: 'ok' });
    expect(seen.includes(name.toLowerCase())).toBe(name === '__proto__');
    await untilClosed();
  });

  it('tabs and non-ASCII letters can be sent', async () => {
    let seen = '';
    const port = await serve((request, response) => {
      seen = Buffer.from(String(request.headers['x-text']), 'latin1').toString();
      response.end();
    });
    await get(port, { httpHeaders: [{ name: 'X-Text', value: 'a\tüß' }] });
    expect(seen).toBe('a\tüß');
  });
});

describe('a response whose body is ignored', () => {
  it('is complete with its headers, and the connection closes', async () => {
    const port = await serve((_, response) => {
      response.writeHead(500);
      response.write('and so on');
    });
    const request = httpGetRequest(
      { port },
      { container: { name: 'app' }, podIp: '127.0.0.1', userAgent: 'test' },
    );
    const limits = { clock: systemClock, timeoutMs: undefined, signal: undefined, ignoresBody: true };
    expect(await httpGet(request, limits)).toEqual({ status: 500, body: '' });
    await untilClosed();
  });
});

describe('an HTTP probe', () => {
  it('sends exactly these headers and closes its connection', async () => {
    let seen: string[] = [];
    const port = await serve((request, response) => {
      seen = request.rawHeaders;
      response.end('hello');
    });
    expect(await get(port)).toEqual({ status: 200, body: 'hello' });
    expect(seen).toEqual([
      ...['Host', `127.0.0.1:${port}`],
      ...['User-Agent', 'kube-probe/1.37'],
      ...['Accept', '*/*'],
      ...['Connection', 'close'],
    ]);
    await untilClosed();
  });

  it('sends the Host header and repeated headers unchanged, in UTF-8', async () => {
    let seen: string[] = [];
    const port = await serve((request, response) => {
      seen = request.rawHeaders;
      response.end();
    });
    await get(port, {
      httpHeaders: [
        { name: 'Host', value: 'shop.example' },
        { name: 'X-A', value: '1' },
        { name: 'X-A', value: 'ü' },
        { name: 'User-Agent', value: '' },
        { name: 'Accept', value: '' },
      ],
    });
    expect(seen).toEqual([
      ...['Host', 'shop.example'],
      ...['X-A', '1'],
      ...['X-A', Buffer.from('ü').toString('latin1')],
      ...['Connection', 'close'],
    ]);
  });

  it('reads the first 10240 bytes of a body and does not wait for more', async () => {
    const port = await serve((_, response) => {
      response.write('x'.repeat(11 * 1024));
      // The body never ends.
    });
    const { status, body } = await get(port);
    expect([status, body.length]).toEqual([200, 10_240]);
    await untilClosed();
  });

  it('follows redirects on the same host', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/') response.writeHead(302, { Location: '/healthz' }).end();
      else response.writeHead(500).end('broken');
    });
    expect(await get(port)).toEqual({ status: 500, body: 'broken' });
    await untilClosed();
  });

  it('does not follow a redirect to another host', async () => {
    const port = await serve((_, response) =>
      response.writeHead(302, { Location: 'http://0.0.0.0/' }).end('gone'),
    );
    expect(await get(port)).toEqual({ status: 302, body: 'gone' });
  });

  it('treats a redirect without a location as the response', async () => {
    const port = await serve((_, response) => response.writeHead(302).end('where'));
    expect(await get(port)).toEqual({ status: 302, body: 'where' });
  });

  it('gives up after ten redirects', async () => {
    const port = await serve((_, response) => response.writeHead(302, { Location: '/x' }).end());
    await expect(get(port)).rejects.toThrow(new HttpGetError('Get "/x": stopped after 10 redirects'));
  });

  it('reports a refused connection', async () => {
    const port = await serve(() => {});
    for (const server of open.keys()) await new Promise((resolve) => server.close(resolve));
    open.clear();
    await expect(get(port)).rejects.toThrow(
      `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  it('reports a connection closed without a response', async () => {
    const port = await listen(createTcpServer((socket) => socket.end()));
    await expect(get(port)).rejects.toThrow(`Get "http://127.0.0.1:${port}/": EOF`);
  });

  it('reports a reset connection', async () => {
    const port = await listen(
      createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    await expect(get(port)).rejects.toThrow(
      /^Get "http:\/\/127\.0\.0\.1:\d+\/": read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: read: connection reset by peer$/,
    );
  });

  it('times out waiting for a response', async () => {
    const port = await serve(() => {});
    await expect(get(port, {}, { timeoutMs: 50 })).rejects.toThrow(
      `Get "http://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    );
    await untilClosed();
  });

  it('fails if the body does not arrive', async () => {
    const port = await serve(
      (_, response) => void response.writeHead(200, { 'Content-Length': '9' }).write('a'),
    );
    const failed = get(port, {}, { timeoutMs: 50 });
    await expect(failed).rejects.toThrow(
      'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    );
    await expect(failed).rejects.not.toBeInstanceOf(HttpGetError);
    await untilClosed();
  });

  it('fails if the body breaks off', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { 'Content-Length': '9' }).write('a');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(get(port)).rejects.toThrow('unexpected EOF');
  });

  it('ends with the agent and leaves no connection', async () => {
    const port = await serve(() => {});
    const controller = new AbortController();
    const cut = get(port, {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 30);
    await expect(cut).rejects.toBeInstanceOf(Cancelled);
    await untilClosed();
  });
});

describe('a probe over HTTP/2 without TLS', () => {
  const isPlainHttp2 = true;
  it('begins with HTTP/2 at once, also after a redirect', async () => {
    const seen: string[] = [];
    const port = await listen(
      createHttp2Server((request, response) => {
        seen.push(request.httpVersion, request.scheme, request.url);
        expect(request.rawHeaders).not.toContain('connection');
        if (request.url === '/') response.writeHead(302, { location: '/two' }).end();
        else response.writeHead(503).end('not yet');
      }) as Server,
    );
    expect(await get(port, {}, { isPlainHttp2 })).toEqual({ status: 503, body: 'not yet' });
    expect(seen).toEqual(['2.0', 'http', '/', '2.0', 'http', '/two']);
    await untilClosed();
  });

  it.each([
    ['speaks HTTP/1', () => createServer((_, response) => response.end('ok'))],
    ['closes at once', () => createTcpServer((socket) => socket.resume().end())],
  ])('fails with a server that %s', async (_, create) => {
    const port = await listen(create());
    await expect(get(port, {}, { isPlainHttp2 })).rejects.toBeInstanceOf(HttpGetError);
    await untilClosed();
  });

  it('ends in time, and with the agent', async () => {
    const port = await listen(createTcpServer((socket) => socket.resume()));
    await expect(get(port, {}, { isPlainHttp2, timeoutMs: 50 })).rejects.toThrow('context deadline exceeded');
    const signal = AbortSignal.timeout(30);
    await expect(get(port, {}, { isPlainHttp2, signal })).rejects.toBeInstanceOf(Cancelled);
    await untilClosed();
  });
});

describe('an HTTPS probe', () => {
  it('trusts every certificate', async () => {
    const port = await listen(createTlsServer(untrusted, (_, response) => void response.end('secret')));
    expect(await get(port, { scheme: 'HTTPS' })).toEqual({ status: 200, body: 'secret' });
    await untilClosed();
  });

  it('speaks HTTP/2 if the server does', async () => {
    let seen: string[] = [];
    const server = createSecureServer(untrusted, (request, response) => {
      seen = request.rawHeaders;
      if (request.url === '/') response.writeHead(301, { location: '/two' }).end();
      else response.end('two');
    });
    const port = await listen(server);
    expect(await get(port, { scheme: 'HTTPS', httpHeaders: [{ name: 'X-A', value: '1' }] })).toEqual({
      status: 200,
      body: 'two',
    });
    expect(seen).toEqual(
      expect.arrayContaining([
        ':authority',
        `127.0.0.1:${port}`,
        'x-a',
        '1',
        'user-agent',
        'kube-probe/1.37',
      ]),
    );
    expect(seen).not.toContain('connection');
    await untilClosed();
  });

  it('sends a Host header in UTF-8', async () => {
    let seen = '';
    const note: RequestListener = (request, response) => {
      seen = Buffer.from(request.headers.host ?? '', 'latin1').toString();
      response.end();
    };
    const port = await listen(createTlsServer(untrusted, note));
    await get(port, { scheme: 'HTTPS', httpHeaders: [{ name: 'Host', value: 'ж' }] });
    expect(seen).toBe('ж');
    await untilClosed();
  });

  it('sends values in UTF-8 over HTTP/2, and reports a Host header that the server refuses', async () => {
    let seen = '';
    const server = createSecureServer(untrusted, (request, response) => {
      seen = Buffer.from(String(request.headers['x-text']), 'latin1').toString();
      response.end();
    });
    const port = await listen(server);
    await get(port, { scheme: 'HTTPS', httpHeaders: [{ name: 'X-Text', value: 'щ' }] });
    expect(seen).toBe('щ');
    const refused = get(port, { scheme: 'HTTPS', httpHeaders: [{ name: 'Host', value: 'ж' }] });
    await expect(refused).rejects.toBeInstanceOf(HttpGetError);
    await untilClosed();
  });

  it('reaches an address with a zone, which no URL can express', async () => {
    const port = await listen(
      createSecureServer(untrusted, (_, response) => void response.end('ok')),
      '::1',
    );
    expect(await get(port, { scheme: 'HTTPS', host: '::1%lo' })).toEqual({ status: 200, body: 'ok' });
    await untilClosed();
  });

  it('reports a port that does not exist', async () => {
    const request = httpGetRequest(
      { port: 443, scheme: 'HTTPS' },
      { container: { name: 'app' }, podIp: '127.0.0.1', userAgent: 'test' },
    );
    const broken = { ...request, url: { ...request.url, port: 65_536 } };
    const limits = { clock: systemClock, timeoutMs: 5_000, signal: undefined };
    await expect(httpGet(broken, limits)).rejects.toThrow('Get "https://127.0.0.1:65536/": ');
  });

  it('reports a server that speaks plain HTTP', async () => {
    const port = await serve((_, response) => response.end());
    await expect(get(port, { scheme: 'HTTPS' })).rejects.toThrow(
      `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`,
    );
  });

  it('times out waiting for the handshake', async () => {
    const port = await listen(createTcpServer((socket) => socket.resume()));
    await expect(get(port, { scheme: 'HTTPS' }, { timeoutMs: 50 })).rejects.toBeInstanceOf(HttpGetError);
    await untilClosed();
  });
});
