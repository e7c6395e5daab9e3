/**
 * Clients that hold connections of the main port without being admitted: they keep no admitted client out.
 */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeApi } from '../../kube-client/index.js';
import { alice, authority, call, type MainServer, startMain, testApi } from './test-main.js';

const connections = 6;
const open: MainServer[] = [];
const sockets: Duplex[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of open.splice(0)) await server.close();
});

async function main(api: Pick<KubeApi, 'create'> = testApi().api): Promise<MainServer> {
  const server = await startMain({ api, options: { limits: { connections } } });
  open.push(server);
  return server;
}

function kept<S extends Duplex>(socket: S): S {
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

async function silent({ port }: MainServer): Promise<Duplex> {
  const socket = kept(connectTcp(port, '127.0.0.1'));
  await once(socket, 'connect');
  return socket;
}

async function secure({ port }: MainServer, said: string): Promise<Duplex> {
  const socket = kept(connectTls({ port, host: '127.0.0.1', ca: authority.pem }));
  await once(socket, 'secureConnect');
  socket.resume();
  socket.write(said);
  return socket;
}

const stuck: Pick<KubeApi, 'create'> = { create: () => new Promise(() => {}) };
const post = 'POST /pods HTTP/1.1\r\nHost: node\r\n';

describe('connections that take all places', () => {
  it.each<[string, Pick<KubeApi, 'create'> | undefined, (server: MainServer) => Promise<Duplex>]>([
    ['and say nothing', undefined, silent],
    ['and shake hands only', undefined, (server) => secure(server, '')],
    ['and do not end their headers', undefined, (server) => secure(server, 'GET /pods HTTP/1.1\r\nHost: ')],
    [
      'and do not end their body',
      undefined,
      (server) => secure(server, `${post}Content-Length: 50\r\n\r\nx`),
    ],
    [
      'and wait until their token is known',
      stuck,
      (server) => secure(server, `${post}Authorization: Bearer bad\r\n\r\n`),
    ],
    [
      'and wait so for an upgrade',
      stuck,
      (server) =>
        secure(
          server,
          'GET /exec/a/b/c HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer bad\r\n\r\n',
        ),
    ],
  ])('%s make room', async (_, stuckApi, hold) => {
    const { api } = testApi();
    const server = await main({
      create: ((resource, object) =>
        stuckApi !== undefined && (object as { kind?: string }).kind === 'TokenReview'
          ? stuckApi.create(resource, object)
          : api.create(resource, object)) as KubeApi['create'],
    });
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < connections; n++) await hold(server);
      expect((await call(server, 'GET /pods', { as: alice })).status).toBe(200);
    }
    await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(connections);
  });
});
