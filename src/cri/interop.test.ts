/** Tests our gRPC client and server against another implementation. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, credentials, Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectCri } from './client.js';
import { CriError } from './errors.js';
import {
  ContainerEventResponse,
  ListContainersResponse,
  RuntimeService,
  VersionResponse,
} from './gen/cri.js';
import { unimplementedCriRuntime } from './runtime.js';
import { serveCri } from './server.js';

let directory: string;
let socketPath: string;
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'cri-interop-'));
  socketPath = path.join(directory, 'cri.sock');
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  await rm(directory, { recursive: true, force: true });
});

const version = VersionResponse.create({
  version: '0.1.0',
  runtimeName: 'test',
  runtimeVersion: '1',
  runtimeApiVersion: 'v1',
});
const large = ListContainersResponse.create({ containers: [{ id: 'x'.repeat(3_000_000) }] });
const events = ['a', 'b', 'c'].map((containerId) => ContainerEventResponse.create({ containerId }));

describe('our server, their client', () => {
  async function client(): Promise<Client> {
    const server = await serveCri(
      {
        ...unimplementedCriRuntime(),
        version: async () => version,
        listContainers: async () => large,
        removeContainer: () => Promise.reject(new CriError('NotFound', 'no container "ü"')),
        stopContainer: () => new Promise(() => {}),
        async *getContainerEvents() {
          yield* events;
          throw new CriError('OutOfRange', 'enough');
        },
      },
      { socketPath },
    );
    const theirs = new Client(`unix:${socketPath}`, credentials.createInsecure());
    open.push(server, theirs);
    return theirs;
  }
  const call = (theirs: Client, name: keyof typeof RuntimeService, deadlineMs = 5_000): Promise<unknown> => {
    const method = RuntimeService[name];
    return new Promise((resolve, reject) => {
      theirs.makeUnaryRequest(
        method.path,
        (value: object) => method.request.encode(value),
        (bytes) => method.response.decode(bytes),
        {},
        new Metadata(),
        { deadline: Date.now() + deadlineMs },
        (error, response) => (error === null ? resolve(response) : reject(error)),
      );
    });
  };

  it('responds', async () => expect(await call(await client(), 'version')).toEqual(version));
  it('sends a large response', async () =>
    expect(await call(await client(), 'listContainers')).toEqual(large));
  it('sends errors', async () =>
    expect(call(await client(), 'removeContainer')).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: 'no container "ü"',
    }));
  it('reports a missing method', async () =>
    expect(call(await client(), 'runtimeConfig')).rejects.toMatchObject({ code: status.UNIMPLEMENTED }));
  it('ends at the deadline', async () =>
    expect(call(await client(), 'stopContainer', 50)).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    }));
  it('streams, then fails', async () => {
    const method = RuntimeService.getContainerEvents;
    const stream = (await client()).makeServerStreamRequest(
      method.path,
      (value: object) => method.request.encode(value),
      (bytes) => method.response.decode(bytes),
      {},
    );
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of stream) seen.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: status.OUT_OF_RANGE, details: 'enough' });
    expect(seen).toEqual(events);
  });
});

describe('our client, their server', () => {
  async function connect(): Promise<ReturnType<typeof connectCri>> {
    const server = new Server();
    const methods = {
      version: RuntimeService.version,
      listContainers: RuntimeService.listContainers,
      removeImageless: { ...RuntimeService.removeContainer },
      getContainerEvents: RuntimeService.getContainerEvents,
    };
    const definition = Object.fromEntries(
      Object.entries(methods).map(([name, { path: methodPath, request, response, serverStreaming }]) => [
        name,
        {
          path: methodPath,
          requestStream: false,
          responseStream: serverStreaming,
          requestSerialize: (value: object) => request.encode(value as never),
          requestDeserialize: (bytes: Buffer) => request.decode(bytes),
          responseSerialize: (value: object) => response.encode(value as never),
          responseDeserialize: (bytes: Buffer) => response.decode(bytes),
        },
      ]),
    );
    server.addService(definition as never, {
      version: (_call: unknown, answer: (error: null, value: object) => void) => answer(null, version),
      listContainers: (_call: unknown, answer: (error: null, value: object) => void) => answer(null, large),
      removeImageless: (_call: unknown, answer: (error: object) => void) =>
        answer({ code: status.FAILED_PRECONDITION, details: 'not 100% ü' }),
      getContainerEvents: (call: { write(event: object): void; end(): void }) => {
        for (const event of events) call.write(event);
        call.end();
      },
    });
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    );
    const client = connectCri({ endpoint: socketPath, requestTimeoutMs: 5_000 });
    open.push({ close: () => server.forceShutdown() }, client);
    return client;
  }

  it('receives small and large responses', async () => {
    const client = await connect();
    expect(await client.version({})).toEqual(version);
    expect(await client.listContainers({})).toEqual(large);
  });
  it('receives errors', async () =>
    expect((await connect()).removeContainer({ containerId: 'x' })).rejects.toMatchObject({
      codeName: 'FailedPrecondition',
      details: 'not 100% ü',
    }));
  it('receives Unimplemented for a missing method', async () =>
    expect((await connect()).status({})).rejects.toMatchObject({ codeName: 'Unimplemented' }));
  it('receives streams to their end', async () => {
    const seen: unknown[] = [];
    for await (const event of (await connect()).getContainerEvents({})) seen.push(event);
    expect(seen).toEqual(events);
  });
});
