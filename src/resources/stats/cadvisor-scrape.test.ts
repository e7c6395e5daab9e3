import { utimesSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  Container,
  ContainerState,
  ContainerStats,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatusResponse,
} from '../../cri/index.js';
import { cadvisorFamilies } from './cadvisor-families.js';
import { cpuTopology, type MachineShape, machineText, readMachineShape } from './cadvisor-machine.js';
import { type CadvisorScrapeOptions, cadvisorScrape } from './cadvisor-scrape.js';
import { CgroupSampler } from './cgroup-sampler.js';
import { filledFileSystems } from './file-system-figures.js';
import { linuxKernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';
import { diskCounters, mayHang, shownFileSystems } from './mounted-file-systems.js';
import type { MeasuredNode } from './provider.js';
import { imageIn } from './sandbox-images.js';
import { containerFamilyNames, machineFamilyNames } from './test-cadvisor-names.js';
import { TestCgroups } from './test-cgroup-tree.js';

const startMs = Date.UTC(2026, 0, 1);
const sandboxId = 'a1'.repeat(32);
const containerId = 'b2'.repeat(32);
const quiet = 'c3'.repeat(32);
const pod = '/kubepods/burstable/poduid-web';
const shape: MachineShape = {
  cpuCores: 4,
  physicalCores: 2,
  sockets: 1,
  memoryBytes: 8192,
  swapBytes: 1024,
  dimms: [{ type: 'DDR4', count: 2, capacityBytes: 64 }],
  machineId: 'm1',
  systemUuid: 's1',
  bootId: 'b1',
  kernelVersion: '6.1',
  osVersion: 'Debian 12',
};

describe('a scrape', () => {
  let tree: TestCgroups;
  let clock: VirtualClock;
  let calls: string[];
  let kept: ((cgroup: string) => boolean) | undefined;
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name).sort();

  beforeEach(() => {
    calls = [];
    kept = undefined;
    tree = new TestCgroups();
    clock = new VirtualClock(startMs);
    tree.add('kubepods');
    tree.add('kubepods/burstable');
    tree.add(pod);
    tree.add(`${pod}/${sandboxId}`, { 'cgroup.procs': '41\n' });
    tree.add(`${pod}/${containerId}`, {
      'cgroup.procs': '42\n43\n',
      'cpu.max': '20000 100000\n',
      'io.stat':
        '8:0 rbytes=1 wbytes=2 rios=3 wios=4 cost.usage=5 cost.wait=6 cost.indebt=7 cost.indelay=8\n',
    });
    // The runtime made the container before it started it.
    for (const file of ['', '/cgroup.events']) {
      utimesSync(`${tree.cgroupRoot}${pod}/${containerId}${file}`, startMs / 1000, startMs / 1000);
    }
    tree.add('system/agent');
    tree.addProcess(41);
    tree.addProcess(42);
    tree.put('proc/1/limits', 'Max open files            2048                 4096                 files\n');
  });
  afterEach(() => tree.destroy());

  function scraper(more: Partial<CadvisorScrapeOptions> = {}) {
    const sampler = new CgroupSampler({
      clock,
      files: tree.files,
      procRoot: tree.procRoot,
      cgroupRoot: tree.cgroupRoot,
    });
    const scrape = cadvisorScrape({
      cri: {
        listPodSandbox: async () => {
          calls.push('listPodSandbox');
          return ListPodSandboxResponse.create({
            items: [
              PodSandbox.create({
                id: sandboxId,
                metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
                state: PodSandboxState.SANDBOX_READY,
                createdAt: BigInt(startMs) * 1_000_000n,
              }),
            ],
          });
        },
        listContainers: async () => {
          calls.push('listContainers');
          return ListContainersResponse.create({
            containers: [containerId, quiet].map((id) =>
              Container.create({
                id,
                podSandboxId: sandboxId,
                metadata: { name: 'app' },
                image: { image: 'img"1' },
                labels: { 'io.kubernetes.container.name': 'app' },
                state: id === quiet ? ContainerState.CONTAINER_EXITED : ContainerState.CONTAINER_RUNNING,
                createdAt: BigInt(startMs - 5_000) * 1_000_000n,
              }),
            ),
          });
        },
        podSandboxStatus: async () => {
          calls.push('podSandboxStatus');
          return PodSandboxStatusResponse.create({ info: { info: '{"image":"pause:3"}' } });
        },
      },
      clock,
      cgroups: sampler,
      systemCgroups: async () => [
        { name: 'pods', cgroup: '/kubepods' },
        { name: 'kubelet', cgroup: '/system/agent' },
        { name: 'runtime', cgroup: '/gone' },
      ],
      podCgroups: () => (uid) => `/kubepods/burstable/pod${uid}`,
      fileSystems: async () => [
        {
          label: '/dev/sda1',
          target: '/',
          device: '8:1',
          usedBytes: 30,
          capacityBytes: 100,
          inodes: 10,
          inodesFree: 4,
        },
      ],
      disks: () => diskCounters(tree.files.read(`${tree.procRoot}/diskstats`) ?? ''),
      machine: () => shape,
      version: 'v1',
      oomKills: {
        of: (cgroup) => (cgroup.endsWith(containerId) ? 3 : 0),
        keep: (isThere) => {
          kept = isThere;
        },
      },
      measured: () => Promise.reject(new Error('not needed')),
      ...more,
    });
    return async () => {
      const { parts, error } = await scrape();
      return { text: [...parts].join(''), error };
    };
  }

  const labelsOf = { sandbox: '', container: '', pod: '', root: '' };
  labelsOf.sandbox = `namespace="default",pod="web",container="",image="pause:3",name="${sandboxId}",id="${pod}/${sandboxId}"`;
  labelsOf.container = `namespace="default",pod="web",container="app",image="img\\"1",name="${containerId}",id="${pod}/${containerId}"`;
  labelsOf.pod = `namespace="default",pod="web",container="",image="",name="",id="${pod}"`;
  labelsOf.root = 'namespace="",pod="",container="",image="",name="",id="/"';

  it('has every family, and no other', async () => {
    const { text, error } = await scraper()();
    expect(error).toBe(undefined);
    expect(namesIn(text)).toEqual([...containerFamilyNames, ...machineFamilyNames].sort());
    expect(cadvisorFamilies.map(({ name }) => name)).toEqual(containerFamilyNames);
    expect(new Set(text.split('\n')).size).toBe(text.split('\n').length);
  });

  it('shows the machine, the cgroups of pods and those that are configured', async () => {
    const { text } = await scraper()();
    const ids = [...text.matchAll(/^container_last_seen\{.*id="([^"]*)"\}/gm)].map(([, id]) => id);
    expect(ids.sort()).toEqual(
      [
        '/',
        '/kubepods',
        '/kubepods/burstable',
        pod,
        `${pod}/${sandboxId}`,
        `${pod}/${containerId}`,
        '/system/agent',
      ].sort(),
    );
    expect(text).toContain('\ncontainer_scrape_error 0\n');
  });

  it.each<[string, keyof typeof labelsOf, string, string]>([
    ['CPU', 'container', 'container_cpu_usage_seconds_total', ',cpu="total"} 5 '],
    ['throttling', 'container', 'container_cpu_cfs_throttled_seconds_total', '} 0.5 '],
    ['bursts', 'container', 'container_cpu_cfs_burst_seconds_total', '} 0.25 '],
    ['the working set', 'container', 'container_memory_working_set_bytes', '} 5984 '],
    [
      'page faults of the container',
      'container',
      'container_memory_failures_total',
      ',failure_type="pgfault",scope="container"} 22 ',
    ],
    [
      'page faults below it',
      'container',
      'container_memory_failures_total',
      ',failure_type="pgmajfault",scope="hierarchy"} 23 ',
    ],
    ['events', 'container', 'container_memory_events_max_total', '} 4 '],
    ['kills', 'container', 'container_oom_events_total', '} 3 '],
    ['processes', 'container', 'container_processes', '} 2 '],
    ['open files', 'container', 'container_file_descriptors', '} 2 '],
    ['sockets', 'container', 'container_sockets', '} 1 '],
    ['the limit of open files', 'container', 'container_ulimits_soft', ',ulimit="max_open_files"} 1024 '],
    ['the quota', 'container', 'container_spec_cpu_quota', '} 20000\n'],
    ['the shares', 'container', 'container_spec_cpu_shares', '} 998\n'],
    ['the memory limit', 'container', 'container_spec_memory_limit_bytes', '} 9000\n'],
    ['the reservation', 'container', 'container_spec_memory_reservation_limit_bytes', '} 100\n'],
    ['reads of a disk', 'container', 'container_fs_reads_total', ',device="/dev/sda"} 3 '],
    [
      'costs of a disk',
      'container',
      'container_fs_io_cost_indelay_seconds_total',
      ',device="/dev/sda"} 0.000008 ',
    ],
    [
      'operations',
      'container',
      'container_blkio_device_usage_total',
      ',device="/dev/sda",major="8",minor="0",operation="Write"} 2 ',
    ],
    ['stalls', 'container', 'container_pressure_io_stalled_seconds_total', '} 2 '],
    ['waits', 'container', 'container_pressure_memory_waiting_seconds_total', '} 3 '],
    ['when it was made', 'container', 'container_creation_time_seconds', `} ${startMs / 1000 - 5}\n`],
    ['when it was started', 'container', 'container_start_time_seconds', `} ${startMs / 1000}\n`],
    ['when it was seen', 'container', 'container_last_seen', `} ${startMs / 1000} ${startMs}\n`],
    ['no health', 'container', 'container_health_state', '} -1 '],
    ['the network of the pod', 'sandbox', 'container_network_receive_bytes_total', ',interface="eth0"} 41 '],
    [
      'dropped packets',
      'sandbox',
      'container_network_transmit_packets_dropped_total',
      ',interface="eth0"} 7 ',
    ],
    ['threads of a pod', 'pod', 'container_threads', '} 5 '],
    ['no processes of a pod itself', 'pod', 'container_processes', '} 0 '],
    ['the network of the machine', 'root', 'container_network_receive_bytes_total', ',interface="eth0"} 7 '],
    ['the memory of the machine', 'root', 'container_memory_usage_bytes', '} 150 '],
    [
      'the limit of open files of the first process',
      'root',
      'container_ulimits_soft',
      ',ulimit="max_open_files"} 2048 ',
    ],
    ['all memory as the limit', 'root', 'container_spec_memory_limit_bytes', '} 8192\n'],
    ['swap of the machine', 'root', 'container_memory_swap', '} 1024 '],
    ['file systems', 'root', 'container_fs_usage_bytes', ',device="/dev/sda1"} 30 '],
    ['free inodes', 'root', 'container_fs_inodes_free', ',device="/dev/sda1"} 4 '],
    ['writes of a file system', 'root', 'container_fs_writes_total', ',device="/dev/sda1"} 50 '],
    [
      'the time of a disk, as dashboards expect it',
      'root',
      'container_fs_io_time_seconds_total',
      ',device="/dev/sda1"} 1e-7 ',
    ],
  ])('tells %s (%s)', async (_rule, subject, family, rest) => {
    const { text } = await scraper()();
    expect(text).toContain(`\n${family}{${labelsOf[subject]}${rest}`);
  });

  it.each<[string, keyof typeof labelsOf, string]>([
    ['throttling without a quota', 'pod', 'container_cpu_cfs_periods_total'],
    ['a quota that is not set', 'pod', 'container_spec_cpu_quota'],
    ['limits of open files of a pod', 'pod', 'container_ulimits_soft'],
    ['the network of a container', 'container', 'container_network_receive_bytes_total'],
    ['file systems of a container', 'container', 'container_fs_usage_bytes'],
    ['stalls of a kernel that has none there', 'root', 'container_pressure_cpu_waiting_seconds_total'],
  ])('does not tell %s', async (_rule, subject, family) => {
    const { text } = await scraper()();
    expect(text).not.toContain(`\n${family}{${labelsOf[subject]}`);
  });

  it('carries the time of the reading, but not with limits and starts', async () => {
    const { text } = await scraper()();
    const timeless = /^container_(spec_|start_time|creation_time|scrape_error)/;
    const lines = text.split('\n').filter((line) => /^container_/.test(line));
    for (const line of lines) expect([line, / \d{13}$/.test(line)]).toEqual([line, !timeless.test(line)]);
  });

  it('asks for a sandbox once, and lists no statistics of the runtime', async () => {
    const scrape = scraper();
    await scrape();
    await scrape();
    expect(calls.filter((call) => call === 'podSandboxStatus')).toHaveLength(1);
    expect(new Set(calls)).toEqual(new Set(['listPodSandbox', 'listContainers', 'podSandboxStatus']));
  });

  it('a cgroup that vanishes has no samples', async () => {
    const { text, error } = await scraper({
      systemCgroups: async () => [{ name: 'pods', cgroup: '/kubepods' }],
      podCgroups: () => {
        // Between the list and the reading.
        queueMicrotask(() => {});
        return (uid) => `/kubepods/burstable/pod${uid}`;
      },
      disks: () => {
        tree.remove(`${pod}/${containerId}`);
        return new Map();
      },
    })();
    expect(error).toBe(undefined);
    expect(text).not.toContain(containerId);
    expect(text).toContain(`id="${pod}/${sandboxId}"`);
    expect(text).toContain('\ncontainer_scrape_error 0\n');
    expect([kept?.(pod), kept?.(`${pod}/${containerId}`)]).toEqual([true, false]);
  });

  it('a cgroup below a container that is named like another is not taken for it', async () => {
    tree.add(`${pod}/${sandboxId}/${containerId}`);
    const { text } = await scraper()();
    expect(text).toContain(`name="",id="${pod}/${sandboxId}/${containerId}"`);
    expect(text).toContain(`name="${containerId}",id="${pod}/${containerId}"`);
  });

  it('takes a container without a readable cgroup from the summary, and only that', async () => {
    tree.remove(`${pod}/${containerId}`);
    const time = '2026-01-01T00:00:00Z';
    const container = Container.create({ id: containerId, image: { image: 'img' } });
    const measured = async (): Promise<MeasuredNode> => ({
      summary: {
        node: { nodeName: 'n', startTime: time },
        pods: [
          {
            podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
            startTime: time,
            containers: [
              {
                name: 'app',
                startTime: time,
                cpu: { time, usageCoreNanoSeconds: 4e9 },
                memory: { time, workingSetBytes: 30 },
              },
            ],
          },
        ],
      },
      pods: [
        {
          sandbox: PodSandbox.create({ id: sandboxId }),
          name: 'web',
          namespace: 'default',
          uid: 'uid-web',
          stats: undefined,
          containers: [{ container, name: 'app', stats: ContainerStats.create({}) }],
        },
      ],
      cgroups: new Map(),
      memoryLimits: { nodeBytes: undefined, podsBytes: undefined },
    });
    const { text, error } = await scraper({ measured })();
    expect(error).toBe(undefined);
    const own = `namespace="default",pod="web",container="app",image="img",name="${containerId}",id=""`;
    expect(text).toContain(`\ncontainer_cpu_usage_seconds_total{${own},cpu="total"} 4 ${startMs}\n`);
    expect(text).toContain(`\ncontainer_memory_working_set_bytes{${own}} 30 ${startMs}\n`);
    expect(text).not.toContain(`\ncontainer_oom_events_total{${own}`);
    expect(text.match(new RegExp(`^container_last_seen\\{.*name="${sandboxId}"`, 'gm'))).toHaveLength(1);
  });

  it('says that it failed, and still tells the machine', async () => {
    const { text, error } = await scraper({ systemCgroups: () => Promise.reject(new Error('no')) })();
    expect(error).toEqual(new Error('no'));
    expect(namesIn(text)).toEqual(machineFamilyNames);
    expect(text).toContain('container_scrape_error 1\n');
  });

  it('says that the machine could not be read', async () => {
    const { text, error } = await scraper({
      machine: () => {
        throw new Error('no machine');
      },
    })();
    expect(error).toEqual(new Error('no machine'));
    expect(text).toContain('machine_scrape_error 1\n');
    expect(text).toContain('container_scrape_error 0\n');
  });

  it('reads no file before it is asked', async () => {
    scraper();
    await clock.advance(60_000);
    expect(tree.reads).toEqual([]);
  });
});

describe('the machine', () => {
  it.each([
    [
      'two CPUs of one core',
      'processor\t: 0\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n',
      [2, 1, 1],
    ],
    [
      'two sockets',
      'processor: 0\nphysical id: 0\ncore id: 0\nprocessor: 1\nphysical id: 1\ncore id: 0\n',
      [2, 2, 2],
    ],
    ['no topology', 'processor : 0\nprocessor : 1\n', [2, 2, 1]],
    ['nothing', '', [0, 0, 0]],
  ])('has %s', (_rule, text, expected) => {
    const { cpuCores, physicalCores, sockets } = cpuTopology(text);
    expect([cpuCores, physicalCores, sockets]).toEqual(expected);
  });

  it('is read from files', () => {
    const tree = new TestCgroups();
    try {
      tree.put('etc/machine-id', 'm1\n');
      tree.put('etc/os-release', 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n');
      for (const [module, mebibytes] of [
        ['dimm0', 4],
        ['dimm1', 8],
        ['dimm2', 0],
      ] as const) {
        tree.put(`sys/devices/system/edac/mc/mc0/${module}/size`, `${mebibytes}\n`);
        tree.put(`sys/devices/system/edac/mc/mc0/${module}/dimm_mem_type`, 'Unbuffered-DDR4\n');
      }
      expect(readMachineShape(linuxKernelFiles(statsLimits), tree.root)).toMatchObject({
        memoryBytes: 8192,
        swapBytes: 2048,
        machineId: 'm1',
        systemUuid: 'm1',
        osVersion: 'Debian GNU/Linux 12',
        dimms: [{ type: 'Unbuffered-DDR4', count: 2, capacityBytes: 12 << 20 }],
      });
    } finally {
      tree.destroy();
    }
  });

  it('has labels of its own', () => {
    const text = machineText(shape, 'v1', { containers: false, machine: false });
    expect(text).toContain('machine_cpu_cores{boot_id="b1",machine_id="m1",system_uuid="s1"} 4\n');
    expect(text).toContain(
      'machine_nvm_capacity{boot_id="b1",machine_id="m1",system_uuid="s1",mode="memory_mode"} 0\n',
    );
    expect(text).toContain('osVersion="Debian 12"} 1\n');
  });
});

describe('file systems', () => {
  const mount = (target: string, fsType: string, source: string, device = '0:1') => ({
    target,
    fsType,
    source,
    device,
    options: [],
    superOptions: [],
    root: '/',
    propagation: 'private' as const,
  });
  it('are shown once, without those of pods and containers', () => {
    const mounts = [
      mount('/', 'overlay', 'overlay', '0:20'),
      mount('/boot', 'ext4', '/dev/sda1', '8:1'),
      mount('/mnt', 'ext4', '/dev/sda1', '8:1'),
      mount('/run', 'tmpfs', 'tmpfs'),
      mount('/data', 'nfs4', 'server:/path'),
      mount('/proc', 'proc', 'proc'),
      mount('/root/pods/u/volumes/x', 'tmpfs', 'tmpfs'),
      mount('/run/c/rootfs', 'overlay', 'overlay', '0:30'),
      mount(`/run/c/sandboxes/${sandboxId}/shm`, 'tmpfs', 'shm', '0:31'),
    ];
    expect(shownFileSystems(mounts, '/root').map(({ label }) => label)).toEqual([
      'overlay_0-20',
      '/dev/sda1',
      '/run',
      'server:/path',
    ]);
    const many = Array.from({ length: 1_000 }, (_, at) => mount(`/t${at}`, 'tmpfs', 'tmpfs'));
    expect(shownFileSystems(many, '/root')).toHaveLength(statsLimits.fileSystems);
  });

  it.each([
    ['/', false],
    ['/boot', false],
    ['/data', true],
    ['/data/disk', true],
    ['/database', false],
    ['/fuse', true],
  ])('at %s may hang: %s', (path, expected) => {
    const mounts = [
      mount('/', 'overlay', 'overlay'),
      mount('/boot', 'ext4', '/dev/sda1'),
      mount('/data', 'nfs4', 'server:/path'),
      mount('/data/disk', 'ext4', '/dev/sdb'),
      mount('/database', 'xfs', '/dev/sdc'),
      mount('/fuse', 'fuse.sshfs', 'server:'),
    ];
    expect(mayHang(mounts, path)).toBe(expected);
    expect(mayHang([mount('/', 'nfs', 'server:/root')], path)).toBe(true);
  });

  it('that do not answer are left out', async () => {
    const clock = new VirtualClock();
    const facts = { blockBytes: 2, blocks: 10, freeBlocks: 4, availableBlocks: 3, inodes: 5, freeInodes: 1 };
    const host = {
      mounts: { list: async () => [mount('/a', 'ext4', '/dev/a'), mount('/b', 'nfs', 'gone:/b')] },
      files: { statFileSystem: async (path: string) => (path === '/a' ? facts : undefined) },
      apart: (key: string) => ({
        files: { statFileSystem: () => (key === '/a' ? Promise.reject(key) : new Promise(() => {})) },
      }),
      // Only these calls are made.
    } as unknown as Parameters<typeof filledFileSystems>[0];
    const found = filledFileSystems(host, clock, '/root');
    await clock.advance(2_000);
    expect(await found).toEqual([
      {
        label: '/dev/a',
        target: '/a',
        device: '0:1',
        usedBytes: 12,
        capacityBytes: 20,
        inodes: 5,
        inodesFree: 1,
      },
    ]);
    expect(clock.pendingTimers).toBe(0);
  });
});

it.each([
  ['{"image":"pause:3"}', 'pause:3'],
  ['{"image":7}', ''],
  ['[]', ''],
  ['{', ''],
])('the image in %s', (info, image) => expect(imageIn(info)).toBe(image));
