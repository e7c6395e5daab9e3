import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { Registry } from '../metrics/index.js';
import { Timeline } from '../timeline/index.js';
import type { ServerKubelet } from './contracts.js';
import { type ListenOptions, listen, type ServerListener } from './listen.js';
import { runningPodsRoute } from './pods.js';
import { startHealthz, startReadOnly } from './readonly.js';
import type { RequestGate, Route } from './routes.js';

const listeners: ServerListener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

const options = (limits: ListenOptions['limits'] = {}) => ({
  address: '127.0.0.1',
  port: 0,
  timeline: new Timeline(),
  limits,
});

function kept<L extends ServerListener>(listener: L): L {
  listeners.push(listener);
  return listener;
}

async function openWith(routes: Route[], limits?: ListenOptions['limits']): Promise<ServerListener> {
  return kept(await listen(routes, { ...options(limits), name: 'healthz' }));
}

const portOf = (listener: ServerListener): number => listener.address()!.port;

function ask(
  listener: ServerListener,
  target: string,
  extra: { headers?: Record<string, string>; agent?: Agent; body?: string } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string; raw: Buffer }> {
  const [method = '', path = ''] = target.split(' ');
  return new Promise((resolve, reject) => {
    const { headers = {}, agent = false } = extra;
    const call = request(
      { host: '127.0.0.1', port: portOf(listener), method, path, headers, agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const raw = Buffer.concat(chunks);
          resolve({ status: response.statusCode!, headers: response.headers, body: raw.toString(), raw });
        });
      },
    );
    call.on('error', reject);
    call.end(extra.body);
  });
}

async function dial(listener: ServerListener): Promise<{ socket: Socket; ended: Promise<string> }> {
  const socket = connect(portOf(listener), '127.0.0.1');
  sockets.push(socket);
  let seen = '';
  socket.on('data', (chunk) => {
    seen += chunk.toString();
  });
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(seen)));
  await once(socket, 'connect');
  return { socket, ended };
}

const never: Route = { kind: 'plain', path: '/never', handle: () => new Promise(() => {}) };
const quick: Route = {
  kind: 'plain',
  path: '/quick',
  handle: () => ({ status: 200, headers: {}, body: 'quick' }),
};

const kubelet: ServerKubelet = {
  pods: () => [{ metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: { containers: [] } }],
  runningPods: async () => {
    throw new Error('the runtime is away');
  },
  metricsText: () => 'a 1\n',
  probeMetricsText: () => 'b 2\n',
  healthChecks: [{ name: 'syncloop', check: () => undefined }],
};

