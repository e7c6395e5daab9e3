/** The pods API over a real socket: what it shows, refuses, tells and counts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { GrpcConnection, type GrpcServer, serveGrpc } from '../../grpc/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { PodEventType, Pods, type WatchPodsEvent } from './gen/pods-api.js';
import { podsApiLimits } from './limits.js';
import { createPodsApiMetrics } from './metrics.js';
import { changeOf, podMessage, servedPod } from './served-pod.js';
import { createPodsApi, type PodsApi } from './services.js';

const pod = (name: string, change: Partial<Pod> = {}): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { containers: [{ name: 'app', image: 'i' }] },
  ...change,
});

let clock: VirtualClock;
let pods: Map<string, Pod>;
let statuses: Map<string, PodStatus>;
let isReady: boolean;
let misfits: string[];
let registry: Registry;
let api: PodsApi;
let server: GrpcServer;
let client: GrpcConnection;
let root: string;

beforeEach(async () => {
  clock = new VirtualClock();
  pods = new Map([pod('b'), pod('a')].map((each) => [each.metadata.uid, each]));
  statuses = new Map([['uid-a', { phase: 'Running' }]]);
  isReady = true;
  misfits = [];
  registry = new Registry();
  api = createPodsApi({
    clock,
    metrics: createPodsApiMetrics(registry),
    allSourcesReady: () => isReady,
    pods: () => [...pods.values()],
    podOf: (uid) => pods.get(uid),
    statusOf: (uid) => statuses.get(uid),
    onMisfit: ({ metadata }, error) => void misfits.push(`${metadata.name}: ${String(error)}`),
  });
  root = await mkdtemp(path.join(tmpdir(), 'pods-api-'));
  const socketPath = path.join(root, 'd', 'pods-api.sock');
  server = await serveGrpc(api.services, { socketPath, directoryMode: 0o750, closeGraceMs: 2000 });
  client = new GrpcConnection(socketPath);
});

afterEach(async () => {
  await client.close();
  await server.close();
  await rm(root, { recursive: true });
});

const list = async (): Promise<Pod[]> =>
  (await client.unary(Pods.listPods, {})).pods.map((bytes) => podMessage.decode(bytes));

const counted = (name: string): string[] =>
  registry
    .text()
    .split('\n')
    .filter((line) => line.startsWith(`kubelet_pod_requests_${name}{`) || line.startsWith(`kubelet_${name} `))
    .map((line) => line.replace(/.*status_code="(\w+)"\} /, '$1 '));

/** Reads events one by one, and says how the stream ended. */
class Watch {
  readonly seen: string[] = [];
  readonly #stop = new AbortController();
  readonly #events: AsyncIterator<WatchPodsEvent>;

  constructor() {
    this.#events = client.stream(Pods.watchPods, {}, { signal: this.#stop.signal })[Symbol.asyncIterator]();
  }

  async next(): Promise<string> {
    const { value } = await this.#events.next();
    // These tests ask only for events that come.
    const { type, pod: bytes } = value as WatchPodsEvent;
    const name = Object.entries(PodEventType).find(([, number]) => number === type)?.[0] ?? '';
    if (bytes.length === 0) return name;
    const { metadata, status } = podMessage.decode(bytes);
    return [name, metadata.name, status?.phase].filter((part) => part !== undefined).join(' ');
  }

