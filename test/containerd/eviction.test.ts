/** Eviction on a real machine: a small disk and a small memory that pods fill, limits of local storage, and thresholds above what is free. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agentStats } from '../../src/agent/stats.js';
import { TaskGroup } from '../../src/async/index.js';
import {
  baselineConfiguration,
  type KubeletConfiguration,
  resolveFeatureGates,
} from '../../src/config/index.js';
import type { Pod, PodSpec } from '../../src/kube/index.js';
import { Link, type PodCgroups } from '../../src/kubelet/index.js';
import type { EvictionStats } from '../../src/resources/eviction/index.js';
import {
  type KernelFiles,
  linuxKernelFiles,
  type StatsProvider,
  statsLimits,
} from '../../src/resources/stats/index.js';
import { runCommand } from '../env/command.js';
import { unmountBelow } from '../env/mounts.js';
import { busybox, eventually, isReady, shell, TestNode } from './agent.js';
import { apiPod, type Embedded, ownPodCgroups, withKubelet } from './embedded.js';

/** It does not end when it is asked to, so that it fails when it is killed. */
const staying = shell('exec sleep 3600');
const diskMi = 64;
const mi = 1024 ** 2;
const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

let node: TestNode;
let smallDisk: string;
beforeAll(async () => {
  node = await TestNode.create();
  smallDisk = path.join(node.dir, 'small-disk');
  await mkdir(smallDisk);
  await runCommand('mount', ['-t', 'tmpfs', '-o', `size=${diskMi}m`, 'tmpfs', smallDisk]);
  // Before the directory is removed, so that nothing is removed through the mount.
  node.cleanups.defer('the small disk', () => unmountBelow(smallDisk));
});
afterAll(() => node.stop());

interface EvictingOptions {
  readonly gate?: { readonly isOpen: boolean };
  /** Default: those of this machine. */
  readonly files?: KernelFiles;
  /** Default: pods have none. */
  readonly cgroups?: PodCgroups;
}

/** A kubelet on the small disk that measures volumes every second or two. */
async function evicting(
  config: Partial<KubeletConfiguration>,
  use: (embedded: Embedded, stats: StatsProvider) => Promise<void>,
  { gate = { isOpen: true }, files, cgroups }: EvictingOptions = {},
): Promise<void> {
  const { gates } = resolveFeatureGates({});
  const podLogsDir = path.join(node.dir, 'embedded-logs');
  const all = { ...baselineConfiguration(gates), podLogsDir, volumeStatsAggPeriod: 1_000, ...config };
  const link = new Link<EvictionStats>('what eviction sees');
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  const measured = async (embedded: Embedded): Promise<void> => {
    const { stats, eviction } = agentStats(
      embedded.kubelet,
      {
        cri: node.cri,
        config: all,
        rootDir: smallDisk,
        runtimeCgroups: '',
        cgroups: cgroups && { pods: cgroups, podsCgroup: `${node.containerd.cgroupParent}/kubepods` },
        ...(files === undefined ? {} : { files }),
      },
      tasks,
    );
    link.connect(eviction);
    await use(embedded, stats);
  };
  const stats: EvictionStats = {
    observe: async () => {
      // Nobody is refused for a pressure that the test has not begun.
      if (!gate.isOpen) throw new Error('the test has not begun');
      return link.target.observe();
    },
    fileSystems: () => link.target.fileSystems(),
  };
  try {
    await withKubelet(node, [], measured, {
      config: all,
      rootDir: smallDisk,
      eviction: { stats },
      ...(cgroups === undefined ? {} : { cgroups }),
      // Thresholds above what the machine has would leave nothing to admit pods by.
      node: () => undefined,
    });
  } finally {
    await tasks.stop();
  }
}

