import { beforeEach, describe, expect, it, vi } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { type Pod, readEvictionThresholds } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { createEvictionMetrics } from '../metrics.js';
import type { FsStats } from '../stats/index.js';
import { EvictionManager, type EvictionSettings } from './manager.js';
import type { EvictionKill } from './ports.js';
import { gi, mi, type TestUsage, testPod, testStats } from './test-pods.js';
import { withAllocatableMemory } from './thresholds.js';

const clockTime = (ms: number): string => new Date(ms).toISOString();
type Values = Readonly<Record<string, string>>;

/** A node whose figures the test sets, with pods that take a given time to be gone. */
class TestNode {
  readonly clock = new VirtualClock();
  readonly timeline = new Timeline({ clock: this.clock });
  readonly registry = new Registry();
  readonly entries: TimelineEntry[] = [];
  readonly killed: (EvictionKill & { readonly name: string; readonly atMs: number })[] = [];
  readonly reclaimed: string[] = [];
  readonly passesMs: number[] = [];
  /** When pods were measured. */
  readonly measuredMs: number[] = [];
  pods: Pod[] = [];
  readonly finished = new Set<string>();
  usage: Record<string, TestUsage> = {};
  memoryUsed = gi;
  disk = { available: 50 * gi, capacity: 100 * gi };
  image: { available: number; timeMs?: number } | undefined;
  processes = 100;
  finishesAfterMs: number | undefined = 3_000;
  freedByImages = 0;
  fileSystemsError: Error | undefined;
  observeError: Error | undefined;
  measureError: Error | undefined;
  isStuck = false;
  readonly startMs = this.clock.now();

  readonly manager: EvictionManager;

  constructor(settings: Partial<EvictionSettings>) {
    this.timeline.subscribe((entry) => this.entries.push(entry));
    this.manager = this.#create(settings);
  }

  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  #create(settings: Partial<EvictionSettings>): EvictionManager {
    return new EvictionManager({
      clock: this.clock,
      timeline: this.timeline,
      nodeName: 'n1',
      settings: {
        thresholds: [],
        transitionPeriodMs: 300_000,
        maxPodGraceSeconds: 0,
        limitsLocalStorage: true,
        watchesMemory: false,
        ...settings,
      },
      metrics: createEvictionMetrics(this.registry),
      stats: {
        fileSystems: async () => {
          if (this.fileSystemsError !== undefined) throw this.fileSystemsError;
          const imageFs = this.#imageFs();
          const imageDevice = this.image === undefined ? 1n : 2n;
          return { rootDevice: 1n, imageDevice, containerDevice: undefined, imageFs, containerFs: imageFs };
        },
        observe: async () => {
          this.passesMs.push(this.clock.now() - this.startMs);
          if (this.observeError !== undefined) throw this.observeError;
          const time = clockTime(this.clock.now());
          const imageFs = this.#imageFs();
          return {
            figures: {
              node: {
                nodeName: 'n1',
                startTime: time,
                memory: { time, workingSetBytes: this.memoryUsed },
                fs: this.#fs(this.disk.available, time),
                runtime: { imageFs, containerFs: imageFs },
                rlimit: { time, maxpid: 1000, curproc: this.processes },
              },
              memoryLimitBytes: 8 * gi,
              podsMemoryLimitBytes: undefined,
              hugePagesBytes: 0,
            },
            pods: async () => {
              this.measuredMs.push(this.clock.now() - this.startMs);
              if (this.measureError !== undefined) throw this.measureError;
              return Object.entries(this.usage).map(([name, usage]) => testStats(name, usage));
            },
          };
        },
      },
      pods: {
        active: () => this.pods.filter(({ metadata }) => !this.finished.has(metadata.uid)),
        kill: async (pod, kill) => {
          const { name, uid } = pod.metadata;
          this.killed.push({ ...kill, name, atMs: this.clock.now() - this.startMs });
          const gone = (): void => {
            this.finished.add(uid);
            const usage = this.usage[name];
            this.memoryUsed -= usage?.memory ?? 0;
            delete this.usage[name];
          };
          if (this.finishesAfterMs !== undefined) this.clock.setTimer(this.finishesAfterMs, gone);
          if (this.isStuck) throw new Error('timeout waiting to kill pod');
        },
        isFinished: (uid) => this.finished.has(uid),
      },
      reclaim: {
        containers: async () => void this.reclaimed.push('containers'),
        images: async () => {
          this.reclaimed.push('images');
          this.disk.available += this.freedByImages;
          if (this.image !== undefined) this.image.available += this.freedByImages;
        },
      },
    });
  }

  #fs(available: number, time: string): FsStats {
    return {
      time,
      availableBytes: available,
      capacityBytes: this.disk.capacity,
      inodes: 1000,
      inodesFree: 500,
    };
  }

  #imageFs(): FsStats {
    const { available, timeMs } = this.image ?? { available: this.disk.available };
    return this.#fs(available, clockTime(timeMs ?? this.clock.now()));
  }

  add(name: string, usage: TestUsage | undefined, shape: Parameters<typeof testPod>[1] = {}): void {
    this.pods.push(testPod(name, shape));
    if (usage !== undefined) this.usage[name] = usage;
  }

  async run(ms: number): Promise<void> {
    this.#running ??= this.manager.run(this.#stop.signal).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error;
    });
    await this.clock.advance(ms);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await settle();
    await this.#running;
    expect(this.clock.pendingTimers - [...this.finished].length).toBeLessThanOrEqual(this.killed.length);
  }

  names(): string[] {
    return this.killed.map(({ name }) => name);
  }

  reasons(): string[] {
    return this.entries.flatMap(({ event }) => (event === undefined ? [] : [event.reason]));
  }

  metric(line: string): string | undefined {
    return this.registry
      .text()
      .split('\n')
      .find((text) => text.startsWith(line));
  }
}

