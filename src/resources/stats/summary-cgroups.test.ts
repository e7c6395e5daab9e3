/** The summary of pods whose cgroups can be read. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  Container,
  ContainerState,
  ContainerStats,
  CriError,
  ImageFsInfoResponse,
  ListContainerStatsResponse,
  ListContainersResponse,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsResponse,
  ListPodSandboxResponse,
  ListPodSandboxStatsResponse,
  PodSandbox,
  PodSandboxState,
} from '../../cri/index.js';
import { readMachineShape } from './cadvisor-machine.js';
import { CgroupSampler } from './cgroup-sampler.js';
import { linuxMachine } from './machine.js';
import { withoutHugePages } from './measure-node.js';
import { type StatsProviderOptions, statsProvider } from './provider.js';
import type { NodeStatsSummary } from './summary-types.js';
import { TestCgroups } from './test-cgroup-tree.js';

const startMs = Date.UTC(2026, 0, 1);
const pod = '/kubepods/poduid-web';
let tree: TestCgroups;
let clock: VirtualClock;
let calls: string[];

beforeEach(() => {
  tree = new TestCgroups();
  clock = new VirtualClock(startMs);
  calls = [];
  tree.add('kubepods');
  tree.add(pod);
  tree.add(`${pod}/s1`, { 'cgroup.procs': '41\n' });
  tree.add(`${pod}/c1`, { 'cgroup.procs': '42\n43\n' });
  tree.addProcess(41);
  tree.add('agent');
});
afterEach(() => tree.destroy());

function provider(more: Partial<StatsProviderOptions> = {}, cri: Partial<StatsProviderOptions['cri']> = {}) {
  const { files, procRoot, cgroupRoot } = tree;
  const cgroups = new CgroupSampler({ clock, files, procRoot, cgroupRoot });
  return statsProvider({
    cri: {
      listPodSandbox: async () =>
        ListPodSandboxResponse.create({
          items: [
            PodSandbox.create({
              id: 's1',
              metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
              state: PodSandboxState.SANDBOX_READY,
            }),
          ],
        }),
      listContainers: async () =>
        ListContainersResponse.create({
          containers: [
            Container.create({
              id: 'c1',
              podSandboxId: 's1',
              metadata: { name: 'app' },
              state: ContainerState.CONTAINER_RUNNING,
            }),
          ],
        }),
      listContainerStats: async () =>
        ListContainerStatsResponse.create({
          stats: [
            ContainerStats.create({
              attributes: { id: 'c1' },
              cpu: { timestamp: 1n, usageCoreNanoSeconds: { value: 1 }, usageNanoCores: { value: 77 } },
              memory: { timestamp: 1n, workingSetBytes: { value: 1 } },
            }),
          ],
        }),
      listPodSandboxStats: async () => {
        calls.push('listPodSandboxStats');
        throw new CriError('Unimplemented', 'no');
      },
      imageFsInfo: async () =>
        ImageFsInfoResponse.create({ imageFilesystems: [{ fsId: { mountpoint: tree.root } }] }),
      ...cri,
    },
    machine: linuxMachine({ clock, procRoot, cgroupRoot, cgroups }),
    cgroups,
    clock,
    nodeName: 'n1',
    rootDir: tree.root,
    podLogsDir: '',
    podsCgroup: '/kubepods',
    podCgroups: () => (uid) => `/kubepods/pod${uid}`,
    systemCgroups: async () => [
      { name: 'kubelet', cgroup: '/agent', startedAtMs: startMs },
      { name: 'runtime', cgroup: '/gone' },
      { name: 'pods', cgroup: '/kubepods' },
    ],
    scrape: {
      fileSystems: async () => [],
      disks: () => new Map(),
      machine: () => readMachineShape(files),
      version: '1',
      oomKills: { of: () => 0, keep: () => {} },
    },
    ...more,
  });
}

const stalls = { some: { total: 3_000_000 }, full: { total: 2_000_000 } };

it('takes pods and containers from their cgroups, and leaves the runtime alone', async () => {
  const { pods } = await provider().summary();
  expect(pods).toMatchObject([
    {
      cpu: { usageCoreNanoSeconds: 5e9, usageNanoCores: 0, psi: stalls },
      memory: {
        usageBytes: 6000,
        workingSetBytes: 5984,
        rssBytes: 1000,
        availableBytes: 3016,
        pageFaults: 22,
      },
      swap: { swapUsageBytes: 50, swapAvailableBytes: 10 },
      io: { psi: stalls },
      network: { name: 'eth0', rxBytes: 41, rxErrors: 3, txBytes: 20, txErrors: 6 },
      process_stats: { process_count: 2 },
      containers: [
        {
          name: 'app',
          // The first reading has no rate of its own.
          cpu: { usageCoreNanoSeconds: 5e9, usageNanoCores: 77 },
          memory: { workingSetBytes: 5984, majorPageFaults: 23 },
          swap: { swapUsageBytes: 50 },
          io: { psi: stalls },
        },
      ],
    },
  ]);
  expect(calls).toEqual([]);
});

/** Others write to the disks of this machine meanwhile. */
function withoutDisks({ fs, runtime, ...rest }: NodeStatsSummary) {
  return { ...rest, disks: [fs?.capacityBytes, runtime?.imageFs?.capacityBytes] };
}

