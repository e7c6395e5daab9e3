import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  Container,
  ContainerState,
  ContainerStats,
  CriError,
  ImageFsInfoResponse,
  ListContainerStatsResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
  ListPodSandboxStatsResponse,
  PodSandbox,
  PodSandboxState,
  PodSandboxStats,
} from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { Timeline } from '../../timeline/index.js';
import { registerLogMetrics } from '../metrics.js';
import type { MachineShape } from './cadvisor-machine.js';
import { cgroupOfProcess, numbersOfV1, numbersOfV2, usageOf } from './cgroup.js';
import { CpuRates } from './cpu-rates.js';
import { memoryStats, networkStats, statsTime, swapStats } from './cri-usage.js';
import { linuxMachine, type Machine } from './machine.js';
import { bootTimeMs, KeyedNumbers, memInfo, netDev, pressure, processCount } from './machine-files.js';
import { containerLogs } from './pod-storage.js';
import { type StatsProviderOptions, statsProvider } from './provider.js';
import { resourceMetricsText } from './resource-metrics.js';
import { nodeFileSystems } from './runtime-file-systems.js';
import { measuredPods } from './stats-set.js';

const atMs = Date.UTC(2026, 0, 1);
const atNs = BigInt(atMs) * 1_000_000n;
const time = '2026-01-01T00:00:00Z';

function sandbox(
  id: string,
  name: string,
  state: PodSandboxState = PodSandboxState.SANDBOX_READY,
  createdAt = atNs,
): PodSandbox {
  return PodSandbox.create({
    id,
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    state,
    createdAt,
  });
}
function container(
  id: string,
  name: string,
  podSandboxId: string,
  state: ContainerState = ContainerState.CONTAINER_RUNNING,
): Container {
  return Container.create({
    id,
    podSandboxId,
    metadata: { name },
    image: { image: 'img' },
    labels: { 'io.kubernetes.container.name': name },
    state,
    createdAt: atNs,
  });
}
function usage(id: string, seconds: number, workingSet: number): ContainerStats {
  return ContainerStats.create({
    attributes: { id },
    cpu: { timestamp: atNs, usageCoreNanoSeconds: { value: seconds * 1e9 } },
    memory: {
      timestamp: atNs,
      workingSetBytes: { value: workingSet },
      usageBytes: { value: workingSet * 2 },
      availableBytes: { value: 0 },
    },
    writableLayer: {
      timestamp: atNs,
      fsId: { mountpoint: '/layers' },
      usedBytes: { value: 100 },
      inodesUsed: { value: 10 },
    },
  });
}

const fs = {
  time,
  availableBytes: 400,
  capacityBytes: 1000,
  usedBytes: 600,
  inodes: 100,
  inodesFree: 50,
  inodesUsed: 50,
};
const machine: Machine = {
  usage: async () => ({
    bootTimeMs: atMs - 60_000,
    timestampNs: atNs,
    usageCoreNanoSeconds: 7_000_000_000n,
    cpu: { time, usageCoreNanoSeconds: 7e9 },
    memory: { time, workingSetBytes: 70 },
    swap: { time, swapUsageBytes: 1 },
    io: { time },
  }),
  cgroup: async (name) => {
    if (name !== '/kubepods.slice') throw new Error('ENOENT');
    return {
      createdAtMs: atMs,
      timestampNs: atNs,
      usageCoreNanoSeconds: 5n,
      cpu: { time, usageCoreNanoSeconds: 5 },
      memory: { time, workingSetBytes: 6 },
      swap: { time },
    };
  },
  firstCgroup: async (names) => names.find((name) => name.endsWith('/c1')),
  processes: async () => 3,
  device: async (place) => (place === '/root' ? 1n : 2n),
  ownCgroup: async () => '/agent',
  network: async () => ({ time, name: '', interfaces: [] }),
  limits: async () => ({ maxpid: 9, curproc: 3 }),
  fileSystem: async () => fs,
  filesIn: async (place) =>
    place.endsWith('/app') ? { usedBytes: 5, inodesUsed: 1 } : { usedBytes: 0, inodesUsed: 0 },
  tree: async () => ({ usedBytes: 0, inodesUsed: 0 }),
};

