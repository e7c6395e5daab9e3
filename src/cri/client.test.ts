/** Tests the client against the server over a real socket. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MessageType } from '../grpc/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { type ConnectCriOptions, type CriClient, connectCri } from './client.js';
import {
  CriCode,
  type CriCodeName,
  CriError,
  isDeadlineExceeded,
  isUnavailable,
  isUnimplemented,
} from './errors.js';
import { ContainerEventResponse, ListContainersResponse, VersionResponse } from './gen/cri.js';
import { createCriMetrics } from './metrics.js';
import { type CallOptions, type CriRuntime, criMethods, unimplementedCriRuntime } from './runtime.js';
import { type CriServer, serveCri } from './server.js';

let directory: string;
let socketPath: string;
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'cri-'));
  socketPath = path.join(directory, 'cri.sock');
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  await rm(directory, { recursive: true, force: true });
});

async function serve(part: Partial<CriRuntime>): Promise<CriServer> {
  const server = await serveCri({ ...unimplementedCriRuntime(), ...part }, { socketPath });
  open.push(server);
  return server;
}

function connect(options: Partial<ConnectCriOptions> = {}): CriClient {
  const client = connectCri({ endpoint: `unix://${socketPath}`, requestTimeoutMs: 5000, ...options });
  open.push(client);
  return client;
}

const goodVersion = async () =>
  VersionResponse.create({
    version: '0.1.0',
    runtimeName: 'test',
    runtimeVersion: '1',
    runtimeApiVersion: 'v1',
  });

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error) => error,
  );

function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((open) => {
    resolve = open;
  });
  return { promise, resolve };
}

/** A message with a value in every field, two levels deep, so that a lost field shows. */
function sample(type: MessageType<object>, depth = 0): object {
  const message: Record<string, unknown> = {};
  for (const [number, property, kind, shape] of type.rows) {
    if (typeof kind !== 'string' && depth > 3) continue;
    const value =
      typeof kind !== 'string'
        ? sample(kind(), depth + 1)
        : kind === 'string'
          ? `${property} ${number}`
          : kind === 'bytes'
            ? Uint8Array.of(number)
            : kind === 'bool'
              ? true
              : kind === 'bigint64' || kind === 'biguint64'
                ? 2n ** 60n + BigInt(number)
                : kind === 'enum'
                  ? 1
                  : number + 1000;
    message[property] = shape === 'map' ? { key: value } : shape === 'repeated' ? [value, value] : value;
  }
  return type.create(message);
}

describe('every method of both services', () => {
  type AnyMethod = (request: object, options?: CallOptions) => unknown;
  it.each(Object.entries(criMethods))(
    '%s transfers its complete request and response',
    async (name, method) => {
      const request = sample(method.request as MessageType<object>);
      const response = sample(method.response as MessageType<object>);
      const seen: object[] = [];
      const unary: AnyMethod = async (received) => {
        seen.push(received);
        return response;
      };
      const stream: AnyMethod = async function* (received) {
        seen.push(received);
        yield response;
        yield response;
      };
      await serve({ [name]: method.serverStreaming ? stream : unary });
      const call = connect()[name as keyof CriRuntime] as unknown as AnyMethod;
      if (method.serverStreaming) {
        const received: object[] = [];
        for await (const message of call(request) as AsyncIterable<object>) received.push(message);
        expect(received).toEqual([response, response]);
      } else expect(await call(request)).toEqual(response);
      expect(seen).toEqual([request]);
    },
  );
});

