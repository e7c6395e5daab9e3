import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Timeline } from '../timeline/index.js';
import { type ListenOptions, listen, type ServerListener } from './listen.js';
import { type RouteResponse, type StreamedBody, text } from './responses.js';

const listeners: ServerListener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function serve(
  handle: () => RouteResponse | Promise<RouteResponse>,
  limits: ListenOptions['limits'] = {},
): Promise<number> {
  const route = { kind: 'template', path: '/it', templates: [['name']], methods: ['GET'], handle } as const;
  const listener = await listen([route], {
    name: 'healthz',
    address: '127.0.0.1',
    port: 0,
    timeline: new Timeline(),
    limits: { closeGraceMs: 100, ...limits },
  });
  listeners.push(listener);
  return listener.address()?.port ?? 0;
}

async function dial(port: number, headers = ''): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let seen = '';
  socket.on('data', (chunk) => {
    seen += chunk.toString();
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET /it/x HTTP/1.1\r\nHost: h\r\n${headers}\r\n`);
  return { socket, closed: once(socket, 'close').then(() => seen) };
}

const streamed = (stream: StreamedBody['stream']): RouteResponse => ({
  status: 200,
  headers: {},
  body: { stream, headAtOnce: true, failed: (error) => text(400, String(error)) },
});
const block = Buffer.alloc(1 << 20, 'x');

/** Writes endlessly and counts. */
function flood(): { response: () => RouteResponse; bytes: () => number; ended: Promise<void> } {
  let bytes = 0;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const response = (): RouteResponse =>
    streamed(async (sink) => {
      try {
        for (;;) {
          await sink.write(block);
          bytes += block.length;
        }
      } finally {
        end();
      }
    });
  return { response, bytes: () => bytes, ended };
}

describe('a streamed body', () => {
  it('waits for a client that does not read, and stops when it leaves', async () => {
    const { response, bytes, ended } = flood();
    const { socket } = await dial(await serve(response));
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(bytes()).toBeLessThan(50 << 20);
    socket.destroy();
    await ended;
  });

  it('is cut off when the client reads nothing for too long', async () => {
    const { response, ended } = flood();
    const { socket } = await dial(await serve(response, { stalledMs: 100 }));
    socket.pause();
    await ended;
  });

  it('beyond the session limit is rejected, until one ends', async () => {
    const port = await serve(() => streamed((_, signal) => once(signal, 'abort').then(() => undefined)), {
      sessions: 2,
    });
    const open = [await dial(port), await dial(port)];
    await Promise.all(open.map(({ socket }) => once(socket, 'data')));
    const refused = await (await dial(port, 'Connection: close\r\n')).closed;
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*Retry-After: 60[\s\S]*too many streams: 2 are open$/);
    const upgrade = 'Connection: Upgrade\r\nUpgrade: anything\r\n';
    expect(await (await dial(port, upgrade)).closed).toMatch(/^HTTP\/1\.1 429 /);
    open[0]?.socket.destroy();
    await expect
      .poll(async () => {
        const { socket } = await dial(port);
        const [head] = (await once(socket, 'data')) as [Buffer];
        return head.toString().slice(9, 12);
      })
      .toBe('200');
  });

  it('is exempt from the inactivity limit', async () => {
    const port = await serve(
      () =>
        streamed(async (sink) => {
          await new Promise((resolve) => setTimeout(resolve, 400));
          await sink.write(Buffer.from('late'));
        }),
      { inactivityMs: 100 },
    );
    const { closed, socket } = await dial(port, 'Connection: close\r\n');
    socket.resume();
    expect(await closed).toContain('late');
  });
});

describe('an upgrade request', () => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: anything\r\n';
  it('gets a normal response if nothing takes it over', async () => {
    const { closed } = await dial(await serve(() => text(200, 'plain')), upgrade);
    expect(await closed).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nplain$/);
  });

  it('behind a pending request ends the connection, and nothing else', async () => {
    let answered = 0;
    const port = await serve(() => {
      if (answered++ > 0) return text(200, 'second');
      return new Promise<never>(() => {});
    });
    const { socket, closed } = await dial(port);
    socket.write(`GET /it/y HTTP/1.1\r\nHost: h\r\n${upgrade}\r\n`);
    await closed;
    expect(await (await dial(port, 'Connection: close\r\n')).closed).toContain('second');
  });

  it('is cut off when it does not read a normal response', async () => {
    const large: RouteResponse = { status: 200, headers: {}, body: Buffer.alloc(64 << 20) };
    const { socket, closed } = await dial(await serve(() => large, { inactivityMs: 200 }), upgrade);
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.resume();
    expect((await closed).length).toBeLessThan(64 << 20);
  });

  it('is closed with the listener', async () => {
    const response: RouteResponse = {
      status: 101,
      headers: {},
      body: { takeOver: (client) => once(client, 'close').then(() => {}) },
    };
    const { closed, socket } = await dial(await serve(() => response), upgrade);
    socket.resume();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await listeners[0]?.close();
    await closed;
  });

  it('is closed when its handler fails', async () => {
    const response: RouteResponse = {
      status: 101,
      headers: {},
      body: { takeOver: () => Promise.reject(new Error('broken')) },
    };
    const { closed } = await dial(await serve(() => response), upgrade);
    expect(await closed).toBe('');
  });
});
