import { lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  absentPodStatus,
  ContainerState,
  ContainerStatus,
  ContainerStatusResponse,
  CriError,
  type CriRuntime,
  criLabels,
  ListContainersResponse,
  ListPodSandboxResponse,
  observeContainerStatus,
  PodSandboxState,
  RemoveContainerResponse,
  RemovePodSandboxResponse,
  StopPodSandboxResponse,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { type CollectorOptions, GarbageCollector } from './collector.js';
import { containerRemover } from './remover.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gc-'));
  await mkdir(join(dir, 'pods'));
  await mkdir(join(dir, 'links'));
});
afterEach(() => rm(dir, { recursive: true }));

interface Listed {
  readonly id: string;
  readonly uid: string;
  readonly state?: ContainerState;
  readonly createdAt?: bigint;
  readonly sandbox?: string;
  readonly logPath?: string;
}

interface Sandbox {
  readonly id: string;
  readonly uid: string;
  readonly ready?: boolean;
  readonly createdAt?: bigint;
}

function scene(containers: Listed[], sandboxes: Sandbox[] = [], over: Partial<CollectorOptions> = {}) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const calls: string[] = [];
  const failing = new Set<string>();
  const gone = new Set<string>();
  const ended = new Set<string>();
  const did = (call: string): void => {
    calls.push(call);
    if (failing.has(call)) throw new CriError('Internal', `${call} failed`);
  };
  const cri: CriRuntime = {
    ...unimplementedCriRuntime(),
    async listContainers() {
      return ListContainersResponse.create({
        containers: containers.map(
          ({ id, uid, state = ContainerState.CONTAINER_EXITED, createdAt = 1n, sandbox = '' }) => ({
            id,
            podSandboxId: sandbox,
            state,
            createdAt,
            labels: { [criLabels.podUid]: uid, [criLabels.containerName]: 'c' },
          }),
        ),
      });
    },
    async listPodSandbox() {
      return ListPodSandboxResponse.create({
        items: sandboxes.map(({ id, uid, ready = false, createdAt = 1n }) => ({
          id,
          metadata: { uid },
          createdAt,
          state: ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
        })),
      });
    },
    async containerStatus({ containerId }) {
      const found = containers.find(({ id }) => id === containerId);
      if (found === undefined) throw new CriError('NotFound', 'no such container');
      return ContainerStatusResponse.create({
        status: {
          id: found.id,
          state: found.state ?? ContainerState.CONTAINER_EXITED,
          logPath: found.logPath ?? '',
          labels: {
            [criLabels.podName]: 'pod',
            [criLabels.podNamespace]: 'ns',
            [criLabels.podUid]: found.uid,
          },
        },
      });
    },
    async removeContainer({ containerId }) {
      did(`remove ${containerId}`);
      containers.splice(
        containers.findIndex(({ id }) => id === containerId),
        1,
      );
      return RemoveContainerResponse.create();
    },
    async stopPodSandbox({ podSandboxId }) {
      did(`stop sandbox ${podSandboxId}`);
      return StopPodSandboxResponse.create();
    },
    async removePodSandbox({ podSandboxId }) {
      did(`remove sandbox ${podSandboxId}`);
      return RemovePodSandboxResponse.create();
    },
  };
  const containerLogsDir = join(dir, 'links');
  const remover = containerRemover({ cri, timeline, containerLogsDir });
  const collector = new GarbageCollector({
    cri,
    clock,
    timeline,
    nodeName: 'n1',
    policy: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
    podStates: {
      isTerminationRequested: () => false,
      shouldContentBeRemoved: (uid) => gone.has(uid),
      shouldRuntimeBeRemoved: (uid) => ended.has(uid),
    },
    remover,
    kill: async ({ id, message }) => did(`kill ${id}: ${message}`),
    allSourcesReady: () => true,
    podLogsDir: join(dir, 'pods'),
    containerLogsDir,
    ...over,
  });
  return { clock, timeline, calls, failing, gone, ended, cri, collector, remover };
}

