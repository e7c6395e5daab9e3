import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Server as GrpcServer, ServerCredentials, type ServiceDefinition, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { Cancelled, systemClock } from '../async/index.js';
import { untrusted } from '../http-get/test-certificate.js';
import { grpcHealth } from './grpc.js';
import { healthRequest } from './grpc-messages.js';
import { tcpConnect } from './tcp.js';

const sockets = new Set<Socket>();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  sockets.clear();
});

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilClosed(): Promise<void> {
  for (let turn = 0; turn < 100 && sockets.size > 0; turn++)
    await new Promise((done) => setTimeout(done, 10));
  expect(sockets.size, 'connections left behind').toBe(0);
}

const limits = (timeoutMs = 2_000, signal = new AbortController().signal) => ({
  clock: systemClock,
  timeoutMs,
  signal,
});

describe('a TCP probe', () => {
  it('connects and closes', async () => {
    const port = await listen(createServer());
    await tcpConnect({ host: '127.0.0.1', port }, limits());
    await untilClosed();
  });

  it('connects to localhost if there is no host', async () => {
    const port = await listen(createServer());
    await tcpConnect({ host: '', port }, limits());
  });

  it('reports a refused connection', async () => {
    const port = await freePort();
    await expect(tcpConnect({ host: '127.0.0.1', port }, limits())).rejects.toThrow(
      `dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  it('reports a host without an address', async () => {
    await expect(tcpConnect({ host: 'nowhere.invalid', port: 80 }, limits())).rejects.toThrow(
      /^dial tcp: lookup nowhere\.invalid: /,
    );
  });

  it('ends with the agent', async () => {
    const aborted = AbortSignal.abort();
    await expect(tcpConnect({ host: '127.0.0.1', port: 1 }, limits(1_000, aborted))).rejects.toBeInstanceOf(
      Cancelled,
    );
  });
});

/** A gRPC server with the given health by service; `hang` never responds. */
async function healthServer(
  statusOf: Record<string, number | 'hang'>,
  wanted = 0,
  credentials = ServerCredentials.createInsecure(),
): Promise<number> {
  const definition: ServiceDefinition = {
    Check: {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: (value: Buffer) => value,
      requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
      responseSerialize: (value: number) => (value === 0 ? Buffer.alloc(0) : Buffer.from([8, value])),
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  };
  const server = new GrpcServer();
  server.addService(definition, {
    Check: (
      call: { request: { service: string } },
      callback: (error: { code: number; details: string } | null, value?: number) => void,
    ) => {
      const value = statusOf[call.request.service];
      if (value === 'hang') return;
      if (value === undefined) callback({ code: status.NOT_FOUND, details: 'unknown service: 100 %' });
      else callback(null, value);
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${wanted}`, credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  cleanups.push(() => server.forceShutdown());
  return port;
}

describe('a gRPC probe', () => {
  it.each([
    ['', 'SERVING'],
    ['db', 'NOT_SERVING'],
    ['odd', 'UNKNOWN'],
    ['none', 'SERVICE_UNKNOWN'],
  ])('service "%s" is %s', async (service, expected) => {
    const port = await healthServer({ '': 1, db: 2, odd: 0, none: 3 });
    expect(await grpcHealth({ host: '127.0.0.1', port, service }, limits())).toEqual({
      kind: 'status',
      status: expected,
    });
  });

  describe('over TLS', () => {
    const secure = ServerCredentials.createSsl(null, [
      { private_key: Buffer.from(untrusted.key), cert_chain: Buffer.from(untrusted.cert) },
    ]);
    it.each([
      ['trusts a server whose certificate nobody signed', true, { kind: 'status', status: 'SERVING' }],
      ['is not spoken unless asked for', false, { kind: 'no-connection' }],
    ])('it %s', async (_, isTls, expected) => {
      const port = await healthServer({ '': 1 }, 0, secure);
      const asked = { host: '127.0.0.1', port, service: '', isTls };
      expect(await grpcHealth(asked, limits(isTls ? 2_000 : 300))).toEqual(expected);
    });

    it.each([
      ['does not speak TLS', () => createServer((socket) => socket.resume())],
      ['speaks HTTP/1 over it', () => createTlsServer(untrusted, (socket) => socket.resume()) as Server],
    ])('there is no connection to a server that %s', async (_, create) => {
      const port = await listen(create());
      const asked = { host: '127.0.0.1', port, service: '', isTls: true };
      expect(await grpcHealth(asked, limits(300))).toEqual({ kind: 'no-connection' });
      await untilClosed();
    });
  });

  it("reports the server's error", async () => {
    const port = await healthServer({});
    expect(await grpcHealth({ host: '127.0.0.1', port, service: 'x' }, limits())).toEqual({
      kind: 'rpc-error',
      code: status.NOT_FOUND,
      message: 'unknown service: 100 %',
    });
  });

  it('reports a server without the health protocol', async () => {
    const server = new GrpcServer();
    const port = await new Promise<number>((resolve) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
    );
    cleanups.push(() => server.forceShutdown());
    expect(await grpcHealth({ host: '127.0.0.1', port, service: '' }, limits())).toMatchObject({
      kind: 'rpc-error',
      code: status.UNIMPLEMENTED,
    });
  });

  it('times out waiting for the response', async () => {
    const port = await healthServer({ '': 'hang' });
    expect(await grpcHealth({ host: '127.0.0.1', port, service: '' }, limits(100))).toMatchObject({
      kind: 'rpc-error',
      code: status.DEADLINE_EXCEEDED,
    });
  });

  it('waits for a server that starts late', async () => {
    const port = await freePort();
    const answer = grpcHealth({ host: '127.0.0.1', port, service: '' }, limits(4_000));
    await new Promise((done) => setTimeout(done, 100));
    await healthServer({ '': 1 }, port);
    expect(await answer).toEqual({ kind: 'status', status: 'SERVING' });
  });

  it.each([
    ['says nothing', () => createServer((socket) => socket.resume())],
    ['speaks HTTP/1', () => createHttpServer((_, response) => response.end()) as Server],
    ['closes at once', () => createServer((socket) => socket.resume().end())],
  ])('has no connection to a server that %s', async (_, create) => {
    const port = await listen(create());
    expect(await grpcHealth({ host: '127.0.0.1', port, service: '' }, limits(200))).toEqual({
      kind: 'no-connection',
    });
    await untilClosed();
  });

  it('ends with the agent', async () => {
    const port = await listen(createServer((socket) => socket.resume()));
    const controller = new AbortController();
    const answer = grpcHealth({ host: '127.0.0.1', port, service: '' }, limits(5_000, controller.signal));
    setTimeout(() => controller.abort(), 50);
    await expect(answer).rejects.toBeInstanceOf(Cancelled);
    await untilClosed();
  });

  it('sends the service as field 1 of one message', () => {
    expect([...healthRequest('')]).toEqual([0, 0, 0, 0, 0]);
    expect([...healthRequest('ab')]).toEqual([0, 0, 0, 0, 4, 0x0a, 2, 97, 98]);
    expect(healthRequest('x'.repeat(200)).subarray(5, 8)).toEqual(Buffer.from([0x0a, 0xc8, 0x01]));
  });
});