const hard = (evictionHard: Values, evictionMinimumReclaim: Values = {}): Partial<EvictionSettings> => ({
  thresholds: withAllocatableMemory(
    readEvictionThresholds({
      evictionHard,
      evictionMinimumReclaim,
      evictionSoft: {},
      evictionSoftGracePeriod: {},
    }).thresholds,
  ),
});
const soft = (evictionSoft: Values, grace: string): Partial<EvictionSettings> => ({
  thresholds: readEvictionThresholds({
    evictionHard: {},
    evictionMinimumReclaim: {},
    evictionSoft,
    evictionSoftGracePeriod: Object.fromEntries(Object.keys(evictionSoft).map((key) => [key, grace])),
  }).thresholds,
});

describe('memory', () => {
  let node: TestNode;
  beforeEach(() => {
    node = new TestNode(hard({ 'memory.available': '1Gi' }));
    node.memoryUsed = 7.5 * gi;
    node.add('big', { memory: 2 * gi });
    node.add('small', { memory: gi / 4 });
  });

  it('ends one pod at a time, and looks again as soon as it is gone', async () => {
    node.add('other', { memory: gi / 8 });
    node.memoryUsed = 9.5 * gi;
    await node.run(5_000);
    expect(node.names()).toEqual(['big', 'small']);
    expect(node.killed.map(({ graceSeconds }) => graceSeconds)).toEqual([1, 1]);
    expect(node.killed[1]?.atMs).toBeLessThanOrEqual(4_000);
    expect(node.manager.conditions).toEqual(['MemoryPressure']);
    await node.stop();
  });

  it('tells the node, the pod and the metrics', async () => {
    await node.run(1_000);
    expect(node.reasons()).toEqual(['EvictionThresholdMet', 'Evicted']);
    const told = node.entries.find(({ event }) => event?.reason === 'Evicted');
    expect(told?.message).toBe(
      'The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. Container app was using 2Gi, request is 0, has larger consumption of memory. ',
    );
    expect(told?.event?.annotations).toEqual({
      offending_containers: 'app',
      offending_containers_usage: '2Gi',
      starved_resource: 'memory',
    });
    expect(node.killed[0]).toMatchObject({ message: told?.message, isDisruption: true });
    expect(node.metric('kubelet_evictions')).toBe('kubelet_evictions{eviction_signal="memory.available"} 1');
    expect(node.metric('kubelet_eviction_stats_age_seconds_count')).toContain('memory.available"} 1');
    const why = node.entries.find(({ what }) => what === 'pod.evicted');
    expect(why).toMatchObject({
      data: { signal: 'memory.available', graceSeconds: 1 },
      because:
        'it uses 2Gi of memory, more than the 0 that it requests; its priority is 0; the next one is less beyond what it requests',
    });
    expect(node.entries.map(({ what }) => what)).toEqual([
      'eviction.layout',
      'eviction.threshold',
      'eviction.signals',
      'event.EvictionThresholdMet',
      'eviction.rank',
      'pod.evicted',
      'event.Evicted',
    ]);
    await node.stop();
  });

  it('a pod that is never gone delays the next pass by 30 s, and is not evicted again', async () => {
    node.finishesAfterMs = undefined;
    await node.run(29_000);
    expect(node.passesMs).toEqual([0]);
    await node.run(2_000);
    expect(node.passesMs).toEqual([0, 30_000]);
    expect(node.names()).toEqual(['big', 'small']);
    await node.stop();
  });

  it('a pod that does not stop in time counts as evicted', async () => {
    node.isStuck = true;
    await node.run(1_000);
    expect(node.metric('kubelet_evictions')).toContain(' 1');
    await node.stop();
  });

  it('without pressure looks every ten seconds, and more often when asked to watch memory', async () => {
    node.memoryUsed = 6.5 * gi;
    await node.run(25_000);
    expect(node.passesMs).toEqual([0, 10_000, 20_000]);
    await node.stop();
    const watching = new TestNode({ ...hard({ 'memory.available': '1Gi' }), watchesMemory: true });
    watching.memoryUsed = 6.5 * gi;
    await watching.run(3_500);
    expect(watching.passesMs).toEqual([0, 1_000, 2_000, 3_000]);
    watching.memoryUsed = gi;
    await watching.run(20_000);
    expect(watching.passesMs).toEqual([0, 1_000, 2_000, 3_000, 4_000, 14_000]);
    await watching.stop();
  });

  it('only critical pods: nobody goes, and the record says so', async () => {
    node.pods = [];
    node.add('static', { memory: gi }, { isStatic: true });
    await node.run(1_000);
    expect(node.names()).toEqual([]);
    expect(node.entries.at(-1)).toMatchObject({ what: 'eviction.rank', kind: 'problem' });
    expect(node.entries.at(-1)?.message).toContain('unable to evict any pods');
    await node.stop();
  });

  it('the condition goes after the transition period', async () => {
    await node.run(1_000);
    await node.run(290_000);
    expect(node.manager.conditions).toEqual(['MemoryPressure']);
    await node.run(20_000);
    expect(node.manager.conditions).toEqual([]);
    await node.stop();
  });
});