describe('errors', () => {
  const names = (Object.keys(CriCode) as CriCodeName[]).filter((name) => name !== 'OK');
  it.each(names)('keep the code %s and the details', async (name) => {
    await serve({ removeImage: () => Promise.reject(new CriError(name, 'détails: 100%')) });
    await expect(connect().removeImage({})).rejects.toMatchObject({
      code: CriCode[name],
      codeName: name,
      details: 'détails: 100%',
      message: `rpc error: code = ${name} desc = détails: 100%`,
    });
  });

  it('of missing methods are Unimplemented', async () => {
    await serve({});
    expect(isUnimplemented(await errorOf(connect().runtimeConfig({})))).toBe(true);
  });

  it('plain errors of the runtime arrive as Unknown', async () => {
    await serve({ removeImage: () => Promise.reject(new Error('disk')) });
    await expect(connect().removeImage({})).rejects.toThrow('rpc error: code = Unknown desc = disk');
  });

  it('of PullImage arrive without the gRPC prefix', async () => {
    await serve({ pullImage: () => Promise.reject(new Error('RegistryUnavailable: no route')) });
    expect(await errorOf(connect().pullImage({}))).toMatchObject({
      message: 'RegistryUnavailable: no route',
    });
  });

  it('a response that is not protobuf is Internal and names the message', async () => {
    const broken = JSON.parse('{"version": 5}');
    await serve({ version: async () => broken });
    await expect(connect().version({})).rejects.toMatchObject({ codeName: 'Internal' });
  });
});

describe('deadlines and cancellation', () => {
  it('a call ends at its deadline, on both sides', async () => {
    let aborted: Promise<void> | undefined;
    let timeoutMs: number | undefined;
    await serve({
      removeImage: (_, options) => {
        timeoutMs = options?.timeoutMs;
        aborted = new Promise((resolve) => options?.signal?.addEventListener('abort', () => resolve()));
        return new Promise(() => {});
      },
    });
    const error = await errorOf(connect({ requestTimeoutMs: 100 }).removeImage({}));
    expect(error).toMatchObject({
      message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    });
    await aborted;
    expect(timeoutMs).toBeGreaterThan(0);
    expect(timeoutMs).toBeLessThanOrEqual(100);
  });

  it('ExecSync names the command that timed out', async () => {
    await serve({ execSync: () => Promise.reject(new CriError('DeadlineExceeded', 'from the runtime')) });
    const error = await errorOf(connect().execSync({ cmd: ['true'], timeout: 2 }));
    expect(error).toMatchObject({ message: 'command timed out: "true" timed out after 2s' });
    expect(isDeadlineExceeded(error)).toBe(true);
  });

  it('a call ends when its signal aborts, on both sides', async () => {
    const controller = new AbortController();
    let aborted: Promise<void> | undefined;
    await serve({
      pullImage: (_, options) => {
        aborted = new Promise((resolve) => options?.signal?.addEventListener('abort', () => resolve()));
        controller.abort();
        return new Promise(() => {});
      },
    });
    const error = await errorOf(connect().pullImage({}, { signal: controller.signal }));
    expect(error).toMatchObject({ message: 'rpc error: code = Canceled desc = context canceled' });
    await aborted;
  });

  it('a call with an aborted signal is not sent', async () => {
    const error = await errorOf(connect().version({}, { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ codeName: 'Canceled' });
  });
});

describe('container events', () => {
  const event = (containerId: string) => ContainerEventResponse.create({ containerId, createdAt: 7n });

  it('arrive as they happen, until the runtime ends the stream', async () => {
    const second = gate();
    await serve({
      async *getContainerEvents() {
        yield event('a');
        await second.promise;
        yield event('b');
      },
    });
    const events = connect().getContainerEvents({})[Symbol.asyncIterator]();
    expect((await events.next()).value.containerId).toBe('a');
    second.resolve();
    expect((await events.next()).value.containerId).toBe('b');
    expect((await events.next()).done).toBe(true);
  });

  it('end at the runtime when the consumer stops', async () => {
    const ended = gate();
    await serve({
      async *getContainerEvents(_, options) {
        options?.signal?.addEventListener('abort', () => ended.resolve());
        yield event('a');
        await ended.promise;
      },
    });
    for await (const _ of connect().getContainerEvents({})) break;
    await ended.promise;
  });

  it('fail with Canceled when the signal aborts', async () => {
    const ended = gate();
    await serve({
      async *getContainerEvents(_, options) {
        options?.signal?.addEventListener('abort', () => ended.resolve());
        await ended.promise;
      },
    });
    const controller = new AbortController();
    const events = connect().getContainerEvents({}, { signal: controller.signal })[Symbol.asyncIterator]();
    const next = errorOf(events.next());
    setTimeout(() => controller.abort(), 50);
    expect(await next).toMatchObject({ codeName: 'Canceled', details: 'context canceled' });
    await ended.promise;
  });

  it('arrive before an error of the runtime', async () => {
    await serve({
      async *getContainerEvents() {
        yield event('a');
        throw new CriError('OutOfRange', 'too slow');
      },
    });
    const seen: string[] = [];
    const read = async () => {
      for await (const { containerId } of connect().getContainerEvents({})) seen.push(containerId);
    };
    await expect(read()).rejects.toMatchObject({ codeName: 'OutOfRange' });
    expect(seen).toEqual(['a']);
  });

  it('stop at the runtime while the consumer is slow', async () => {
    let sent = 0;
    const filler = 'x'.repeat(100_000);
    await serve({
      async *getContainerEvents() {
        for (; sent < 2000; sent++) yield event(filler);
      },
    });
    const events = connect().getContainerEvents({})[Symbol.asyncIterator]();
    await events.next();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sent).toBeLessThan(1000);
    await events.return?.();
  });

  it('fail with Unavailable when the server dies', async () => {
    const server = await serve({
      async *getContainerEvents(_, options) {
        yield event('a');
        await new Promise((resolve) => options?.signal?.addEventListener('abort', resolve));
      },
    });
    const events = connect().getContainerEvents({})[Symbol.asyncIterator]();
    await events.next();
    const next = errorOf(events.next());
    await server.close();
    expect(await next).toBeInstanceOf(CriError);
  });
});