it('measures the node as a summary does, and asks for no pods', async () => {
  const { summary, memoryLimits } = await provider().measured();
  const refuse = () => Promise.reject(new Error('nobody asks for pods'));
  const cri = {
    listPodSandbox: refuse,
    listContainers: refuse,
    listContainerStats: refuse,
    listPodSandboxStats: refuse,
    imageFsInfo: async () =>
      ImageFsInfoResponse.create({ imageFilesystems: [{ fsId: { mountpoint: tree.root } }] }),
  };
  const looked = await provider({ cri }).measuredNode();
  expect(looked.memoryLimits).toEqual(memoryLimits);
  expect(withoutDisks(looked.node)).toEqual(withoutDisks(summary.node));
});

it('has the rate of the two newest readings', async () => {
  const stats = provider();
  await stats.summary();
  await clock.advance(10_000);
  for (const cgroup of [pod, `${pod}/c1`]) tree.put(`cg${cgroup}/cpu.stat`, 'usage_usec 10000000\n');
  const { pods } = await stats.summary();
  expect(pods[0]?.cpu?.usageNanoCores).toBe(500_000_000);
  expect(pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(500_000_000);
});

describe('the first answer', () => {
  const use = (cgroups: readonly string[], seconds: number): void => {
    for (const cgroup of cgroups) tree.put(`cg${cgroup}/cpu.stat`, `usage_usec ${seconds * 1e6}\n`);
  };
  const all = ['', '/kubepods', pod, `${pod}/c1`];
  let waits: number;
  const waiting = () =>
    provider({
      betweenReadings: async () => {
        waits++;
        await clock.advance(250);
        use(all, 10.05);
      },
    });
  beforeEach(() => {
    waits = 0;
    use(all, 10);
  });

  it('has rates of two readings a moment apart, of what was never read; later ones wait for nothing', async () => {
    const stats = waiting();
    const { node, pods } = await stats.summary();
    expect([node.cpu?.usageNanoCores, pods[0]?.cpu?.usageNanoCores]).toEqual([200_000_000, 200_000_000]);
    expect(pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(200_000_000);
    await clock.advance(10_000);
    use(all, 11.05);
    const { pods: later } = await stats.summary();
    expect(later[0]?.cpu?.usageNanoCores).toBe(100_000_000);
    expect(waits).toBe(1);
  });

  it('waits for nothing where no rate is asked for, or figures are to be fresh', async () => {
    const stats = waiting();
    await stats.summary({ onlyCpuAndMemory: true, rates: false });
    await stats.measured({ fresh: true });
    expect(waits).toBe(0);
  });
});

it("leaves the runtime's numbers of a container whose cgroup holds and does nothing", async () => {
  tree.put(`cg${pod}/c1/memory.stat`, 'anon 0\n');
  const { pods } = await provider().summary();
  expect(pods[0]?.containers[0]).toMatchObject({
    cpu: { usageNanoCores: 77 },
    memory: { workingSetBytes: 1 },
  });
});

it('sums containers where all pods share one cgroup, and asks the runtime', async () => {
  const { pods } = await provider({ podsCgroup: pod }).summary();
  expect(pods[0]?.memory?.workingSetBytes).toBe(5984);
  expect(calls).toEqual(['listPodSandboxStats']);
});

it("has the node's own cgroups that are there", async () => {
  const { node } = await provider().summary();
  expect(node.systemContainers).toMatchObject([
    {
      name: 'kubelet',
      startTime: '2026-01-01T00:00:00Z',
      memory: { workingSetBytes: 5984 },
      io: { psi: stalls },
    },
    { name: 'pods', cpu: { usageCoreNanoSeconds: 5e9 }, swap: { swapUsageBytes: 50 } },
  ]);
  const { node: brief } = await provider().summary({ onlyCpuAndMemory: true });
  expect(brief.systemContainers?.[0]).not.toHaveProperty('io');
});

const gi = 1024 ** 3;
it.each([
  ['huge pages are not available', 3, 2, 1],
  ['never less than nothing', 1, 2, 0],
  ['nor of several sizes together', 10, 12, 0],
  ['one size leaves the rest', 10, 4, 6],
  ['without huge pages', 3, 0, 3],
])('%s', (_rule, availableGi, hugeGi, expectedGi) => {
  const memory = { time: null, workingSetBytes: 5 * gi, availableBytes: availableGi * gi };
  expect(withoutHugePages(memory, hugeGi * gi)).toEqual({ ...memory, availableBytes: expectedGi * gi });
});

it('does not tell a pressure that the kernel does not measure, but zeros', async () => {
  for (const resource of ['cpu', 'memory', 'io']) {
    for (const cgroup of ['kubepods', pod, `${pod}/s1`, `${pod}/c1`, 'agent']) {
      tree.put(`cg/${cgroup}/${resource}.pressure`, '');
    }
  }
  const { pods } = await provider().summary();
  expect(pods[0]?.cpu?.psi?.some.total).toBe(0);
});

describe('pods that the runtime measures', () => {
  const measuredBy = async () => 'runtime' as const;

  it('have its figures only, and no cgroup of a pod is read', async () => {
    const listPodSandboxStats = async () =>
      ListPodSandboxStatsResponse.create({
        stats: [
          {
            attributes: { id: 's1' },
            linux: {
              cpu: { timestamp: 1n, usageCoreNanoSeconds: { value: 9 }, usageNanoCores: { value: 8 } },
              memory: { timestamp: 1n, workingSetBytes: { value: 7 } },
              process: { processCount: { value: 6 } },
              containers: [
                { attributes: { id: 'c1' }, memory: { timestamp: 1n, workingSetBytes: { value: 5 } } },
              ],
            },
          },
        ],
      });
    const { pods, node } = await provider({ measuredBy }, { listPodSandboxStats }).summary();
    expect(pods).toMatchObject([
      {
        cpu: { usageCoreNanoSeconds: 9, usageNanoCores: 8 },
        memory: { workingSetBytes: 7 },
        process_stats: { process_count: 6 },
        containers: [{ name: 'app', memory: { workingSetBytes: 5 } }],
      },
    ]);
    expect(node.systemContainers?.map(({ name }) => name)).toEqual(['kubelet', 'pods']);
    expect(tree.reads.filter((path) => path.includes(pod))).toEqual([]);
  });

  it('are not there if it cannot tell', async () => {
    await expect(provider({ measuredBy }).summary()).rejects.toThrow('failed to list pod stats: ');
  });

  it('are shown by its own metrics', async () => {
    const runtimeMetrics = {
      listMetricDescriptors: async () =>
        ListMetricDescriptorsResponse.create({ descriptors: [{ name: 'container_x', help: 'X.' }] }),
      listPodSandboxMetrics: async () =>
        ListPodSandboxMetricsResponse.create({
          podMetrics: [{ metrics: [{ name: 'container_x', value: { value: 4 } }] }],
        }),
    };
    const page = async (more: Partial<StatsProviderOptions>): Promise<string> =>
      [...(await provider({ runtimeMetrics, ...more }).scrape()).parts].join('');
    const own = await page({ measuredBy });
    expect(own).toContain('container_x 4\n');
    expect(own).toContain('\nmachine_scrape_error 0\n');
    expect(own).not.toMatch(/container_last_seen|container_scrape_error|cadvisor_version_info/);
    expect(await page({})).not.toContain('container_x');
  });
});
