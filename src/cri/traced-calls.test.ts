/** The spans of calls, and what a runtime on a real socket is told of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Http2Server } from 'node:http2';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../async/index.js';
import { traced } from '../tracing/index.js';
import type { FinishedSpan } from '../tracing/recording/recorded-span.js';
import { RecordingTracer } from '../tracing/recording/recording-tracer.js';
import { type CriClient, connectCri } from './client.js';

let directory: string;
let server: Http2Server;
let client: CriClient;
let status = '0';
const told: unknown[] = [];
const spans: FinishedSpan[] = [];
const tracer = new RecordingTracer({
  clock: systemClock,
  samplingRatePerMillion: 1_000_000,
  onEnd: (span) => spans.push(span),
});

beforeEach(async () => {
  told.length = 0;
  spans.length = 0;
  status = '0';
  directory = await mkdtemp(path.join(tmpdir(), 'cri-'));
  const socketPath = path.join(directory, 'cri.sock');
  server = createServer();
  server.on('stream', (stream, headers) => {
    told.push(headers.traceparent);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': 'gone' }));
    if (status === '0') stream.write(Buffer.alloc(5));
    stream.end();
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  client = connectCri({ endpoint: `unix://${socketPath}`, requestTimeoutMs: 5000, tracer });
});

afterEach(async () => {
  client.close();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  await rm(directory, { recursive: true, force: true });
});

it('a call is a span below the one it is made in, and the runtime is told of it', async () => {
  await traced(tracer, { name: 'syncPod' }, async () => void (await client.listContainers({})));
  const [call, step] = spans;
  expect(call).toMatchObject({
    name: 'runtime.v1.RuntimeService/ListContainers',
    kind: 'client',
    parentSpanId: step?.context.spanId,
    failure: undefined,
  });
  expect(Object.fromEntries(call!.attributes)).toEqual({
    'rpc.system': 'grpc',
    'rpc.service': 'runtime.v1.RuntimeService',
    'rpc.method': 'ListContainers',
    'rpc.grpc.status_code': 0,
  });
  expect(call!.events.map(({ attributes }) => attributes.get('rpc.message.type'))).toEqual([
    'SENT',
    'RECEIVED',
  ]);
  expect(told).toEqual([`00-${step?.context.traceId}-${call?.context.spanId}-01`]);
});

it('a call that fails has its code and message, and nothing of the request', async () => {
  status = '5';
  await expect(client.startContainer({ containerId: 'secret' })).rejects.toThrow('gone');
  const [call] = spans;
  expect(call?.attributes.get('rpc.grpc.status_code')).toBe(5);
  expect(call?.failure).toBe('gone');
  expect(JSON.stringify([call, [...call!.attributes]])).not.toContain('secret');
});

it('a stream is a span until it ends', async () => {
  for await (const _ of client.getContainerEvents({})) expect(spans).toEqual([]);
  expect(spans.map(({ name }) => name)).toEqual(['runtime.v1.RuntimeService/GetContainerEvents']);
  expect(told).toEqual([`00-${spans[0]?.context.traceId}-${spans[0]?.context.spanId}-01`]);
});

it('what a step has left running is not below it once it has ended', async () => {
  let go = (): void => undefined;
  const waiting = new Promise<void>((resolve) => {
    go = resolve;
  });
  let left: Promise<unknown> = Promise.resolve();
  await traced(tracer, { name: 'syncPod' }, async () => {
    left = waiting.then(() => client.listContainers({}));
  });
  go();
  await left;
  const [step, call] = spans;
  expect(call?.parentSpanId).toBeUndefined();
  expect(call?.context.traceId).not.toBe(step?.context.traceId);
});