describe('the read-only port', () => {
  it('counts its requests apart from those of the main port', async () => {
    const registry = new Registry();
    const listener = kept(await startReadOnly({ ...kubelet, registry }, options()));
    await ask(listener, 'GET /metrics');
    await ask(listener, 'GET /runningpods/');
    expect(registry.text()).toContain(
      'kubelet_http_requests_total{method="GET",path="metrics",server_type="readonly",long_running="false"} 1',
    );
    expect(registry.text()).toContain('path="runningpods",server_type="readonly"');
  });
  it.each([
    ['GET /healthz', 200, 'ok'],
    ['POST /healthz', 200, 'ok'],
    ['GET /healthz/log', 200, 'ok'],
    ['GET /metrics/probes', 200, 'b 2\n'],
    ['GET /healthz/syncloop', 200, 'ok'],
    ['GET /healthz?verbose', 200, '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n'],
    ['HEAD /healthz', 200, ''],
    [
      'GET /pods',
      200,
      '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","namespace":"default","uid":"u"},"spec":{"containers":[]},"status":{}}]}\n',
    ],
    ['POST /pods', 405, '405: Method Not Allowed'],
    ['GET /metrics', 200, 'a 1\n'],
    ['POST /exec/x', 405, 'Debug endpoints are disabled.\n'],
    ['GET /runningpods', 307, ''],
    ['GET /runningpods/', 405, 'Debug endpoints are disabled.\n'],
    ['POST /run/a/b/c', 405, 'Debug endpoints are disabled.\n'],
    ['GET /attach/a/b/c', 405, 'Debug endpoints are disabled.\n'],
    ['GET /portForward/a/b', 405, 'Debug endpoints are disabled.\n'],
    ['GET /containerLogs/a/b/c', 405, 'Debug endpoints are disabled.\n'],
    ['GET /debug/pprof/heap', 405, 'Debug endpoints are disabled.\n'],
    ['GET /logs/syslog', 405, 'Debug endpoints are disabled.\n'],
    ['GET /flagz', 404, '404 page not found\n'],
    ['GET /statusz', 404, '404 page not found\n'],
    ['POST /checkpoint/a/b/c', 404, '404 page not found\n'],
    ['PUT /debug/flags/v', 404, '404 page not found\n'],
    ['GET /configz', 404, '404 page not found\n'],
    ['GET /stats/container', 404, '404 page not found\n'],
    ['GET /../etc/passwd', 307, ''],
  ])('%s is %i', async (target, status, body) => {
    const listener = kept(await startReadOnly(kubelet, options()));
    const response = await ask(listener, target);
    expect([response.status, response.body]).toEqual([status, body]);
  });

  it('sends media types, and compressed metrics on request', async () => {
    const listener = kept(await startReadOnly(kubelet, options()));
    expect((await ask(listener, 'GET /pods')).headers['content-type']).toBe('application/json');
    const health = await ask(listener, 'GET /healthz');
    expect(health.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-length': '2',
    });
    const metrics = await ask(listener, 'GET /metrics', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(metrics.headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-encoding': 'gzip',
    });
    expect(gunzipSync(metrics.raw).toString()).toBe('a 1\n');
  });

  it('counts the results of its health checks', async () => {
    const listener = kept(await startReadOnly(kubelet, options()));
    await ask(listener, 'GET /healthz');
    const { body } = await ask(listener, 'GET /metrics/slis');
    expect(body).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1');
  });

  it('fails metrics as a whole', async () => {
    const broken = {
      ...kubelet,
      metricsText: () => {
        throw new Error('no such series');
      },
    };
    const listener = kept(await startReadOnly(broken, options()));
    const response = await ask(listener, 'GET /metrics');
    expect(response.status).toBe(500);
    expect(response.body).toContain('no such series');
  });

  it('fails to start on a port that is taken, and names it', async () => {
    const first = kept(await startReadOnly(kubelet, options()));
    const second = startReadOnly(kubelet, { ...options(), port: portOf(first) });
    await expect(second).rejects.toThrow(`the readonly server cannot listen on 127.0.0.1:${portOf(first)}`);
  });
});

describe('running pods', () => {
  it('report why the runtime call failed', async () => {
    const listener = await openWith([runningPodsRoute(kubelet)]);
    const response = await ask(listener, 'GET /runningpods/');
    expect([response.status, response.body]).toEqual([500, 'the runtime is away']);
  });
});

const noChecks = { healthChecks: [] };

