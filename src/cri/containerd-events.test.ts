/** Tests how the payloads of containerd's events are parsed, and the subscription over a real socket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Init } from '../grpc/index.js';
import { type ContainerdEvent, readContainerdEvent, subscribeContainerdEvents } from './containerd-events.js';
import { isUnavailable } from './errors.js';
import {
  ContainerCreate,
  ContainerDelete,
  Envelope,
  Events,
  type SubscribeRequest,
  TaskDelete,
  TaskExit,
  TaskOOM,
  TaskStart,
} from './gen/containerd-events.js';

const envelope = (topic: string, value: Uint8Array): Init<Envelope> => ({
  timestamp: { seconds: 1_700_000_000, nanos: 5 },
  namespace: 'k8s.io',
  topic,
  event: { value },
});
const sentAt = 1_700_000_000_000_000_005n;
const exitedAt = { seconds: 1_699_999_999, nanos: 999_999_999 };

describe('parsing an event', () => {
  const cases: [
    rule: string,
    topic: string,
    payload: Uint8Array,
    expected: Partial<ContainerdEvent> | undefined,
  ][] = [
    [
      'a container is created',
      '/containers/create',
      ContainerCreate.encode({ id: 'c', image: 'i' }),
      { kind: 'create', containerId: 'c', timestamp: sentAt },
    ],
    [
      'a container is deleted',
      '/containers/delete',
      ContainerDelete.encode({ id: 'c' }),
      { kind: 'delete', containerId: 'c' },
    ],
    [
      'the main process starts',
      '/tasks/start',
      TaskStart.encode({ containerId: 'c', pid: 9 }),
      { kind: 'start', pid: 9, execId: 'c' },
    ],
    [
      'the main process exits, at the time of the event',
      '/tasks/exit',
      TaskExit.encode({ containerId: 'c', id: 'c', pid: 9, exitStatus: 137, exitedAt }),
      { kind: 'exit', exitStatus: 137, execId: 'c', timestamp: 1_699_999_999_999_999_999n },
    ],
    [
      'an exec exits',
      '/tasks/exit',
      TaskExit.encode({ containerId: 'c', id: 'e', pid: 10 }),
      { kind: 'exit', containerId: 'c', execId: 'e', exitStatus: 0, timestamp: sentAt },
    ],
    ['an OOM kill', '/tasks/oom', TaskOOM.encode({ containerId: 'c' }), { kind: 'oom', containerId: 'c' }],
    [
      'a task is deleted',
      '/tasks/delete',
      TaskDelete.encode({ containerId: 'c', pid: 9, exitStatus: 1 }),
      { kind: 'delete', execId: 'c', exitStatus: 1 },
    ],
    ['other topics are ignored', '/images/create', new Uint8Array(), undefined],
  ];
  it.each(cases)('%s', (_, topic, payload, expected) => {
    const event = readContainerdEvent(Envelope.create(envelope(topic, payload)));
    if (expected === undefined) expect(event).toBeUndefined();
    else expect(event).toMatchObject({ topic, ...expected });
  });
});

describe('subscribeContainerdEvents', () => {
  it('filters by namespace and topic, and ends the subscription with the iteration', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'events-'));
    const socketPath = path.join(directory, 'containerd.sock');
    const requests: { request: SubscribeRequest; namespace: unknown }[] = [];
    let ended: Promise<unknown> | undefined;
    const server = new Server();
    const { path: methodPath, request, response } = Events.subscribe;
    server.addService(
      {
        subscribe: {
          path: methodPath,
          requestStream: false,
          responseStream: true,
          requestSerialize: (value: SubscribeRequest) => request.encode(value),
          requestDeserialize: (bytes: Buffer) => request.decode(bytes),
          responseSerialize: (value: Envelope) => response.encode(value),
          responseDeserialize: (bytes: Buffer) => response.decode(bytes),
        },
      },
      {
        subscribe(call: ServerWritableStream<SubscribeRequest, Init<Envelope>>) {
          requests.push({ request: call.request, namespace: call.metadata.get('containerd-namespace')[0] });
          ended = new Promise((resolve) => call.on('cancelled', resolve));
          call.write(envelope('/images/create', new Uint8Array()));
          call.write(envelope('/tasks/oom', TaskOOM.encode({ containerId: 'c' })));
        },
      },
    );
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
    try {
      for await (const event of subscribeContainerdEvents({ endpoint: `unix://${socketPath}` })) {
        expect(event).toMatchObject({ kind: 'oom', containerId: 'c' });
        break;
      }
      await ended;
      expect(requests[0]?.namespace).toBe('k8s.io');
      expect(requests[0]?.request.filters).toContain('namespace==k8s.io,topic=="/tasks/exit"');
    } finally {
      server.forceShutdown();
      await rm(directory, { recursive: true });
    }
  });

  it('fails with Unavailable when containerd is unreachable', async () => {
    const events = subscribeContainerdEvents({ endpoint: '/nonexistent/containerd.sock' });
    await expect(events.next()).rejects.toSatisfy(isUnavailable);
  });
});
