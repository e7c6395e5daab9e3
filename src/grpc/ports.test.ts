/** Calls over TCP, and headers of single calls: what traces need beside the sockets of a node. */
import { createServer, type Http2Server, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GrpcConnection } from './connection.js';
import { MessageType, type MethodInfo } from './protobuf/codec.js';

const Nothing = new MessageType<object>('Nothing', []);
const method: MethodInfo<object, object> = {
  path: '/test.Service/Call',
  request: Nothing,
  response: Nothing,
  serverStreaming: false,
};

let server: Http2Server;
let port: number;
const received: IncomingHttpHeaders[] = [];

beforeEach(async () => {
  received.length = 0;
  server = createServer();
  server.on('stream', (stream, headers) => {
    received.push(headers);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});

afterEach(() => new Promise<void>((resolve) => void server.close(() => resolve())));

it('a call reaches a port, which is its authority', async () => {
  const connection = new GrpcConnection({ host: '127.0.0.1', port });
  expect(await connection.unary(method, {})).toEqual({});
  expect(received[0]).toMatchObject({ ':authority': `127.0.0.1:${port}`, ':path': method.path });
  connection.close();
});

it('the metadata of a call is sent with that call alone', async () => {
  const connection = new GrpcConnection({ host: '127.0.0.1', port });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await connection.unary(method, {}, { metadata: { traceparent } });
  await connection.unary(method, {});
  expect(received.map((headers) => headers.traceparent)).toEqual([traceparent, undefined]);
  connection.close();
});

it('a port where nobody listens is named in the failure', async () => {
  const unused = createServer();
  await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve));
  const { port: gone } = unused.address() as AddressInfo;
  await new Promise<void>((resolve) => void unused.close(() => resolve()));
  const connection = new GrpcConnection({ host: 'localhost', port: gone });
  await expect(connection.unary(method, {})).rejects.toThrow(
    `dial tcp localhost:${gone}: connect: connection refused`,
  );
  connection.close();
});