it('a soft threshold leaves pods their time', async () => {
  const node = new TestNode({
    ...soft({ 'memory.available': '1Gi' }, '1m'),
    maxPodGraceSeconds: 120,
  });
  node.memoryUsed = 7.5 * gi;
  node.add('web', { memory: 2 * gi }, { spec: { terminationGracePeriodSeconds: 60 } });
  await node.run(59_000);
  expect(node.names()).toEqual([]);
  await node.run(2_000);
  expect(node.killed).toMatchObject([{ name: 'web', graceSeconds: 60 }]);
  await node.stop();
});

describe('disks', () => {
  it('images that nobody uses go before pods', async () => {
    const node = new TestNode(hard({ 'nodefs.available': '10%' }));
    node.add('web', { rootfs: gi });
    node.disk.available = 5 * gi;
    node.freedByImages = 6 * gi;
    await node.run(1_000);
    expect(node.reclaimed).toEqual(['containers', 'images']);
    expect(node.reasons()).toEqual(['EvictionThresholdMet']);
    expect(node.names()).toEqual([]);
    await node.stop();
  });

  it('a soft threshold of memory that is met lets a pod go although the disk has room again', async () => {
    const node = new TestNode({
      thresholds: [
        ...(hard({ 'nodefs.available': '10%' }).thresholds ?? []),
        ...(soft({ 'memory.available': '7.5Gi' }, '1h').thresholds ?? []),
      ],
    });
    node.add('web', { rootfs: gi });
    node.disk.available = 5 * gi;
    node.freedByImages = 6 * gi;
    await node.run(1_000);
    expect(node.names()).toEqual(['web']);
    await node.stop();
  });

  it('images that lie apart cannot help the node, whose logs and volumes count', async () => {
    const node = new TestNode(hard({ 'nodefs.available': '10%' }));
    node.image = { available: 50 * gi };
    node.add('layers', { rootfs: 5 * gi });
    node.add('logs', { logs: gi });
    node.disk.available = 5 * gi;
    await node.run(1_000);
    expect(node.reclaimed).toEqual([]);
    expect(node.names()).toEqual(['logs']);
    await node.stop();
  });

  it('images that lie apart and are full: containers, images, then the pod with most of its own files', async () => {
    const node = new TestNode(hard({ 'imagefs.available': '10%' }));
    node.image = { available: 5 * gi };
    node.add('logs', { logs: 9 * gi });
    node.add('layers', { rootfs: gi });
    await node.run(1_000);
    expect(node.reclaimed).toEqual(['containers', 'images']);
    expect(node.names()).toEqual(['layers']);
    await node.stop();
  });

  it('nobody acts twice on one measurement of the runtime', async () => {
    const node = new TestNode(hard({ 'imagefs.available': '10%' }));
    node.image = { available: 5 * gi, timeMs: node.clock.now() };
    node.add('a', { rootfs: gi });
    node.add('b', { rootfs: gi });
    await node.run(60_000);
    expect(node.names()).toEqual(['a']);
    expect(node.manager.conditions).toEqual(['DiskPressure']);
    await node.stop();
  });

  it('a runtime that does not tell where its images are is asked again', async () => {
    const node = new TestNode(hard({ 'nodefs.available': '10%' }));
    node.fileSystemsError = new Error('imageFsInfo failed');
    node.disk.available = gi;
    node.add('web', { rootfs: gi });
    await node.run(9_000);
    expect(node.passesMs).toEqual([]);
    expect(node.entries.map(({ what }) => what)).toEqual(['eviction.pass']);
    node.fileSystemsError = undefined;
    await node.run(2_000);
    expect(node.names()).toEqual(['web']);
    await node.stop();
  });

  it('a pass that fails is reported once, and is not the last', async () => {
    const node = new TestNode(hard({ 'nodefs.available': '10%' }));
    node.add('web', { ephemeral: 1 }, { limits: { 'ephemeral-storage': '?' } });
    await node.run(35_000);
    const reports = node.entries.filter(({ what }) => what === 'eviction.pass');
    expect(reports.map(({ message }) => message)).toEqual(['a pass of eviction failed']);
    node.pods = [];
    node.add('db', { rootfs: gi });
    node.disk.available = gi;
    await node.run(10_000);
    expect(node.names()).toEqual(['db']);
    await node.stop();
  });

  it("a soft threshold counts its grace though the machine's clock is set", async () => {
    const node = new TestNode(soft({ 'memory.available': '1Gi' }, '1m'));
    node.memoryUsed = 7.5 * gi;
    node.add('web', { memory: gi });
    await node.run(15_000);
    const setBackMs = 86_400_000;
    vi.spyOn(node.clock, 'now').mockImplementation(() => node.startMs + node.clock.monotonic() - setBackMs);
    await node.run(40_000);
    expect(node.names()).toEqual([]);
    await node.run(10_000);
    expect(node.names()).toEqual(['web']);
    await node.stop();
  });

  it('a signal without figures is told once, and its threshold is never met', async () => {
    const node = new TestNode(hard({ 'memory.available': '1Gi' }));
    await node.run(60_000);
    const told = node.entries.filter(({ what }) => what === 'eviction.signals');
    expect(told.map(({ message }) => message)).toEqual([
      'eviction has no figures of allocatableMemory.available',
    ]);
    expect(node.manager.conditions).toEqual([]);
    await node.stop();
  });

  it('a node that cannot be seen is left alone, and the record says so once', async () => {
    const node = new TestNode(hard({ 'nodefs.available': '10%' }));
    node.observeError = new Error('no');
    await node.run(35_000);
    expect(node.entries.filter(({ what }) => what === 'eviction.pass')).toHaveLength(1);
    node.observeError = undefined;
    await node.run(10_000);
    expect(node.entries.filter(({ what }) => what === 'eviction.pass')).toHaveLength(2);
    await node.stop();
  });
});