describe('the health port', () => {
  it('always responds to ping, and has no other path', async () => {
    const listener = kept(await startHealthz(noChecks, options()));
    expect((await ask(listener, 'GET /healthz')).body).toBe('ok');
    expect((await ask(listener, 'GET /healthz/ping')).body).toBe('ok');
    expect((await ask(listener, 'GET /healthz/nothing')).status).toBe(404);
    expect((await ask(listener, 'GET /pods')).status).toBe(404);
  });

  it('listens again five seconds after the port was taken', async () => {
    const clock = new VirtualClock();
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    const { port } = occupant.address() as AddressInfo;
    const timeline = new Timeline();
    const listener = kept(await startHealthz(noChecks, { address: '127.0.0.1', port, timeline, clock }));
    expect(listener.address()).toBeUndefined();
    expect(timeline.ofNode().at(-1)?.error).toContain('EADDRINUSE');
    await new Promise((resolve) => occupant.close(resolve));
    await clock.advance(4_999);
    expect(listener.address()).toBeUndefined();
    await clock.advance(1);
    await expect.poll(() => listener.address()?.port).toBe(port);
    expect((await ask(listener, 'GET /healthz')).body).toBe('ok');
    await listener.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('closes while it waits to listen again', async () => {
    const clock = new VirtualClock();
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    const { port } = occupant.address() as AddressInfo;
    const listener = await startHealthz(noChecks, {
      address: '127.0.0.1',
      port,
      timeline: new Timeline(),
      clock,
    });
    await listener.close();
    expect(clock.pendingTimers).toBe(0);
    await new Promise((resolve) => occupant.close(resolve));
  });
});

describe('a misbehaving client', () => {
  it('is cut off when its headers do not end', async () => {
    const listener = await openWith([quick], { headersMs: 100, requestMs: 200 });
    const { socket, ended } = await dial(listener);
    socket.write('GET /quick HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const drip = setInterval(() => socket.write('x'), 20);
    const seen = await ended;
    clearInterval(drip);
    expect(seen).toMatch(/^HTTP\/1.1 408 /);
  });

  it('is cut off when it sends nothing at all', async () => {
    const listener = await openWith([quick], { headersMs: 100, requestMs: 200 });
    const { ended } = await dial(listener);
    await ended;
  });

  it('is cut off when its body does not end', async () => {
    const listener = await openWith([quick], { headersMs: 100, requestMs: 200 });
    const { socket, ended } = await dial(listener);
    socket.write('POST /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nx');
    await ended;
  });

  it('is rejected with too large headers', async () => {
    const listener = await openWith([quick], { headersBytes: 2_000 });
    const { socket, ended } = await dial(listener);
    socket.write(`GET /quick HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(4_000)}\r\n\r\n`);
    expect(await ended).toMatch(/^HTTP\/1.1 431 /);
  });

  it('is rejected with a declared body size that is too large', async () => {
    const listener = await openWith([quick], { bodyBytes: 10 });
    const { socket, ended } = await dial(listener);
    socket.write('POST /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1.1 413 /);
  });

  it('is cut off when a body of unknown length grows too large', async () => {
    const listener = await openWith([never], { bodyBytes: 1_000 });
    const { socket, ended } = await dial(listener);
    socket.write('POST /never HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let n = 0; n < 20; n++) socket.write(`64\r\n${'x'.repeat(100)}\r\n`);
    await ended;
  });

  it('is cut off when it does not read its response', async () => {
    const large: Route = {
      kind: 'plain',
      path: '/large',
      handle: () => ({ status: 200, headers: {}, body: Buffer.alloc(64 << 20) }),
    };
    const listener = await openWith([large], { inactivityMs: 200 });
    const { socket, ended } = await dial(listener);
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.resume();
    expect((await ended).length).toBeLessThan(64 << 20);
  });

  it('that does not speak HTTP is rejected', async () => {
    const listener = await openWith([quick]);
    const { socket, ended } = await dial(listener);
    socket.write('\x16\x03\x01 not http\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1.1 400 /);
  });

  it('cannot take more than its share of connections', async () => {
    const listener = await openWith([quick, never], { connections: 2 });
    for (const { socket } of [await dial(listener), await dial(listener)]) {
      socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    const third = await dial(listener);
    expect(await third.ended).toBe('');
  });

  it('that is silent makes room for the next, however many its connections', async () => {
    const listener = await openWith([quick], { connections: 4 });
    const silent = await Promise.all(Array.from({ length: 4 }, () => dial(listener)));
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    expect(await silent[0]?.ended).toBe('');
    expect(silent.slice(1).map(({ socket }) => socket.closed)).toEqual([false, false, false]);
  });

  it('that keeps opening connections never has more than its share, and others are served', async () => {
    const listener = await openWith([quick], { connections: 8, strangersPerAddress: 3 });
    const opened: Awaited<ReturnType<typeof dial>>[] = [];
    for (let n = 0; n < 50; n++) {
      opened.push(await dial(listener));
      if (n % 10 === 0) expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    }
    await expect.poll(() => opened.filter(({ socket }) => !socket.closed).length).toBe(3);
  });

  it('that is busy keeps its place, whoever comes', async () => {
    const listener = await openWith([quick, never], { connections: 4 });
    const busy = await dial(listener);
    busy.socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    for (let n = 0; n < 20; n++) await dial(listener);
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    expect(busy.socket.closed).toBe(false);
  });

  it('that was let in to give its place gives it, busy or not', async () => {
    const gate: RequestGate = async (asked) => ({ kind: 'admitted', request: asked, givesPlace: true });
    const listener = await kept(
      await listen([quick, never], { ...options({ connections: 4 }), name: 'healthz', gate }),
    );
    const busy = await Promise.all(Array.from({ length: 4 }, () => dial(listener)));
    for (const { socket } of busy) socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    await expect.poll(() => busy.filter(({ socket }) => socket.closed).length).toBeGreaterThan(0);
  });

  it('is rejected with a path that is too long', async () => {
    const listener = await openWith([quick], { pathChars: 100 });
    expect((await ask(listener, `GET /quick?${'x'.repeat(200)}`)).status).toBe(200);
    expect((await ask(listener, `GET /${'x'.repeat(100)}`)).status).toBe(414);
  });

  it.each([
    [20, 200],
    [21, 431],
    [500, 431],
  ])('that sends %i headers gets %i', async (count, status) => {
    const listener = await openWith([quick], { headers: 20 });
    const { socket, ended } = await dial(listener);
    const more = Array.from({ length: count - 2 }, (_, n) => `X-${n}: a\r\n`).join('');
    socket.write(`GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n`);
    expect(await ended).toContain(`HTTP/1.1 ${status} `);
  });

  it('may send a body in chunks of a byte', async () => {
    const echo: Route = {
      kind: 'plain',
      path: '/echo',
      handle: async ({ readBody }) => ({ status: 200, headers: {}, body: (await readBody?.()) ?? '' }),
    };
    const listener = await openWith([echo]);
    const { socket, ended } = await dial(listener);
    socket.write('POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(`${'1\r\nx\r\n'.repeat(5000)}0\r\n\r\n`);
    expect((await ended).split('\r\n\r\n')[1]).toBe('x'.repeat(5000));
  });

  it('makes room with an idle connection', async () => {
    const listener = await openWith([quick, never], { connections: 2 });
    const idle = await dial(listener);
    idle.socket.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(idle.socket, 'data');
    const busy = await dial(listener);
    busy.socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await idle.ended;
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    expect(busy.socket.closed).toBe(false);
  });

  it('is reported when refused a connection, at a limited rate', async () => {
    const clock = new VirtualClock();
    const timeline = new Timeline({ clock });
    const listener = kept(
      await listen([quick, never], { ...options({ connections: 1 }), timeline, clock, name: 'healthz' }),
    );
    const busy = await dial(listener);
    busy.socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const minutes of [0, 0, 1]) {
      await clock.advance(minutes * 60_000);
      await (await dial(listener)).ended;
    }
    expect(timeline.ofNode().flatMap(({ kind, message }) => (kind === 'problem' ? message : []))).toEqual([
      'refused connections: 1',
      'refused connections: 2',
    ]);
  });

  it('cannot send much on each of many connections', async () => {
    const listener = await openWith([quick], { unreadBytes: 1 << 20 });
    const many = await Promise.all(Array.from({ length: 70 }, () => dial(listener)));
    const used = many[0]!;
    used.socket.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(used.socket, 'data');
    const [, ...others] = many;
    for (const { socket } of others.slice(0, 20)) {
      socket.write(`GET /quick HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}`);
    }
    await expect.poll(() => others.filter(({ socket }) => socket.closed).length).toBeGreaterThan(5);
    expect(others.slice(20).filter(({ socket }) => socket.closed).length).toBe(0);
    used.socket.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(used.socket, 'data');
  });

  it('is cut off when it keeps pipelining requests', async () => {
    let asked = 0;
    const slow: Route = {
      kind: 'plain',
      path: '/never',
      handle: () => {
        asked++;
        return new Promise(() => {});
      },
    };
    const listener = await openWith([slow]);
    const { socket, ended } = await dial(listener);
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5_000));
    await ended;
    expect(asked).toBe(8);
  });

  it('may pipeline a few requests', async () => {
    const listener = await openWith([quick]);
    const { socket, ended } = await dial(listener);
    socket.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(7));
    socket.write('GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect((await ended).match(/quick/g)?.length).toBe(8);
  });

  it('is probed by TCP keep-alive', async () => {
    const listener = await openWith([never]);
    const { socket } = await dial(listener);
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    const ours = `:${portOf(listener).toString(16).toUpperCase().padStart(4, '0')}`;
    /**
     * The fields are number, local address, remote address, state, queues, timer; `01` is an open connection.
     */
    const timerOf = (): string | undefined =>
      readFileSync('/proc/self/net/tcp', 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .find(([, own = '', , state]) => own.endsWith(ours) && state === '01')?.[5];
    // `02` is the keep-alive timer.
    await expect.poll(() => timerOf()?.slice(0, 2)).toBe('02');
  });

  it('that half-closes in the middle of its headers is closed', async () => {
    const listener = await openWith([quick]);
    const { socket, ended } = await dial(listener);
    socket.end('GET /quick HTTP/1.1\r\nHost: a\r\nX-');
    expect(await ended).not.toContain('200');
  });

  it('that half-closes after its request gets its response', async () => {
    const listener = await openWith([quick]);
    const { socket, ended } = await dial(listener);
    socket.end('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1.1 200 [\s\S]*quick$/);
  });

  it.each([
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n\r\nx'],
    ['a length and chunks', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a length that is no number', 'Content-Length: -1\r\n\r\n'],
    ['a chunk of no size', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a header without a name', ': x\r\n\r\n'],
    ['a header with a control character', 'X-A: \0\r\n\r\n'],
  ])('that sends %s is rejected', async (_, rest) => {
    const listener = await openWith([quick]);
    const { socket, ended } = await dial(listener);
    socket.write(`POST /quick HTTP/1.1\r\nHost: a\r\n${rest}`);
    expect(await ended).toContain('HTTP/1.1 400 ');
  });

  it('gets no unsendable response, and others get theirs', async () => {
    const broken: Route = {
      kind: 'plain',
      path: '/broken',
      handle: () => ({ status: 200, headers: { 'X-Name': 'a\nb' }, body: '' }),
    };
    const listener = await openWith([broken, quick]);
    await expect(ask(listener, 'GET /broken')).rejects.toThrow();
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
  });

  it('does not affect others when a handler fails', async () => {
    const failing: Route = {
      kind: 'plain',
      path: '/fail',
      handle: () => Promise.reject(new Error('broken')),
    };
    const timeline = new Timeline();
    const listener = kept(await listen([failing, quick], { ...options(), timeline, name: 'healthz' }));
    expect(await ask(listener, 'GET /fail?token=secret')).toMatchObject({
      status: 500,
      body: 'Internal Error: broken',
    });
    expect((await ask(listener, 'GET /quick')).body).toBe('quick');
    expect(timeline.ofNode().at(-1)).toMatchObject({ message: 'GET /fail failed', error: 'broken' });
  });
});

describe('close', () => {
  it('closes idle and silent connections at once', async () => {
    const clock = new VirtualClock();
    const listener = await listen([quick], { ...options(), clock, name: 'healthz' });
    const agent = new Agent({ keepAlive: true });
    await ask(listener, 'GET /quick', { agent });
    await dial(listener);
    await listener.close();
    expect(listener.address()).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
    agent.destroy();
  });

  it('lets an in-flight request finish, and closes its connection', async () => {
    let release = (): void => {};
    const slow: Route = {
      kind: 'plain',
      path: '/slow',
      handle: async () => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return { status: 200, headers: {}, body: 'late' };
      },
    };
    const clock = new VirtualClock();
    const listener = await listen([slow], { ...options(), clock, name: 'healthz' });
    const agent = new Agent({ keepAlive: true });
    const response = ask(listener, 'GET /slow', { agent });
    await expect.poll(() => release.toString()).not.toBe('() => {}');
    const closed = listener.close();
    release();
    expect((await response).body).toBe('late');
    await closed;
    await listener.close();
    expect(clock.pendingTimers).toBe(0);
    agent.destroy();
  });

  it('cuts off what does not end within the grace period', async () => {
    const clock = new VirtualClock();
    const listener = await listen([never], { ...options(), clock, name: 'healthz' });
    const { socket, ended } = await dial(listener);
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = listener.close();
    await clock.advance(2_000);
    await closed;
    expect(await ended).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });

  it('leaves no handle behind', async () => {
    const handles = (): number =>
      process.getActiveResourcesInfo().filter((name) => /^(TCP|HTTP)/.test(name)).length;
    const before = handles();
    const readOnly = await startReadOnly(kubelet, options());
    const healthz = await startHealthz(noChecks, options());
    await ask(readOnly, 'GET /healthz');
    await ask(healthz, 'GET /healthz');
    expect(handles()).toBeGreaterThan(before);
    await Promise.all([readOnly.close(), healthz.close()]);
    await expect.poll(handles).toBe(before);
  });
});