describe('GarbageCollector', () => {
  it('keeps the newest dead instance of each container and all running ones', async () => {
    const { collector, calls } = scene([
      { id: 't2', uid: 'p', createdAt: 2n },
      { id: 't1', uid: 'p', createdAt: 1n },
      { id: 't0', uid: 'p', createdAt: 0n },
      { id: 'old', uid: 'p', createdAt: 0n, state: ContainerState.CONTAINER_RUNNING },
    ]);
    await collector.collect();
    expect(calls).toEqual(['remove t0', 'remove t1']);
  });
  it('keeps the last exit of a container that is about to start again, and the instance created for that', async () => {
    const { collector, calls } = scene([
      { id: 'first', uid: 'p', createdAt: 1n },
      { id: 'ended', uid: 'p', createdAt: 2n },
      { id: 'made', uid: 'p', createdAt: 3n, state: ContainerState.CONTAINER_CREATED },
    ]);
    await collector.collect();
    expect(calls).toEqual(['remove first']);
  });
  it('leaves containers younger than the minimum age', async () => {
    const young = BigInt(new VirtualClock().now()) * 1_000_000n;
    const { collector, calls, clock } = scene([{ id: 'a', uid: 'p', createdAt: young }], [], {
      policy: { minAgeMs: 60_000, maxPerContainer: 0, maxTotal: -1 },
    });
    await collector.collect();
    expect(calls).toEqual([]);
    await clock.advance(60_000);
    await collector.collect();
    expect(calls).toEqual(['remove a']);
  });
  it('removes everything of deleted pods, and forgets them', async () => {
    const forgotten: string[] = [];
    const { collector, calls, gone } = scene([{ id: 'a', uid: 'p' }], [{ id: 's', uid: 'p' }], {
      forgetPod: async (uid) => void forgotten.push(uid),
    });
    gone.add('p');
    await collector.collect();
    expect(calls).toEqual(['remove a', 'stop sandbox s', 'remove sandbox s']);
    expect(forgotten).toEqual(['p']);
  });
  it('removes from pods that have only ended when space is short', async () => {
    const { collector, calls, ended } = scene([{ id: 'a', uid: 'p' }]);
    ended.add('p');
    await collector.collect();
    expect(calls).toEqual([]);
    await collector.deleteUnused();
    expect(calls).toEqual(['remove a']);
  });
  it('kills a container in an unknown state first, and keeps it when that fails', async () => {
    const unknown = ContainerState.CONTAINER_UNKNOWN;
    const { collector, calls, failing, gone } = scene([
      { id: 'a', uid: 'p', state: unknown, createdAt: 2n },
      { id: 'b', uid: 'p', state: unknown, createdAt: 1n },
    ]);
    gone.add('p');
    const message = 'Container is in unknown state, try killing it before removal';
    failing.add(`kill a: ${message}`);
    await collector.collect();
    expect(calls).toEqual([`kill b: ${message}`, 'remove b', `kill a: ${message}`]);
  });
  it('lists sandboxes and containers once, the sandboxes first', async () => {
    const lists: string[] = [];
    const { cri } = scene([]);
    const { collector } = scene([], [], {
      cri: {
        ...cri,
        listPodSandbox: async (request) => {
          lists.push('sandboxes');
          return cri.listPodSandbox(request);
        },
        listContainers: async (request) => {
          lists.push('containers');
          return cri.listContainers(request);
        },
      },
    });
    await collector.collect();
    expect(lists).toEqual(['sandboxes', 'containers']);
  });
  it('keeps the sandbox of a container that could not be removed', async () => {
    const { collector, calls, gone, failing } = scene(
      [{ id: 'a', uid: 'p', sandbox: 's' }],
      [{ id: 's', uid: 'p' }],
    );
    gone.add('p');
    failing.add('remove a');
    await collector.collect();
    expect(calls).toEqual(['remove a']);
    failing.clear();
    await collector.collect();
    expect(calls.slice(1)).toEqual(['remove a', 'stop sandbox s', 'remove sandbox s']);
  });
  it('records why each container and sandbox was removed, once', async () => {
    const { collector, timeline, gone } = scene(
      [
        { id: 'a2', uid: 'p', createdAt: 2n },
        { id: 'a1', uid: 'p', createdAt: 1n },
        { id: 'b', uid: 'q' },
      ],
      [{ id: 's', uid: 'q' }],
    );
    gone.add('q');
    await collector.collect();
    const told = ['p', 'q'].flatMap((uid) =>
      timeline
        .ofPod(uid)
        .map(({ what, because, data }) => `${what} ${Object.values(data ?? {})}: ${because}`),
    );
    expect(told).toEqual([
      'container.remove a1: newer instances of the container have ended',
      'container.remove b: the pod is gone',
      'sandbox.remove s: the pod is gone',
    ]);
  });
  it('removes old sandboxes of a living pod, and leaves one that does not stop', async () => {
    const { collector, calls, failing } = scene(
      [],
      [
        { id: 's3', uid: 'p', createdAt: 3n, ready: true },
        { id: 's2', uid: 'p', createdAt: 2n },
        { id: 's1', uid: 'p', createdAt: 1n },
      ],
    );
    failing.add('stop sandbox s2');
    await collector.collect();
    expect(calls).toEqual(['stop sandbox s2', 'stop sandbox s1', 'remove sandbox s1']);
  });
  it('foretells the log directories that it removes later, and removes none', async () => {
    await mkdir(join(dir, 'pods', 'ns_web_gone'));
    await mkdir(join(dir, 'pods', 'ns_web_here'));
    let isReady = false;
    const { collector, gone } = scene([], [], { allSourcesReady: () => isReady });
    gone.add('gone');
    expect((await collector.forecast()).logDirectories).toEqual([]);
    isReady = true;
    const { logDirectories } = await collector.forecast();
    expect(logDirectories).toEqual([join(dir, 'pods', 'ns_web_gone')]);
    expect(await readdir(join(dir, 'pods'))).toHaveLength(2);
    await collector.collect();
    expect(await readdir(join(dir, 'pods'))).toEqual(['ns_web_here']);
  });

  it('removes log directories of deleted pods, once all sources are ready', async () => {
    await mkdir(join(dir, 'pods', 'ns_web_gone', 'c'), { recursive: true });
    await mkdir(join(dir, 'pods', 'ns_web_here'));
    const early = scene([], [], { allSourcesReady: () => false });
    early.gone.add('gone');
    await early.collector.collect();
    expect(await readdir(join(dir, 'pods'))).toHaveLength(2);
    const { collector, gone } = scene([]);
    gone.add('gone');
    await collector.collect();
    expect(await readdir(join(dir, 'pods'))).toEqual(['ns_web_here']);
  });
  it('removes dangling links, unless the container may still write', async () => {
    const links = join(dir, 'links');
    await writeFile(join(dir, 'real.log'), '');
    const link = (name: string, target: string): Promise<void> =>
      symlink(join(dir, target), join(links, name));
    await link('a_ns_c-running1.log', 'none');
    await link('a_ns_c-exited11.log', 'none');
    await link('a_ns_c-unknown1.log', 'none');
    await link('short-1.log', 'none');
    await link('a_ns_c-unknown2.log', 'real.log');
    await link('a_ns_c-unknown3.txt', 'none');
    const { collector } = scene([
      { id: 'running1', uid: 'p', state: ContainerState.CONTAINER_RUNNING },
      { id: 'exited11', uid: 'p' },
    ]);
    await collector.collect();
    expect((await readdir(links)).sort()).toEqual([
      'a_ns_c-running1.log',
      'a_ns_c-unknown2.log',
      'a_ns_c-unknown3.txt',
    ]);
  });
  it('goes on when one part fails, and reports the failure', async () => {
    await mkdir(join(dir, 'pods', 'ns_web_gone'));
    const { cri } = scene([]);
    const { collector, gone } = scene([], [], {
      cri: { ...cri, listContainers: () => Promise.reject(new CriError('Unavailable', 'down')) },
    });
    gone.add('gone');
    await expect(collector.collect()).rejects.toThrow('code = Unavailable desc = down');
    expect(await readdir(join(dir, 'pods'))).toEqual([]);
  });
  it('collects soon after all sources are ready, and then every minute', async () => {
    let ready = false;
    const { cri } = scene([]);
    let passes = 0;
    const { collector, clock } = scene([], [], {
      cri: {
        ...cri,
        listPodSandbox: async (request) => {
          passes++;
          return cri.listPodSandbox(request);
        },
      },
      // Files are read in real time.
      podLogsDir: '',
      containerLogsDir: undefined,
      allSourcesReady: () => ready,
    });
    const stop = new AbortController();
    const running = collector.run(stop.signal).catch(() => {});
    await clock.advance(20_000);
    expect(passes).toBe(0);
    ready = true;
    await clock.advance(6_000);
    expect(passes).toBe(1);
    await clock.advance(60_000);
    expect(passes).toBe(2);
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });
  it('waits while pods are started or stopped, for a minute at most', async () => {
    let isBusy = true;
    const { collector, clock } = scene([], [], { isBusy: () => isBusy });
    let passes = 0;
    collector.collect = async () => void passes++;
    const stop = new AbortController();
    const running = collector.run(stop.signal).catch(() => {});
    await clock.advance(5_000);
    expect(passes).toBe(1);
    await clock.advance(114_000);
    expect(passes).toBe(1);
    await clock.advance(6_000);
    expect(passes).toBe(2);
    await clock.advance(60_000);
    isBusy = false;
    await clock.advance(1_000);
    expect(passes).toBe(3);
    stop.abort();
    await running;
  });

  it('records an event for a failed pass, every minute', async () => {
    const { cri } = scene([]);
    const { collector, clock, timeline } = scene([], [], {
      cri: { ...cri, listContainers: () => Promise.reject(new CriError('Unavailable', 'down')) },
      containerLogsDir: undefined,
      allSourcesReady: () => false,
    });
    const stop = new AbortController();
    const running = collector.run(stop.signal).catch(() => {});
    await clock.advance(120_000);
    expect(timeline.ofNode().map(({ event }) => event?.reason)).toEqual([
      'ContainerGCFailed',
      'ContainerGCFailed',
    ]);
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('removing after a death', () => {
  const podStatus = (count: number) => ({
    ...absentPodStatus('p'),
    containers: Array.from({ length: count }, (_, n) => ({
      ...observeContainerStatus(ContainerStatus.create({ id: `c${n}`, createdAt: BigInt(count - n) })),
      name: 'c',
      state: 'exited' as const,
    })),
  });
  it('removes older instances one after another', async () => {
    const { collector, calls } = scene(['c0', 'c1', 'c2'].map((id) => ({ id, uid: 'p' })));
    const stop = new AbortController();
    const running = collector.runQueue(stop.signal).catch(() => {});
    collector.removeDead(podStatus(3), 'c0');
    await vi.waitFor(() => expect(calls).toEqual(['remove c1', 'remove c2']));
    stop.abort();
    await running;
  });
  it('waits while pods are queued, for twenty seconds at most', async () => {
    let podsWait = true;
    const { collector, calls, clock } = scene(
      ['c0', 'c1', 'c2'].map((id) => ({ id, uid: 'p' })),
      [],
      { podsWait: () => podsWait },
    );
    const stop = new AbortController();
    const running = collector.runQueue(stop.signal).catch(() => {});
    collector.removeDead(podStatus(2), 'c0');
    await clock.advance(19_000);
    expect(calls).toEqual([]);
    await clock.advance(1_000);
    await vi.waitFor(() => expect(calls).toEqual(['remove c1']));
    collector.removeDead(podStatus(3), 'c0');
    podsWait = false;
    await clock.advance(1_000);
    await vi.waitFor(() => expect(calls).toContain('remove c2'));
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });
  it('reports containers and sandboxes before it removes them', async () => {
    const told: string[] = [];
    const onRemove = (id: string): void => void told.push(id);
    const { collector, timeline, gone } = scene([], [{ id: 's0', uid: 'p' }], { onRemove });
    gone.add('p');
    await collector.collect();
    expect(told).toEqual(['s0']);
    const { cri } = scene([{ id: 'c0', uid: 'p' }]);
    await containerRemover({ cri, timeline, containerLogsDir: undefined, onRemove }).remove(
      { id: 'c0', name: 'c' },
      { keepLogs: true, because: 'x' },
    );
    expect(told).toEqual(['s0', 'c0']);
  });
  it('drops what does not fit into the queue and reports it', () => {
    const { collector, timeline } = scene([]);
    collector.removeDead(podStatus(60), 'c0');
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toHaveLength(9);
  });
});

describe('containerRemover', () => {
  it('deletes the log, its rotated files and the link, then the container', async () => {
    const logPath = join(dir, '0.log');
    for (const name of ['0.log', '0.log.20260101-000000.gz', '1.log']) await writeFile(join(dir, name), '');
    await symlink(logPath, join(dir, 'links', 'pod_ns_c-abcdef.log'));
    const { remover, calls } = scene([{ id: 'abcdef', uid: 'p', logPath }]);
    await remover.remove({ id: 'abcdef', name: 'c' }, { keepLogs: false, because: 'x' });
    expect((await readdir(dir)).sort()).toEqual(['1.log', 'links', 'pods']);
    expect(await readdir(join(dir, 'links'))).toEqual([]);
    expect(calls).toEqual(['remove abcdef']);
  });
  it('keeps logs when asked to', async () => {
    const logPath = join(dir, '0.log');
    await writeFile(logPath, '');
    const { remover } = scene([{ id: 'abcdef', uid: 'p', logPath }]);
    await remover.remove({ id: 'abcdef', name: 'c' }, { keepLogs: true, because: 'x' });
    expect((await lstat(logPath)).isFile()).toBe(true);
  });
  it('keeps the container when its log cannot be deleted', async () => {
    const logPath = join(dir, '0.log');
    await mkdir(logPath);
    const { remover, calls } = scene([{ id: 'abcdef', uid: 'p', logPath }]);
    await expect(
      remover.remove({ id: 'abcdef', name: 'c' }, { keepLogs: false, because: 'x' }),
    ).rejects.toThrow();
    expect(calls).toEqual([]);
  });
  it('releases what was pinned before anything else', async () => {
    const { cri, timeline, calls } = scene([{ id: 'abcdef', uid: 'p' }]);
    const postStop = async (id: string): Promise<void> => void calls.push(`postStop ${id}`);
    await containerRemover({ cri, timeline, containerLogsDir: undefined, postStop }).remove(
      { id: 'abcdef', name: 'c' },
      { keepLogs: true, because: 'x' },
    );
    expect(calls).toEqual(['postStop abcdef', 'remove abcdef']);
  });
});
