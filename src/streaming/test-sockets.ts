/** For tests: two ends of one connection, and SPDY on both. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { systemClock } from '../async/index.js';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy/connection.js';

export interface SocketPair {
  readonly client: Socket;
  readonly server: Socket;
}

export async function socketPair(): Promise<SocketPair> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  const accepted = once(listener, 'connection');
  const client = connect(address.port, '127.0.0.1');
  const [server] = (await accepted) as [Socket];
  await once(client, 'connect');
  listener.close();
  return { client, server };
}

export interface SpdyPair {
  readonly client: SpdyConnection;
  readonly server: SpdyConnection;
}

export async function spdyPair(onStream: NonNullable<SpdyConnectionOptions['onStream']>): Promise<SpdyPair> {
  const sockets = await socketPair();
  const common = { head: Buffer.alloc(0), clock: systemClock };
  return {
    client: new SpdyConnection({ ...common, socket: sockets.client, role: 'client' }),
    server: new SpdyConnection({ ...common, socket: sockets.server, role: 'server', onStream }),
  };
}