/** A pod that puts so much into its volume and then stays. */
function writing(name: string, megabytes: number, emptyDir: object = {}, more: Partial<PodSpec> = {}): Pod {
  const write = `dd if=/dev/zero of=/data/file bs=1M count=${megabytes}; exec sleep 3600`;
  const container = {
    name: 'app',
    image: busybox,
    command: shell(write),
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  return apiPod(name, { containers: [container], volumes: [{ name: 'data', emptyDir }], ...more });
}

const evicted = ({ kubelet }: Embedded): string[] =>
  kubelet
    .pods()
    .flatMap(({ metadata }) =>
      kubelet.timeline.ofPod(metadata.uid).filter(({ what }) => what === 'pod.evicted'),
    )
    .sort((a, b) => a.seq - b.seq)
    .map(({ pod }) => pod?.name ?? '');

async function untilEvicted(embedded: Embedded, ...names: string[]): Promise<void> {
  await eventually(
    `${names.join(', ')} are evicted`,
    async () => names.every((name) => embedded.status(name).phase === 'Failed'),
    60_000,
  ).catch((cause: unknown) => {
    const told = embedded.kubelet.timeline
      .ofNode()
      .map(({ what, message, because }) => [what, message, because]);
    throw new Error(JSON.stringify(told, undefined, 1), { cause });
  });
}

it('a disk that fills: the pod that takes most goes, the others stay, and the node recovers', async () => {
  await evicting({ evictionHard: { 'nodefs.available': '50%' } }, async (embedded, stats) => {
    embedded.set(writing('small', 4), writing('large', 20));
    await embedded.untilReady('small');
    await embedded.untilReady('large');
    await eventually('both volumes are measured', async () => {
      const { pods } = await stats.summary();
      const used = pods.map(({ volume }) => volume?.find(({ name }) => name === 'data')?.usedBytes ?? 0);
      return used.includes(4 * mi) && used.includes(20 * mi);
    });
    expect(evicted(embedded)).toEqual([]);
    await writeFile(path.join(smallDisk, 'filler'), Buffer.alloc(16 * mi));
    await untilEvicted(embedded, 'large');
    expect(embedded.status('large')).toMatchObject({
      reason: 'Evicted',
      message: expect.stringMatching(
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: 32Mi, available: \d+Ki\. /,
      ),
    });
    await eventually('there is room again', async () => {
      const { node: usage } = await stats.summary();
      return (usage.fs?.availableBytes ?? 0) > (diskMi / 2) * mi;
    });
    expect(evicted(embedded)).toEqual(['large']);
    expect(embedded.status('small').phase).toBe('Running');
  });
}, 120_000);

it('limits of local storage end the pods that pass them', async () => {
  await evicting({}, async (embedded) => {
    const container = {
      name: 'app',
      image: busybox,
      command: shell('dd if=/dev/zero of=/data/file bs=1M count=4; exec sleep 3600'),
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      resources: { limits: { 'ephemeral-storage': '2Mi' } },
    };
    embedded.set(
      writing('within', 1, { sizeLimit: '2Mi' }),
      writing('volume', 3, { sizeLimit: '2Mi' }),
      apiPod('containers', { containers: [container], volumes: [{ name: 'data', emptyDir: {} }] }),
    );
    await untilEvicted(embedded, 'volume', 'containers');
    expect(embedded.status('volume')).toMatchObject({
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "data" exceeds the limit "2Mi". ',
    });
    expect(embedded.status('containers')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
    });
    expect(embedded.status('within').phase).toBe('Running');
  });
}, 120_000);

const idle = (name: string, priority: number): Pod => {
  const resources = { requests: { memory: '64Mi' } };
  return apiPod(name, {
    containers: [{ name: 'app', image: busybox, command: staying, resources }],
    priority,
  });
};

it.each([
  ['memory', { 'memory.available': String(totalmem()) }, 'memory'],
  ['processes', { 'pid.available': '99.999%' }, 'pids'],
] as const)(
  'a threshold of %s above what is free: pods go by priority',
  async (_rule, evictionHard, resource) => {
    const gate = { isOpen: false };
    await evicting(
      { evictionHard },
      async (embedded) => {
        embedded.set(idle('high', 10), idle('low', 0));
        await embedded.untilReady('high');
        await embedded.untilReady('low');
        gate.isOpen = true;
        await untilEvicted(embedded, 'low', 'high');
        expect(evicted(embedded)).toEqual(['low', 'high']);
        expect(embedded.status('low').message).toContain(`The node was low on resource: ${resource}. `);
      },
      { gate },
    );
  },
  120_000,
);