const shape: MachineShape = {
  cpuCores: 4,
  physicalCores: 2,
  sockets: 1,
  memoryBytes: 8,
  swapBytes: 1,
  dimms: [],
  machineId: 'm',
  systemUuid: 's',
  bootId: 'b',
  kernelVersion: '6',
  osVersion: 'Debian',
};

function provider(
  more: Partial<StatsProviderOptions['cri']> = {},
  usedMachine = machine,
  timeline: StatsProviderOptions['timeline'] = undefined,
) {
  const unimplemented = () => Promise.reject(new CriError('Unimplemented', 'no'));
  const cri: StatsProviderOptions['cri'] = {
    listPodSandbox: async () => ListPodSandboxResponse.create({ items: [sandbox('s1', 'web')] }),
    listContainers: async () =>
      ListContainersResponse.create({
        containers: [container('c1', 'app', 's1'), container('c2', 'side', 's1')],
      }),
    listContainerStats: async () =>
      ListContainerStatsResponse.create({ stats: [usage('c1', 3, 30), usage('c2', 2, 20)] }),
    listPodSandboxStats: unimplemented,
    imageFsInfo: async () =>
      ImageFsInfoResponse.create({
        imageFilesystems: [
          {
            timestamp: atNs,
            fsId: { mountpoint: '/images' },
            usedBytes: { value: 77 },
            inodesUsed: { value: 7 },
          },
        ],
      }),
    ...more,
  };
  const clock = new VirtualClock(atMs);
  return statsProvider({
    cri,
    machine: usedMachine,
    clock,
    nodeName: 'node-1',
    rootDir: '/root',
    podLogsDir: '/logs',
    podCgroups: () => (uid) => `/kubepods.slice/pod${uid}`,
    scrape: {
      fileSystems: async () => [],
      disks: () => new Map(),
      machine: () => shape,
      version: '1',
      oomKills: { of: () => 0, keep: () => {} },
    },
    systemCgroups: async () => [
      { name: 'pods', cgroup: '/kubepods.slice' },
      { name: 'kubelet', cgroup: '/gone' },
    ],
    volumesOf: () => ({ volumes: [{ ...fs, name: 'data' }], ephemeral: { usedBytes: 1000, inodesUsed: 2 } }),
    ...(timeline === undefined ? {} : { timeline }),
  });
}