describe('what pods use is measured', () => {
  const withLimit = { spec: { volumes: [{ name: 'v', emptyDir: { sizeLimit: '10Mi' } }] } };

  it.each<[string, Partial<TestNode>, Parameters<TestNode['add']>[2], Partial<EvictionSettings>, number]>([
    ['not at all without pressure and limits', {}, {}, {}, 0],
    ['in every pass for a pod with a limit of local storage', {}, withLimit, {}, 3],
    ['not for such a limit where nobody is held to it', {}, withLimit, { limitsLocalStorage: false }, 0],
    ['for a threshold to act on', { memoryUsed: 7.5 * gi, finishesAfterMs: undefined }, {}, {}, 1],
    [
      'not for a soft threshold in its grace',
      { processes: 995 },
      {},
      soft({ 'pid.available': '10' }, '1h'),
      0,
    ],
  ])('%s', async (_rule, state, shape, settings, measured) => {
    const node = Object.assign(new TestNode({ ...hard({ 'memory.available': '1Gi' }), ...settings }), state);
    node.add('p', { memory: gi }, shape);
    await node.run(25_000);
    expect(node.measuredMs).toHaveLength(measured);
    await node.stop();
  });

  it('in vain: the pressure shows, and the next pass acts on the same readings of the runtime', async () => {
    const node = new TestNode(hard({ 'imagefs.available': '10%' }));
    node.image = { available: gi, timeMs: node.clock.now() };
    node.add('p', { rootfs: gi });
    node.measureError = new Error('no');
    await node.run(5_000);
    expect(node.manager.conditions).toEqual(['DiskPressure']);
    expect(node.names()).toEqual([]);
    node.measureError = undefined;
    await node.run(10_000);
    expect(node.names()).toEqual(['p']);
    await node.stop();
  });
});

