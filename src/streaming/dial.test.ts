import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { untrusted } from '../http-get/test-certificate.js';
import { UpgradeRefused } from './contracts.js';
import { dialSpdy } from './dial.js';

const open: { readonly server: Server; readonly sockets: Duplex[] }[] = [];

afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Upgrades to SPDY/3.1 and chooses the protocol `two`. */
async function serve(server: Server, hosts: (string | undefined)[]): Promise<string> {
  const sockets: Duplex[] = [];
  open.push({ server, sockets });
  server.on('connection', (socket: Socket) => socket.on('error', () => {}));
  server.on('upgrade', (request, socket) => {
    sockets.push(socket);
    hosts.push(request.headers.host);
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' +
        'X-Stream-Protocol-Version: two\r\n\r\n',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a streaming client', () => {
  it.each([
    ['http', () => createServer()],
    ['https', () => createTlsServer(untrusted)],
  ])('dials %s', async (scheme, create) => {
    const hosts: (string | undefined)[] = [];
    const host = await serve(create(), hosts);
    const { connection, protocol } = await dialSpdy({
      target: { url: `${scheme}://${host}/exec`, tls: { rejectUnauthorized: false } },
      protocols: ['one', 'two'],
      signal: undefined,
    });
    expect(protocol).toBe('two');
    expect(hosts).toEqual([host]);
    connection.destroy(new Error('over'));
  });

  it('requires a trusted certificate', async () => {
    const host = await serve(createTlsServer(untrusted), []);
    const dialed = dialSpdy({ target: { url: `https://${host}/` }, protocols: [], signal: undefined });
    await expect(dialed).rejects.toThrow('self-signed certificate');
  });

  it('reports the response of a server that does not upgrade', async () => {
    const host = await serve(
      createTlsServer(untrusted, (_, response) => response.writeHead(403).end('no')),
      [],
    );
    open.at(-1)?.server.removeAllListeners('upgrade');
    const dialed = dialSpdy({
      target: { url: `https://${host}/`, tls: { rejectUnauthorized: false } },
      protocols: ['one'],
      signal: undefined,
    });
    await expect(dialed).rejects.toEqual(new UpgradeRefused(403, 'no'));
  });
});