describe('what eviction asks for', () => {
  it('limits of memory, which do not show in what is available', async () => {
    const limited: Machine = {
      ...machine,
      usage: async () => ({ ...(await machine.usage()), memoryLimitBytes: 900 }),
      cgroup: async (name) => ({ ...(await machine.cgroup(name)), memoryLimitBytes: 300 }),
    };
    const { memoryLimits } = await provider({}, limited).measured();
    expect(memoryLimits).toEqual({ nodeBytes: 900, podsBytes: 300 });
  });

  it('a measurement of its own, whatever others have begun', async () => {
    let calls = 0;
    const listContainers = async () => {
      calls++;
      return ListContainersResponse.create({ containers: [] });
    };
    const stats = provider({ listContainers });
    await Promise.all([stats.measured(), stats.measured(), stats.measured({ fresh: true })]);
    expect(calls).toBe(2);
  });

  it('the processes of containers, where the runtime does not count them', async () => {
    const { pods } = await provider().summary();
    expect(pods[0]?.process_stats).toEqual({ process_count: 3 });
  });

  it("the files of containers where they lie apart, and everybody's device", async () => {
    const usageOn = (mountpoint: string) => ({
      timestamp: atNs,
      fsId: { mountpoint },
      usedBytes: { value: 1 },
      inodesUsed: { value: 1 },
    });
    const imageFsInfo = async () =>
      ImageFsInfoResponse.create({
        imageFilesystems: [usageOn('/images')],
        containerFilesystems: [usageOn('/root')],
      });
    const apart: Machine = {
      ...machine,
      fileSystem: async (place) => ({ ...fs, availableBytes: place === '/images' ? 1 : 2 }),
    };
    const found = await nodeFileSystems({ imageFsInfo }, apart, '/root');
    expect(found).toMatchObject({ rootDevice: 1n, imageDevice: 2n, containerDevice: 1n });
    const { node } = await provider({ imageFsInfo }, apart).summary();
    expect(node.runtime?.imageFs?.availableBytes).toBe(1);
    expect(node.runtime?.containerFs?.availableBytes).toBe(2);
  });

  it('counts the processes of a cgroup', async () => {
    const root = mkdtempSync(path.join(tmpdir(), 'nodelet-procs-'));
    try {
      writeFileSync(path.join(root, 'cgroup.controllers'), 'cpu memory\n');
      mkdirSync(path.join(root, 'pods/c1'), { recursive: true });
      writeFileSync(path.join(root, 'pods/c1/cgroup.procs'), '12\n13\n');
      const real = linuxMachine({ clock: new VirtualClock(), cgroupRoot: root });
      expect(await real.processes('/pods/c1')).toBe(2);
      expect(await real.processes('/gone')).toBe(0);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('the summary', () => {
  it('covers the node, its pods and their containers', async () => {
    const { node, pods } = await provider().summary();
    expect(node).toMatchObject({
      nodeName: 'node-1',
      systemContainers: [
        {
          name: 'pods',
          startTime: time,
          cpu: { usageNanoCores: 0, usageCoreNanoSeconds: 5 },
          memory: { workingSetBytes: 6 },
        },
      ],
      startTime: '2025-12-31T23:59:00Z',
      cpu: { time, usageNanoCores: 0, usageCoreNanoSeconds: 7e9 },
      rlimit: { maxpid: 9, curproc: 3 },
      fs: { capacityBytes: 1000 },
      runtime: { imageFs: { capacityBytes: 1000, usedBytes: 77, inodesUsed: 7 } },
    });
    expect(node.runtime?.containerFs).toEqual(node.runtime?.imageFs);
    const [pod] = pods;
    expect(pod).toMatchObject({
      podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
      startTime: time,
      cpu: { time, usageCoreNanoSeconds: 5e9 },
      memory: { workingSetBytes: 50, usageBytes: 100 },
      volume: [{ name: 'data' }],
      'ephemeral-storage': {
        capacityBytes: 1000,
        usedBytes: 100 + 100 + 5 + 1000,
        inodesUsed: 10 + 10 + 1 + 2,
      },
    });
    expect(pod?.containers[0]).toMatchObject({
      name: 'app',
      startTime: time,
      rootfs: { time, capacityBytes: 1000, usedBytes: 100, inodesUsed: 10 },
      logs: { usedBytes: 5, inodesUsed: 1 },
    });
    expect(pod?.containers[0]?.memory).not.toHaveProperty('availableBytes');
  });

  it('takes pods from the runtime if it measures them', async () => {
    const stats = PodSandboxStats.create({
      attributes: { id: 's1' },
      linux: {
        cpu: { timestamp: atNs, usageCoreNanoSeconds: { value: 9e9 }, usageNanoCores: { value: 5 } },
        memory: { timestamp: atNs, workingSetBytes: { value: 99 } },
        network: {
          timestamp: atNs,
          interfaces: [{ name: 'eth0', rxBytes: { value: 1 }, txBytes: { value: 2 } }],
        },
        process: { timestamp: atNs, processCount: { value: 4 } },
      },
    });
    const { pods } = await provider({
      listPodSandboxStats: async () => ListPodSandboxStatsResponse.create({ stats: [stats] }),
    }).summary();
    expect(pods[0]).toMatchObject({
      cpu: { usageCoreNanoSeconds: 9e9, usageNanoCores: 5 },
      memory: { workingSetBytes: 99 },
      network: { name: 'eth0', rxBytes: 1, txBytes: 2, interfaces: [{ name: 'eth0' }] },
      process_stats: { process_count: 4 },
    });
  });

  it('of a pod that the runtime cannot measure is the sum of its containers, reported once', async () => {
    const timeline = new Timeline({ clock: new VirtualClock(atMs) });
    let failing = true;
    const stats = provider(
      {
        listPodSandboxStats: async () => {
          if (failing) throw new CriError('Unknown', 'no cgroup path');
          return ListPodSandboxStatsResponse.create({});
        },
      },
      machine,
      timeline,
    );
    const { pods } = await stats.summary();
    await stats.summary();
    expect(pods[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 5e9 }, memory: { workingSetBytes: 50 } });
    failing = false;
    await stats.summary();
    expect(timeline.ofNode().map(({ message }) => message)).toEqual([
      'pod statistics are the sums of their containers',
      'the runtime measures whole pods again',
    ]);
  });

  it('of CPU and memory has nothing else', async () => {
    const { node, pods } = await provider().summary({ onlyCpuAndMemory: true });
    expect(Object.keys(node).sort()).toEqual([
      'cpu',
      'memory',
      'nodeName',
      'startTime',
      'swap',
      'systemContainers',
    ]);
    expect(Object.keys(pods[0] ?? {}).sort()).toEqual([
      'containers',
      'cpu',
      'memory',
      'podRef',
      'startTime',
      'swap',
    ]);
    expect(Object.keys(pods[0]?.containers[0] ?? {}).sort()).toEqual([
      'cpu',
      'memory',
      'name',
      'startTime',
      'swap',
    ]);
  });

  it('fails if the machine cannot be read', async () => {
    const broken = { ...machine, usage: () => Promise.reject(new Error('EACCES')) };
    await expect(provider({}, broken).summary()).rejects.toThrow('failed to get root cgroup stats: EACCES');
  });

  it('is shared by concurrent callers', async () => {
    let asked = 0;
    const stats = provider({
      listContainers: async () => {
        asked++;
        return ListContainersResponse.create({});
      },
    });
    await Promise.all([stats.summary(), stats.summary()]);
    expect(asked).toBe(1);
  });
});

describe('which sandboxes and containers count', () => {
  const ids = (listed: Parameters<typeof measuredPods>[0]) =>
    measuredPods(listed).map((pod) =>
      [pod.sandbox.id, ...pod.containers.map((each) => each.container.id)].join(' '),
    );
  const old = PodSandboxState.SANDBOX_NOTREADY;
  it.each([
    ['the ready sandbox of a pod', [sandbox('a', 'p', old, atNs + 5n), sandbox('b', 'p')], ['b c1']],
    ['the newest if none is ready', [sandbox('a', 'p', old), sandbox('b', 'p', old, atNs + 1n)], ['b c1']],
    ['none of a pod with nothing running', [sandbox('a', 'p'), sandbox('b', 'q')], ['b c1']],
  ])('%s', (_, sandboxes, expected) => {
    const containers = [
      container('c1', 'x', 'b'),
      container('c2', 'y', 'b', ContainerState.CONTAINER_EXITED),
      container('c3', 'z', 'b'),
    ];
    const containerStats = [usage('c1', 1, 1), usage('c2', 1, 1), usage('unknown', 1, 1)];
    expect(ids({ sandboxes, containers, containerStats, sandboxStats: undefined })).toEqual(expected);
  });
});

describe('mapping', () => {
  it('of times', () => {
    expect([statsTime(0), statsTime(atMs), statsTime(atMs + 999)]).toEqual([
      null,
      time,
      '2026-01-01T00:00:00.999Z',
    ]);
  });
  it('omits unknown and unlimited values', () => {
    expect(memoryStats({ timestamp: atNs, availableBytes: { value: 5 } })).toEqual({
      time,
      availableBytes: 5,
    });
    expect(
      swapStats({ timestamp: atNs, swapAvailableBytes: { value: 2 ** 63 }, swapUsageBytes: { value: 1 } }),
    ).toEqual({ time, swapUsageBytes: 1 });
  });
  it('fills the default interface only from eth0', () => {
    expect(networkStats({ timestamp: atNs, interfaces: [{ name: 'ens3', rxBytes: { value: 1 } }] })).toEqual({
      time,
      name: '',
      interfaces: [{ name: 'ens3', rxBytes: 1 }],
    });
  });
  it('derives rates from two readings', () => {
    const rates = new CpuRates(new VirtualClock());
    expect(rates.rate('a', 0n, 0n)).toBe(undefined);
    expect(rates.rate('a', 2_000_000_000n, 1_000_000_000n)).toBe(500_000_000);
    expect(rates.rate('a', 2_000_000_000n, 1_000_000_000n)).toBe(500_000_000);
    expect(rates.rate('a', 3_000_000_000n, 0n)).toBe(undefined);
  });
});

describe('metrics', () => {
  it('of resources carry the time of the measurement', async () => {
    const text = resourceMetricsText(await provider().summary({ onlyCpuAndMemory: true }));
    const labels = '{container="app",namespace="default",pod="web"}';
    expect(text).toContain(`container_cpu_usage_seconds_total${labels} 3 ${atMs}\n`);
    expect(text).toContain(`container_memory_working_set_bytes${labels} 30 ${atMs}\n`);
    expect(text).toContain(`container_start_time_seconds${labels} ${atMs / 1000}\n`);
    expect(text).toContain(`pod_cpu_usage_seconds_total{namespace="default",pod="web"} 5 ${atMs}\n`);
    expect(text).toContain(`node_cpu_usage_seconds_total 7 ${atMs}\n`);
    expect(text).toContain('\nresource_scrape_error 0\n');
  });
  it('of resources carry milliseconds, as rates depend on them', async () => {
    const stats = usage('c1', 3, 30);
    const later = { ...stats, cpu: { ...stats.cpu, timestamp: atNs + 123_456_789n } };
    const summary = await provider({
      listContainerStats: async () => ListContainerStatsResponse.create({ stats: [later] }),
    }).summary({ onlyCpuAndMemory: true });
    expect(resourceMetricsText(summary)).toContain(
      `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 3 ${atMs + 123}\n`,
    );
  });
  it('of a failure have only the error', () => {
    expect(resourceMetricsText(undefined).match(/^[a-z].*$/gm)).toEqual(['resource_scrape_error 1']);
  });

  it('has a hidden metric only for those who ask for it', () => {
    expect(resourceMetricsText(undefined, true).match(/^[a-z].*$/gm)).toEqual([
      'resource_scrape_error 1',
      'scrape_error 1',
    ]);
  });

  it('measures the logs of running containers, and leaves out what cannot be read', async () => {
    const logs = {
      filesIn: async (directory: string) => {
        if (directory.endsWith('broken')) throw new Error('broken');
        return { usedBytes: directory.length, inodesUsed: 1 };
      },
    };
    const pod = (names: readonly string[]): Pod =>
      ({
        metadata: { name: 'p', namespace: 'n', uid: 'u' },
        status: {
          containerStatuses: names.map((name) => ({
            name,
            state: name === 'ended' ? { terminated: {} } : { running: {} },
          })),
        },
      }) as unknown as Pod;
    const registry = new Registry();
    let pods = [pod(['a', 'ended', 'broken'])];
    registerLogMetrics(registry, new VirtualClock(), () => containerLogs(logs, '/logs', pods));
    const series = 'kubelet_container_log_filesystem_used_bytes{uid="u",namespace="n",pod="p",container="a"}';
    await registry.scrape();
    expect(samples(registry)).toEqual({ [series]: '/logs/n_p_u/a'.length });
    pods = [];
    await registry.scrape();
    expect(samples(registry)).toEqual({});
  });
  it('are shown though the disk of the logs hangs, which is asked only once', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    registry.gauge('other', 'x').set(1);
    const labels = { uid: 'u', namespace: 'n', pod: 'p', container: 'a' };
    let answer: () => void = () => {};
    let asked = 0;
    registerLogMetrics(registry, clock, async function* () {
      asked++;
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      yield { labels, usedBytes: 7 };
    });
    for (let scrape = 0; scrape < 3; scrape++) {
      const scraped = registry.scrape();
      await clock.advance(5_000);
      expect(await scraped).toContain('other 1');
    }
    expect(asked).toBe(1);
    const scraped = registry.scrape();
    answer();
    expect(await scraped).toContain('container="a"} 7');
  });
  it('of two scrapes at the same time are whole for both', async () => {
    const stats = provider();
    const [one, other] = await Promise.all([stats.scrape(), stats.scrape()]);
    const parts = one.parts[Symbol.iterator]();
    parts.next();
    const whole = [...other.parts];
    expect(whole).toHaveLength([...one.parts].length);
    expect(whole.join('')).toContain('container_scrape_error 0\n');
    expect(parts.next().value).toBe(whole[1]);
  });
  it('of containers have six labels', async () => {
    const { parts } = await provider().scrape();
    const text = [...parts].join('');
    expect(text).toContain(
      `container_memory_working_set_bytes{namespace="default",pod="web",container="app",image="img",name="c1",id="/kubepods.slice/poduid-web/c1"} 30 ${atMs}\n`,
    );
    expect(text).toMatch(/container_cpu_usage_seconds_total\{[^}]*id="\/",cpu="total"\} 7 /);
    expect(text).toContain('container_scrape_error 0\n');
    expect(text).toMatch(/^machine_cpu_cores\{.*\} 4$/m);
  });
});

describe('a cgroup', () => {
  const from = (files: Readonly<Record<string, string>>) => (name: string) => files[name];
  const v2 = {
    'cpu.stat': 'usage_usec 7\n',
    'memory.stat': 'anon 10\nfile 40\ninactive_file 30\npgfault 1\npgmajfault 2\n',
    'memory.current': '100\n',
    'memory.max': '500\n',
    'memory.swap.current': '5\n',
    'memory.swap.max': '20\n',
  };
  const unlimited = { 'memory.max': 'max\n', 'memory.swap.max': 'max\n' };
  const rest = { usageBytes: 100, rssBytes: 10, pageFaults: 1, majorPageFaults: 2 };
  it.each([
    [
      'with limits',
      {},
      { ...rest, workingSetBytes: 70, availableBytes: 430 },
      { swapUsageBytes: 5, swapAvailableBytes: 15 },
    ],
    [
      'full of reclaimable pages',
      { 'memory.stat': 'inactive_file 300\n' },
      { workingSetBytes: 0, availableBytes: 500 },
      {},
    ],
    ['without limits', unlimited, { ...rest, availableBytes: undefined }, { swapAvailableBytes: undefined }],
  ])('of version 2 %s', async (_, more, memory, swap) => {
    const usage = usageOf(numbersOfV2(from({ ...v2, ...more })), atMs);
    expect(usage).toMatchObject({ usageCoreNanoSeconds: 7000n, cpu: { time, usageCoreNanoSeconds: 7000 } });
    for (const [name, value] of Object.entries(memory))
      expect([name, Reflect.get(usage.memory, name)]).toEqual([name, value]);
    for (const [name, value] of Object.entries(swap))
      expect([name, Reflect.get(usage.swap, name)]).toEqual([name, value]);
  });
  it('of version 2 without swap, and the root', async () => {
    const { 'memory.current': _, 'memory.swap.current': __, ...files } = v2;
    const usage = usageOf(numbersOfV2(from(files)), atMs);
    expect([usage.memory.usageBytes, usage.swap]).toEqual([50, { time }]);
  });
  it('of version 1', async () => {
    const memory = {
      'memory.stat': 'rss 1\ntotal_rss 10\ntotal_inactive_file 30\ntotal_swap 5\npgfault 1\npgmajfault 2\n',
      'memory.usage_in_bytes': '100\n',
      'memory.limit_in_bytes': '500\n',
      'memory.memsw.limit_in_bytes': '520\n',
    };
    const usage = usageOf(numbersOfV1(from({ 'cpuacct.usage': '7000\n' }), from(memory)), atMs);
    expect(usage).toMatchObject({
      usageCoreNanoSeconds: 7000n,
      memory: { ...rest, workingSetBytes: 70, availableBytes: 430 },
      // The limit of memory and swap together, without what is swapped out.
      swap: { swapUsageBytes: 5, swapAvailableBytes: 515 },
    });
    const open = {
      ...memory,
      'memory.limit_in_bytes': '9223372036854771712\n',
      'memory.memsw.limit_in_bytes': '9223372036854771712\n',
    };
    const free = usageOf(numbersOfV1(from({ 'cpuacct.usage': '1' }), from(open)), atMs);
    expect([free.memory.availableBytes, free.swap.swapAvailableBytes]).toEqual([undefined, undefined]);
  });
  it.each([
    ['0::/system.slice/kubelet.service\n', '/system.slice/kubelet.service'],
    ['5:cpu,cpuacct:/x\n4:memory:/y\n0::/\n', '/y'],
    ['', undefined],
  ])('of a process: %j', (text, cgroup) => {
    expect(cgroupOfProcess(text)).toBe(cgroup);
  });
});

describe('the kernel', () => {
  it.each<[string, string, Record<string, number | undefined>]>([
    [
      'keyed numbers',
      'usage_usec 5\nnice max\nuser_usec 3\n',
      { usage_usec: 5, user_usec: 3, nice: undefined, usec: undefined, 'user_usec 3': undefined },
    ],
    [
      'keyed numbers of every form',
      'a 0\nb\n c 1\nd  2\ne 3 4\nf 9007199254740993\ng 123456789012345678901\nh -1\n\ni 7',
      {
        a: 0,
        b: undefined,
        c: undefined,
        d: undefined,
        e: 3,
        f: 9007199254740992,
        g: undefined,
        h: undefined,
        i: 7,
      },
    ],
    ['no lines', '', { a: undefined }],
  ])('%s', (_name, text, expected) => {
    const numbers = new KeyedNumbers(text);
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, numbers.get(key)]))).toEqual(expected);
  });

  it.each([
    ['meminfo', memInfo('MemTotal:       2 kB\nHugePages_Total:   0\n'), new Map([['MemTotal', 2048]])],
    ['boot time', bootTimeMs('cpu 1\nbtime 17\n'), 17_000],
    ['processes', processCount('0.1 0.2 0.3 2/345 99'), 345],
    [
      'interfaces',
      netDev(
        'Inter-|\n face |bytes\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0\n  eth0: 10 1 2 0 0 0 0 0 20 1 3 0 0\n veth1: 1\n',
      ),
      [{ name: 'eth0', rxBytes: 10, rxErrors: 2, txBytes: 20, txErrors: 3 }],
    ],
    [
      'pressure',
      pressure('some avg10=1.5 avg60=2 avg300=3 total=4\nfull avg10=0 avg60=0 avg300=0 total=5\n'),
      {
        some: { avg10: 1.5, avg60: 2, avg300: 3, total: 4 },
        full: { avg10: 0, avg60: 0, avg300: 0, total: 5 },
      },
    ],
    ['no pressure', pressure(undefined).some.total, 0],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected);
  });

  const top = mkdtempSync(path.join(tmpdir(), 'nodelet-stats-'));
  afterAll(() => rmSync(top, { recursive: true }));
  it('reports on the whole machine', async () => {
    const write = (name: string, text: string): void => {
      mkdirSync(path.dirname(path.join(top, name)), { recursive: true });
      writeFileSync(path.join(top, name), text);
    };
    write('cg/cgroup.controllers', 'cpu memory\n');
    write('cg/cpu.stat', 'usage_usec 9\n');
    write('cg/memory.stat', 'anon 100\nfile 50\ninactive_file 300\npgfault 1\npgmajfault 2\n');
    write('proc/meminfo', 'MemTotal: 1 kB\nSwapTotal: 2 kB\nSwapFree: 1 kB\n');
    write('proc/stat', 'btime 5\n');
    write('proc/sys/kernel/pid_max', '100\n');
    write('proc/sys/kernel/threads-max', '90\n');
    write('proc/loadavg', '0 0 0 1/7 9\n');
    write('proc/1/net/dev', '');
    const clock = new VirtualClock();
    const real = linuxMachine({
      clock,
      procRoot: path.join(top, 'proc'),
      cgroupRoot: path.join(top, 'cg'),
    });
    expect(await real.usage()).toMatchObject({
      bootTimeMs: 5000,
      usageCoreNanoSeconds: 9000n,
      memory: { usageBytes: 150, workingSetBytes: 0, availableBytes: 1024, rssBytes: 100, pageFaults: 1 },
      swap: { swapUsageBytes: 1024, swapAvailableBytes: 1024 },
    });
    expect(await real.limits()).toEqual({ maxpid: 90, curproc: 7 });
    expect((await real.fileSystem(top)).capacityBytes).toBeGreaterThan(0);
    expect(await real.filesIn(path.join(top, 'cg'))).toMatchObject({ inodesUsed: 3 });
    expect(await real.filesIn(path.join(top, 'nope'))).toEqual({ usedBytes: 0, inodesUsed: 0 });
    rmSync(path.join(top, 'cg', 'cpu.stat'));
    // What was read is good for a moment.
    expect(await real.usage()).toMatchObject({ usageCoreNanoSeconds: 9000n });
    await clock.advance(1_000);
    await expect(real.usage()).rejects.toThrow('ENOENT');
  });
});