describe('an unreachable runtime', () => {
  it('fails calls at once and works again when it is back at the same path', async () => {
    const client = connect({ requestTimeoutMs: 60_000 });
    const startMs = performance.now();
    expect(isUnavailable(await errorOf(client.version({})))).toBe(true);
    const first = await serve({ version: goodVersion });
    await expect.poll(() => client.version({}).then((v) => v.runtimeName), { timeout: 5000 }).toBe('test');
    await first.close();
    expect(existsSync(socketPath)).toBe(false);
    for (let call = 0; call < 3; call++) expect(isUnavailable(await errorOf(client.version({})))).toBe(true);
    await serve({ version: goodVersion });
    await expect.poll(() => client.version({}).then((v) => v.runtimeName), { timeout: 5000 }).toBe('test');
    expect(performance.now() - startMs).toBeLessThan(15_000);
  });

  it('fails the calls in flight when it dies', async () => {
    const called = gate();
    const server = await serve({
      pullImage: () => {
        called.resolve();
        return new Promise(() => {});
      },
    });
    const outcome = errorOf(connect().pullImage({}));
    await called.promise;
    await server.close();
    expect(await outcome).toBeInstanceOf(CriError);
  });

  it('does not fail the first call after an unnoticed loss', async () => {
    const first = await serve({ version: goodVersion });
    const client = connect();
    await client.version({});
    await first.close();
    await serve({ version: goodVersion });
    await expect(client.version({})).resolves.toMatchObject({ runtimeName: 'test' });
  });

  it('that accepts connections but does not respond fails calls at their deadline', async () => {
    const connections: Socket[] = [];
    const silent = createServer((connection) => connections.push(connection));
    await new Promise<void>((resolve) => silent.listen(socketPath, resolve));
    const client = connect({ requestTimeoutMs: 200 });
    expect(isDeadlineExceeded(await errorOf(client.version({})))).toBe(true);
    for (const connection of connections) connection.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('message size', () => {
  const listOf = (bytes: number) => async () =>
    ListContainersResponse.create({ containers: [{ id: 'x'.repeat(bytes) }] });

  it('accepts responses of almost 16 MiB', async () => {
    await serve({ listContainers: listOf(16 * 1024 * 1024 - 100), listPodSandbox: listOf(0) as never });
    await expect(connect().listContainers({})).resolves.toMatchObject({ containers: [{}] });
  });

  it('refuses larger responses with ResourceExhausted', async () => {
    await serve({ listContainers: listOf(16 * 1024 * 1024) });
    await expect(connect().listContainers({})).rejects.toMatchObject({ codeName: 'ResourceExhausted' });
  });
});

describe('connectCri', () => {
  /** How often each operation was counted, without the durations. */
  const counts = (registry: Registry): Record<string, number> =>
    Object.fromEntries(
      Object.entries(samples(registry)).filter(([series]) => !series.includes('_duration_')),
    );

  it('refuses endpoints that are not unix sockets', () => {
    expect(() => connect({ endpoint: 'tcp://localhost:1' })).toThrow('only support unix socket endpoint');
    expect(() => connect({ imageEndpoint: 'http://x' })).toThrow('protocol "http" not supported');
  });

  it('accepts a bare path', async () => {
    await serve({ version: goodVersion });
    await expect(connect({ endpoint: socketPath }).version({})).resolves.toMatchObject({ version: '0.1.0' });
  });

  it('uses the image endpoint only for images', async () => {
    await serve({ version: goodVersion });
    const imageSocket = path.join(directory, 'images.sock');
    const images = await serveCri(
      {
        ...unimplementedCriRuntime(),
        imageFsInfo: async () => ({ imageFilesystems: [], containerFilesystems: [] }),
      },
      { socketPath: imageSocket },
    );
    open.push(images);
    const client = connect({ imageEndpoint: images.endpoint });
    await client.validate();
    await expect(client.imageFsInfo({})).resolves.toEqual({ imageFilesystems: [], containerFilesystems: [] });
  });

  it('validate names the service that does not respond', async () => {
    await expect(connect().validate()).rejects.toThrow(
      `validate service connection: validate CRI v1 runtime API for endpoint "unix://${socketPath}": rpc error: code = Unavailable`,
    );
    await serve({ version: goodVersion });
    await expect(connect().validate()).rejects.toThrow(
      `validate CRI v1 image API for endpoint "unix://${socketPath}": rpc error: code = Unimplemented`,
    );
  });

  it('counts every call', async () => {
    await serve({ version: goodVersion });
    const registry = new Registry();
    const client = connect({ metrics: createCriMetrics(registry) });
    await client.version({});
    await errorOf(client.updateContainerResources({}));
    client.close();
    expect(counts(registry)).toEqual({
      'kubelet_runtime_operations_total{operation_type="version"}': 1,
      'kubelet_runtime_operations_total{operation_type="update_container"}': 1,
      'kubelet_runtime_operations_total{operation_type="close"}': 1,
      'kubelet_runtime_operations_errors_total{operation_type="update_container"}': 1,
    });
  });

  it('without call rules checks and counts nothing', async () => {
    await serve({ version: async () => VersionResponse.create({ version: '0.1.0' }) });
    const registry = new Registry();
    const client = connect({ bare: true, metrics: createCriMetrics(registry) });
    await expect(client.version({})).resolves.toMatchObject({ runtimeName: '' });
    client.close();
    expect(counts(registry)).toEqual({ 'kubelet_runtime_operations_total{operation_type="close"}': 1 });
  });

  it('close ends the calls in flight, and later calls fail', async () => {
    const called = gate();
    await serve({
      pullImage: () => {
        called.resolve();
        return new Promise(() => {});
      },
    });
    const client = connect();
    const outcome = errorOf(client.pullImage({}));
    await called.promise;
    client.close();
    client.close();
    expect(await outcome).toMatchObject({ codeName: 'Canceled' });
    expect(await errorOf(client.version({}))).toMatchObject({
      details: 'grpc: the client connection is closing',
    });
  });
});

describe('serveCri', () => {
  it('may be closed at any time after its start', async () => {
    await serve({ version: goodVersion });
    for (let turns = 0; turns < 60; turns++) {
      const client = connect();
      const answer = errorOf(client.version({}));
      for (let turn = 0; turn < turns; turn++) {
        await new Promise<void>((next) => (turns % 2 === 0 ? setImmediate(next) : process.nextTick(next)));
      }
      client.close();
      await answer;
    }
  });

  it('replaces a stale socket, but no other file', async () => {
    const first = await serve({ version: goodVersion });
    await serve({ version: goodVersion });
    await expect(connect().version({})).resolves.toMatchObject({ runtimeName: 'test' });
    await first.close();
    const file = path.join(directory, 'file');
    await writeFile(file, 'data');
    await expect(serveCri(unimplementedCriRuntime(), { socketPath: file })).rejects.toThrow(
      'is not a socket',
    );
  });
});