  async take(count: number): Promise<string[]> {
    const events: string[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }

  end(): void {
    this.#stop.abort();
  }
}

describe('ListPods and GetPod', () => {
  it('show all pods by UID with the own status of the kubelet', async () => {
    expect((await list()).map(({ metadata, status }) => [metadata.uid, status?.phase])).toEqual([
      ['uid-a', 'Running'],
      ['uid-b', 'Pending'],
    ]);
    const { pod: bytes } = await client.unary(Pods.getPod, { podUID: 'uid-b' });
    expect(podMessage.decode(bytes)).toEqual(servedPod(pod('b'), undefined));
    expect([counted('list_total'), counted('get_total'), counted('total')]).toEqual([
      ['OK 1'],
      ['OK 1'],
      ['OK 2'],
    ]);
  });
  it('show a change of the pod and of its status', async () => {
    await list();
    statuses.set('uid-a', { phase: 'Succeeded' });
    pods.set('uid-b', pod('b', { metadata: { ...pod('b').metadata, labels: { new: 'yes' } } }));
    const [a, b] = await list();
    expect([a?.status?.phase, b?.metadata.labels]).toEqual(['Succeeded', { new: 'yes' }]);
  });
  it('refuse a UID that nobody has', async () => {
    await expect(client.unary(Pods.getPod, { podUID: 'x' })).rejects.toMatchObject({
      codeName: 'NotFound',
      details: 'pod with UID x not found',
    });
    expect(counted('get_total')).toEqual(['NotFound 1']);
  });
  it('refuse every call before all sources are ready', async () => {
    isReady = false;
    const refusal = { codeName: 'FailedPrecondition', details: 'Kubelet is initializing' };
    await expect(list()).rejects.toMatchObject(refusal);
    await expect(client.unary(Pods.getPod, { podUID: 'uid-a' })).rejects.toMatchObject(refusal);
    await expect(new Watch().next()).rejects.toMatchObject(refusal);
    expect(counted('total')).toEqual(['FailedPrecondition 3']);
  });
  it('refuse more than ten calls at once, and do not count them', async () => {
    const calls = await Promise.allSettled(Array.from({ length: 12 }, list));
    expect(calls.filter(({ status }) => status === 'rejected')).toHaveLength(2);
    expect(counted('total')).toEqual(['OK 10']);
    await clock.advance(10);
    await list();
  });
  it('leave out a pod that protobuf cannot express, and say so once', async () => {
    pods.set(
      'uid-c',
      pod('c', { spec: { containers: [{ name: 'app', image: 7 }] } as unknown as Pod['spec'] }),
    );
    expect((await list()).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    await list();
    expect(misfits).toEqual(['c: TypeError: Container.image: expected a string, got number']);
    await expect(client.unary(Pods.getPod, { podUID: 'uid-c' })).rejects.toMatchObject({
      codeName: 'NotFound',
    });
  });
});

describe('WatchPods', () => {
  const initial = ['ADDED a Running', 'ADDED b Pending', 'INITIAL_SYNC_COMPLETE'];
  it('tells of the pods that there are, then of statuses and ends', async () => {
    const watch = new Watch();
    expect(await watch.take(3)).toEqual(initial);
    api.statusChanged('uid-b', { phase: 'Running' }, 1);
    api.statusChanged('uid-b', { phase: 'Succeeded' }, 2);
    api.statusChanged('uid-gone', { phase: 'Running' }, 1);
    api.finished({ uid: 'uid-b', name: 'b', namespace: 'ns' });
    expect(await watch.take(3)).toEqual(['ADDED b Running', 'MODIFIED b Succeeded', 'DELETED b']);
    expect((await list()).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    watch.end();
    await expect(watch.next()).rejects.toThrow();
    await expect.poll(() => counted('watch_total')).toEqual(['Canceled 1']);
  });
  it('is not limited like calls', async () => {
    for (let n = 0; n < 15; n++) {
      const watch = new Watch();
      expect(await watch.take(3)).toEqual(initial);
    }
  });
  it('cuts off a watcher that falls behind, and nobody else', async () => {
    const slow = new Watch();
    const quick = new Watch();
    await slow.take(3);
    await quick.take(3);
    // More than the queue and all buffers between hold, as the slow one reads nothing.
    const large = { phase: 'Running' as const, message: 'x'.repeat(100_000) };
    for (let n = 0; n < podsApiLimits.watcherEvents + 60; n++) {
      api.statusChanged('uid-a', { ...large }, 2);
      expect(await quick.next()).toBe('MODIFIED a Running');
    }
    expect(counted('pod_watch_events_dropped_total')).toEqual(['kubelet_pod_watch_events_dropped_total 1']);
    const rest = async (): Promise<void> => {
      for (;;) await slow.next();
    };
    await expect(rest()).rejects.toMatchObject({
      codeName: 'ResourceExhausted',
      details: 'watch client channel closed',
    });
    api.statusChanged('uid-a', { phase: 'Failed' }, 2);
    expect(await quick.next()).toBe('MODIFIED a Failed');
  });
  it('refuses more watchers than it may have, and lets others in when one goes', async () => {
    const watches: Watch[] = [];
    for (let n = 0; n < podsApiLimits.watchers; n++) {
      const watch = new Watch();
      await watch.take(3);
      watches.push(watch);
    }
    await expect(new Watch().next()).rejects.toMatchObject({ codeName: 'ResourceExhausted' });
    watches[0]!.end();
    await expect.poll(() => counted('watch_total')).toContain('Canceled 1');
    expect(await new Watch().take(3)).toEqual(initial);
  });
  it('tells watchers when the kubelet stops', async () => {
    const watch = new Watch();
    await watch.take(3);
    const next = expect(watch.next()).rejects.toMatchObject({
      codeName: 'ResourceExhausted',
      details: 'watch client channel closed',
    });
    api.close();
    await server.close();
    await next;
  });
});

describe('a pod without a status of the kubelet', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'x' } as const;
  const scheduled = { type: 'PodScheduled', status: 'True' } as const;
  it.each<[string, PodStatus | undefined, PodStatus]>([
    ['is pending without any status', undefined, { phase: 'Pending' }],
    [
      'is pending with an empty phase',
      { phase: '' as never, reason: 'r' },
      { phase: 'Pending', reason: 'r' },
    ],
    [
      'keeps its phase and conditions, and is not ready',
      { phase: 'Running', conditions: [scheduled, ready] },
      {
        phase: 'Running',
        conditions: [
          scheduled,
          {
            type: 'Ready',
            status: 'False',
            reason: 'ContainersNotReady',
            message: 'Kubelet is initializing pod containers',
          },
        ],
      },
    ],
  ])('%s', (_, status, expected) => {
    const given = pod('p', status === undefined ? {} : { status });
    expect(servedPod(given, undefined).status).toEqual(expected);
  });
});

it.each<[string, Partial<Pod['metadata']>, number, string]>([
  ['the first status', {}, 1, 'added'],
  ['a later status', {}, 2, 'modified'],
  [
    'the first status of a pod that is being deleted',
    { deletionTimestamp: '2026-01-01T00:00:00Z' },
    1,
    'modified',
  ],
])('%s tells of a pod that is %s', (_, metadata, version, expected) => {
  expect(changeOf(pod('p', { metadata: { ...pod('p').metadata, ...metadata } }), version)).toBe(expected);
});