/** A machine with the memory of a cgroup: what its pods take from it, the kernel counts and limits. */
function machineOfCgroup(cgroup: string, memoryBytes: number): KernelFiles {
  const real = linuxKernelFiles(statsLimits);
  const root = isV2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory';
  const inside = (file: string): string =>
    file.startsWith(`${root}/memory.`) ? file.replace(root, root + cgroup) : file;
  return {
    ...real,
    read: (file) =>
      file === '/proc/meminfo' ? `MemTotal: ${memoryBytes / 1024} kB\n` : real.read(inside(file)),
    readCgroupFile: (file) => real.readCgroupFile(inside(file)),
    keep: (file) => real.keep(inside(file)),
  };
}

it('memory that pods fill: the one that takes more than it requests goes, and the node recovers', async () => {
  const memoryMi = 256;
  const thresholdMi = 96;
  const { cgroupParent } = node.containerd;
  const { cgroups } = await ownPodCgroups(node);
  const limitFile = isV2
    ? `/sys/fs/cgroup${cgroupParent}/memory.max`
    : `/sys/fs/cgroup/memory${cgroupParent}/memory.limit_in_bytes`;
  await writeFile(limitFile, String(memoryMi * mi));
  /** A pod that holds so much memory, which no file is behind. */
  const holding = (name: string, usedMi: number, requestMi: number, priority = 0): Pod => {
    const bytes = usedMi * mi;
    const command = shell(`(head -c ${bytes} /dev/zero; exec sleep 3600) | tail -c ${bytes}`);
    const resources = { requests: { memory: `${requestMi}Mi` } };
    return apiPod(name, { containers: [{ name: 'app', image: busybox, command, resources }], priority });
  };
  const modest = holding('modest', 32, 128);
  const important = holding('important', 48, 8, 1000);
  const availableMi = async (stats: StatsProvider): Promise<number> =>
    ((await stats.measuredNode()).node.memory?.availableBytes ?? 0) / mi;
  await evicting(
    { evictionHard: { 'memory.available': `${thresholdMi}Mi` }, evictionPressureTransitionPeriod: 1_000 },
    async (embedded, stats) => {
      embedded.set(modest, important);
      await embedded.untilReady('modest');
      await embedded.untilReady('important');
      await eventually('both have taken theirs', async () => (await availableMi(stats)) < memoryMi - 80);
      expect(await availableMi(stats)).toBeGreaterThan(thresholdMi);
      expect(evicted(embedded)).toEqual([]);

      const pods = [modest, important, holding('greedy', 100, 16)];
      embedded.set(...pods);
      await untilEvicted(embedded, 'greedy');
      expect(embedded.status('greedy')).toMatchObject({
        reason: 'Evicted',
        message: expect.stringMatching(
          /^The node was low on resource: memory\. Threshold quantity: 96Mi, available: \d+Ki\. Container app was using \d+Ki, request is 16Mi, has larger consumption of memory\. $/,
        ),
      });

      await eventually('there is memory again', async () => (await availableMi(stats)) > thresholdMi);
      // It uses none of its own, requests none, and would be refused under pressure.
      const late = apiPod('late', { containers: [{ name: 'app', image: busybox, command: staying }] });
      await eventually('the node takes pods again', async () => {
        embedded.set(...pods, ...(embedded.status('late').reason === 'Evicted' ? [] : [late]));
        return isReady(embedded.status('late'));
      });
      expect(evicted(embedded)).toEqual(['greedy']);
      for (const name of ['modest', 'important']) expect(embedded.status(name).phase).toBe('Running');
    },
    { cgroups, files: machineOfCgroup(cgroupParent, memoryMi * mi) },
  ).finally(() => writeFile(limitFile, isV2 ? 'max' : '-1'));
}, 120_000);

it('a full disk of images: what pods left goes, then images that nobody uses', async () => {
  const imagesNow = async (): Promise<string[]> =>
    (await node.cri.listImages({})).images.flatMap(({ repoTags }) => repoTags);
  const before = await imagesNow();
  expect(before).toContain(busybox);
  await evicting(
    { evictionHard: { 'imagefs.available': '99.999%' }, imageMinimumGCAge: 0 },
    async ({ kubelet }) => {
      await eventually('unused images are gone', async () => !(await imagesNow()).includes(busybox));
      const kinds = kubelet.timeline.ofNode().map(({ what }) => what);
      expect(kinds).toContain('event.EvictionThresholdMet');
      expect(kinds).toContain('image.remove');
    },
  );
}, 120_000);