describe('limits of local storage', () => {
  const limited = { spec: { volumes: [{ name: 'v', emptyDir: { sizeLimit: '10Mi' } }] } };
  it('all pods beyond theirs go in one pass, with one wait for all', async () => {
    const node = new TestNode({});
    for (const name of ['a', 'b', 'c']) node.add(name, { volumes: { v: 11 * mi } }, limited);
    node.add('ok', { volumes: { v: 10 * mi } }, limited);
    await node.run(4_500);
    expect(node.names()).toEqual(['a', 'b', 'c']);
    expect(node.passesMs).toEqual([0, 3_000]);
    expect(node.killed[0]).toMatchObject({ graceSeconds: 1, isDisruption: false });
    expect(node.manager.conditions).toEqual([]);
    expect(node.metric('kubelet_evictions')).toBe('kubelet_evictions{eviction_signal="emptydirfs.limit"} 3');
    expect(node.entries.find(({ event }) => event?.reason === 'Evicted')?.event).not.toHaveProperty(
      'annotations',
    );
    await node.stop();
  });

  it('are not looked at where the node does not count local storage', async () => {
    const node = new TestNode({ limitsLocalStorage: false });
    node.add('a', { volumes: { v: 11 * mi } }, limited);
    await node.run(30_000);
    expect(node.passesMs).toEqual([]);
    await node.stop();
  });
});

it('processes: the pod with the most of the lowest priority', async () => {
  const node = new TestNode(hard({ 'pid.available': '100' }));
  node.processes = 950;
  node.add('few', { processes: 1 });
  node.add('many', { processes: 50 });
  await node.run(1_000);
  expect(node.names()).toEqual(['many']);
  expect(node.manager.conditions).toEqual(['PIDPressure']);
  await node.stop();
});
