import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type RawServer, rawServer, serveApi, testKubelet } from './test-kubelet.js';
import { requestHead } from './upgrade-proxy.js';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function backend(onSocket: (socket: Socket) => void): Promise<RawServer> {
  const server = await rawServer(onSocket);
  ends.push(() => server.close());
  return server;
}

/** A client with an upgrade request for exec, for which the runtime returns the given URL. */
async function client(
  url: string,
  behind = '',
): Promise<{ socket: Socket; seen: () => string; closed: Promise<void> }> {
  const listener = await serveApi(testKubelet({ exec: async () => ({ url }) }));
  ends.push(() => listener.close());
  const socket = connect({ port: listener.port, host: '127.0.0.1' });
  ends.push(() => void socket.destroy());
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'connect');
  socket.write(
    `POST /exec/default/web/app?command=ls&output=1 HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer secret\r\n` +
      `Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n${behind}`,
  );
  return { socket, seen: () => Buffer.concat(chunks).toString('latin1'), closed };
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n';
const isWhole = (text: string): boolean => text.includes('\r\n\r\n');

describe('proxyUpgrade', () => {
  it('passes the request with the backend’s path, and every later byte, both ways', async () => {
    let seen = '';
    const server = await backend((socket) =>
      socket.on('data', (chunk) => {
        const before = isWhole(seen);
        seen += chunk.toString('latin1');
        if (!before && isWhole(seen)) socket.write(`${switching}early `);
        else socket.write(chunk);
      }),
    );
    const { socket, seen: received } = await client(server.url, 'first ');
    await expect.poll(received).toContain('first');
    socket.write('second');
    await expect.poll(received).toBe(`${switching}early first second`);
    expect(seen).toBe(
      `POST /exec/Token123?x=1 HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n` +
        `X-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Forwarded-For: 127.0.0.1\r\n\r\nfirst second`,
    );
  });

  it('closes the client when the backend ends, after its last byte', async () => {
    const big = 'x'.repeat(3_000_000);
    const server = await backend((socket) => socket.once('data', () => socket.end(switching + big)));
    const { seen, closed } = await client(server.url);
    await closed;
    expect(seen().length).toBe(switching.length + big.length);
  });

  it('closes the backend when the client ends', async () => {
    const server = await backend((socket) => socket.once('data', () => socket.write(switching)));
    const { socket, seen } = await client(server.url);
    await expect.poll(seen).toBe(switching);
    socket.destroy();
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  });

  it('closes a backend that has not responded when the client is gone', async () => {
    const server = await backend((socket) => socket.resume());
    const { socket } = await client(server.url);
    await expect.poll(() => server.sockets.length).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  });

  it('waits for a client that does not read', async () => {
    const sent = { bytes: 0 };
    const server = await backend((socket) =>
      socket.once('data', () => {
        socket.write(switching);
        const block = Buffer.alloc(1 << 20);
        const more = (): void => {
          while (sent.bytes < 200 << 20) {
            sent.bytes += block.length;
            if (!socket.write(block)) {
              socket.once('drain', more);
              return;
            }
          }
        };
        more();
      }),
    );
    const { socket } = await client(server.url);
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(sent.bytes).toBeLessThan(50 << 20);
  });

  it.each([
    ['of a known length', 'HTTP/1.1 403 Forbidden\r\nX-A: b\r\nContent-Length: 2\r\n\r\nno'],
    ['in chunks', 'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
  ])('echoes a refusal %s and closes', async (_, refusal) => {
    const server = await backend((socket) => socket.once('data', () => socket.write(refusal)));
    const { seen, closed } = await client(server.url);
    await closed;
    expect(seen()).toBe(refusal);
  });

  it.each([
    [
      'another success',
      'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n',
      'invalid upgrade response: status code 302\n',
    ],
    ['nonsense', 'hello\r\n\r\n', 'malformed HTTP response\n'],
    ['a broken connection', undefined, 'unexpected EOF\n'],
  ])('responds 500 to %s', async (_, response, message) => {
    const server = await backend((socket) =>
      socket.once('data', () => (response === undefined ? socket.destroy() : socket.write(response))),
    );
    const { seen, closed } = await client(server.url);
    await closed;
    expect(seen()).toMatch(/^HTTP\/1.1 500 /);
    expect(seen()).toMatch(new RegExp(`X-Content-Type-Options: nosniff[\\s\\S]*${message}$`));
  });

  it('reports that nothing listens', async () => {
    const { seen, closed } = await client('http://127.0.0.1:1/x');
    await closed;
    expect(seen()).toMatch(/ 500 [\s\S]*error dialing backend: .*ECONNREFUSED/);
  });
});

it('appends the client to X-Forwarded-For', () => {
  const head = requestHead(new URL('http://h/p'), {
    method: 'GET',
    rawHeaders: ['Host', 'a', 'X-Forwarded-For', '1.1.1.1', 'Content-Length', '5'],
    remoteAddress: '2.2.2.2',
  });
  expect(head).toBe('GET /p HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2\r\n\r\n');
});
