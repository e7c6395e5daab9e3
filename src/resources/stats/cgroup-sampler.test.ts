import { utimesSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { blkioDevices, ioStatDevices } from './block-io.js';
import { detailsOfV1, detailsOfV2 } from './cgroup-details.js';
import { CgroupSampler } from './cgroup-sampler.js';
import { statsLimits } from './limits.js';
import { interfaceCounters } from './machine-files.js';
import { openFilesLimit, processFigures, processIds } from './processes.js';
import { TestCgroups } from './test-cgroup-tree.js';

const from = (files: Readonly<Record<string, string>>) => (name: string) => files[name];

describe('the details of a cgroup', () => {
  const nothing = from({});
  it.each([
    ['a quota', '50000 100000\n', 50_000, true],
    ['no quota', 'max 100000\n', undefined, false],
  ])('of version 2 with %s', (_rule, max, quota, isThrottled) => {
    const { cpu, spec } = detailsOfV2(
      from({ 'cpu.stat': 'nr_periods 3\nthrottled_usec 5\n', 'cpu.max': max, 'cpu.weight': '39\n' }),
      false,
    );
    expect(cpu.throttling).toEqual(
      isThrottled
        ? { periods: 3, throttledPeriods: 0, throttledSeconds: 5e-6, burstPeriods: 0, burstSeconds: 0 }
        : undefined,
    );
    expect(spec).toMatchObject({ cpuPeriodMicros: 100_000, cpuQuotaMicros: quota, cpuShares: 998 });
  });

  it('of the root of version 1 have a share of CPU time, and no threads', () => {
    const cpu = from({ 'cpu.shares': '1024\n', 'cpu.cfs_period_us': '100000\n', 'cpu.cfs_quota_us': '-1\n' });
    const pids = from({ 'pids.current': '10\n', 'pids.max': '20\n' });
    const texts = { cpu, cpuacct: nothing, memory: nothing, pids, blkio: nothing };
    expect(detailsOfV1(texts, true)).toMatchObject({
      threads: 0,
      threadsMax: 0,
      spec: { cpuPeriodMicros: 100_000, cpuQuotaMicros: undefined, cpuShares: 1024 },
    });
  });

  it.each([
    ['a quota', '50000\n', 50_000, { periods: 3, throttledSeconds: 2 }],
    ['no quota', '-1\n', undefined, undefined],
  ])('of version 1 with %s', (_rule, quotaText, quota, throttling) => {
    const { cpu, memory, spec, threads, threadsMax } = detailsOfV1(
      {
        cpu: from({
          'cpu.shares': '512\n',
          'cpu.cfs_period_us': '100000\n',
          'cpu.cfs_quota_us': quotaText,
          'cpu.stat': 'nr_periods 3\nnr_throttled 1\nthrottled_time 2000000000\n',
        }),
        cpuacct: from({ 'cpuacct.stat': 'user 250\nsystem 50\n' }),
        memory: from({
          'memory.stat': 'cache 1\ntotal_cache 2\ntotal_mapped_file 3\ntotal_active_file 4\n',
          'memory.kmem.usage_in_bytes': '5\n',
          'memory.max_usage_in_bytes': '6\n',
          'memory.failcnt': '7\n',
          'memory.limit_in_bytes': '9223372036854771712\n',
          'memory.memsw.limit_in_bytes': '8\n',
          'memory.soft_limit_in_bytes': '9\n',
        }),
        pids: from({ 'pids.current': '10\n', 'pids.max': 'max\n' }),
        blkio: nothing,
      },
      false,
    );
    expect(cpu).toMatchObject({ userSeconds: 2.5, systemSeconds: 0.5 });
    expect(cpu.throttling).toEqual(throttling && expect.objectContaining(throttling));
    expect(memory).toMatchObject({
      cacheBytes: 2,
      mappedFileBytes: 3,
      activeFileBytes: 4,
      kernelBytes: 5,
      maxUsageBytes: 6,
      failures: 7,
    });
    expect(spec).toEqual({
      cpuPeriodMicros: 100_000,
      cpuQuotaMicros: quota,
      cpuShares: 512,
      memoryLimitBytes: 0,
      swapLimitBytes: 8,
      reservationBytes: 9,
    });
    expect([threads, threadsMax]).toEqual([10, 0]);
  });

  it('of a cgroup without any file are zeros', () => {
    expect(detailsOfV2(nothing, false)).toMatchObject({ devices: [], threads: 0, spec: { cpuShares: 0 } });
  });
});

describe('block devices', () => {
  it('of version 2', () => {
    const text = '8:0 rbytes=1 wbytes=2 rios=3 wios=4\nnope\n253:1 rbytes=x cost.usage=7 cost.wait=8\n';
    expect(ioStatDevices(text)).toMatchObject([
      {
        major: '8',
        minor: '0',
        bytes: new Map([
          ['Read', 1],
          ['Write', 2],
        ]),
        operations: new Map([
          ['Read', 3],
          ['Write', 4],
        ]),
      },
      {
        major: '253',
        minor: '1',
        bytes: new Map([
          ['Read', 0],
          ['Write', 0],
        ]),
        cost: { usage: 7, wait: 8, indebt: 0 },
      },
    ]);
  });
  it('are bounded', () => {
    const lines = Array.from({ length: 200 }, (_, minor) => `8:${minor} rbytes=1`).join('\n');
    expect(ioStatDevices(lines)).toHaveLength(statsLimits.devices);
  });
  const bytes = '8:0 Read 5\n8:0 Write 6\n8:0 Total 11\nTotal 11\n';
  it.each<[string, Record<string, string>, unknown]>([
    [
      'throttling counts',
      { 'blkio.throttle.io_serviced': '8:0 Read 1\n', 'blkio.throttle.io_service_bytes': bytes },
      { bytes: 5, reads: 1, sectors: undefined },
    ],
    [
      'a set without lines gives way to the next',
      {
        'blkio.sectors_recursive': '',
        'blkio.throttle.io_serviced_recursive': '8:0 Read 2\n',
        'blkio.throttle.io_service_bytes_recursive': bytes,
      },
      { bytes: 5, reads: 2, sectors: undefined },
    ],
    [
      'a scheduler with all figures',
      {
        'blkio.sectors_recursive': '8:0 9\n',
        'blkio.io_serviced_recursive': '8:0 Read 3\n',
        'blkio.io_service_bytes_recursive': bytes,
      },
      { bytes: 5, reads: 3, sectors: 9 },
    ],
  ])('of version 1: %s', (_rule, files, expected) => {
    const [device] = blkioDevices(from(files));
    expect({
      bytes: device?.bytes.get('Read'),
      reads: device?.operations.get('Read'),
      sectors: device?.sectors?.get('Count'),
    }).toEqual(expected);
  });

  it('of version 1: no second file is read for a cgroup that has used no device', () => {
    const read: string[] = [];
    const files = { 'blkio.throttle.io_serviced_recursive': 'Total 0\n' };
    const devices = blkioDevices((file) => {
      read.push(file);
      return from(files)(file);
    });
    expect(devices).toEqual([]);
    expect(read.at(-1)).toBe('blkio.throttle.io_serviced_recursive');
  });
});

describe('processes', () => {
  it('of a cgroup', () => expect(processIds('12\n13\nx\n0\n')).toEqual([12, 13]));
  it.each([
    ['Max open files            1024                 4096                 files\n', 1024],
    ['Max open files            unlimited            unlimited            files\n', -1],
    ['', undefined],
  ])('may open %j', (text, limit) => expect(openFilesLimit(text)).toBe(limit));
  it('may have many interfaces, of which some count', () => {
    const text = Array.from({ length: 500 }, (_, at) => `e${at}: 1 2 3 4 0 0 0 0 5 6 7 8`).join('\n');
    expect(interfaceCounters(text)).toHaveLength(statsLimits.interfaces);
    expect(interfaceCounters(text)[0]).toEqual({
      name: 'e0',
      receive: { bytes: 1, packets: 2, errors: 3, dropped: 4 },
      transmit: { bytes: 5, packets: 6, errors: 7, dropped: 8 },
    });
  });
});

describe('CgroupSampler', () => {
  let tree: TestCgroups;
  let clock: VirtualClock;
  let sampler: CgroupSampler;
  beforeEach(() => {
    tree = new TestCgroups();
    clock = new VirtualClock(Date.UTC(2026, 0, 1));
    sampler = new CgroupSampler({
      clock,
      files: tree.files,
      procRoot: tree.procRoot,
      cgroupRoot: tree.cgroupRoot,
    });
  });
  afterEach(() => tree.destroy());

  it('reads once for all who ask in the same second, and again later', async () => {
    tree.add('kubepods');
    sampler.detailed('/kubepods');
    const once = tree.reads.length;
    sampler.detailed('/kubepods');
    sampler.sample('/kubepods/');
    expect(tree.reads).toHaveLength(once);
    await clock.advance(1_000);
    sampler.sample('/kubepods');
    expect(tree.reads.length).toBeGreaterThan(once);
    const later = tree.reads.length;
    sampler.expire();
    sampler.sample('/kubepods');
    expect(tree.reads.length).toBeGreaterThan(later);
  });

  it('adds what is missing when the summary came first', () => {
    tree.add('kubepods');
    const { usage } = sampler.sample('/kubepods');
    tree.put('cg/kubepods/memory.current', '6001\n');
    expect(sampler.detailed('/kubepods')?.usage).toEqual(usage);
  });

  it('tells all of a cgroup', () => {
    tree.add('kubepods/pod1/c1', { 'cgroup.procs': '42\n43\n', 'cpu.max': '20000 100000\n' });
    tree.addProcess(42);
    expect(sampler.detailed('/kubepods/pod1/c1')).toMatchObject({
      atMs: clock.now(),
      numbers: { usageCoreNanoSeconds: 5_000_000_000n, usageBytes: 6000, limitBytes: 9000 },
      details: { threads: 5, threadsMax: 0, spec: { cpuQuotaMicros: 20_000, reservationBytes: 100 } },
      processes: { processes: 2, fileDescriptors: 2, sockets: 1, fileDescriptorLimit: 1024 },
      hasPressure: true,
    });
  });

  it('lists a bounded number of open files, however many there are', () => {
    tree.addProcess(50);
    for (let fd = 2; fd < 60; fd++) tree.put(`proc/50/fd/${fd}`, '');
    const { files, procRoot } = tree;
    expect([0, 5, 100].map((limit) => files.names(`${procRoot}/50/fd`, limit).length)).toEqual([0, 5, 60]);
    let listed = 0;
    const names = (_path: string, limit: number): string[] => {
      const some = Array<string>(Math.min(limit, 10_000)).fill('0');
      listed += some.length;
      return some;
    };
    const { fileDescriptors } = processFigures(
      { ...files, names, readLimits: files.read },
      procRoot,
      [50, 51, 52, 53, 54, 55],
    );
    expect(fileDescriptors).toBe(statsLimits.listedDescriptors);
    expect(listed).toBe(statsLimits.listedDescriptors);
  });

  it('counts many open files every ten seconds only', async () => {
    tree.add('kubepods/pod1/c1', { 'cgroup.procs': '60\n61\n' });
    tree.addProcess(60);
    for (let fd = 2; fd < 300; fd++) tree.put(`proc/60/fd/${fd}`, '');
    const counted = async (waitMs: number): Promise<unknown> => {
      await clock.advance(waitMs);
      const { processes: figures } = sampler.detailed('/kubepods/pod1/c1')!;
      return [figures.processes, figures.fileDescriptors];
    };
    expect(await counted(0)).toEqual([2, 300]);
    tree.put('proc/60/fd/300', '');
    tree.add('kubepods/pod1/c1', { 'cgroup.procs': '60\n' });
    expect(await counted(5_000)).toEqual([1, 300]);
    expect(await counted(5_000)).toEqual([1, 301]);
    // Another process: nothing of what was counted is its.
    tree.put('proc/60/fd/301', '');
    tree.addProcess(70);
    tree.add('kubepods/pod1/c1', { 'cgroup.procs': '70\n' });
    expect(await counted(2_000)).toEqual([1, 2]);
    tree.put('proc/70/fd/2', '');
    // A process that opens a file has run.
    tree.add('kubepods/pod1/c1', { 'cgroup.procs': '70\n', 'cpu.stat': 'usage_usec 5000001\n' });
    expect(await counted(2_000)).toEqual([1, 3]);
  });

  it('looks at the files of processes only when one of them has run, or when there are others', async () => {
    const cgroup = 'kubepods/pod1/c1';
    const seen = async (more: Readonly<Record<string, string>>): Promise<unknown> => {
      tree.add(cgroup, more);
      await clock.advance(2_000);
      tree.reads.length = 0;
      const { processes } = sampler.detailed(`/${cgroup}`)!;
      return [processes.fileDescriptors, tree.reads.some((path) => path.endsWith('/fd'))];
    };
    for (const pid of [60, 61]) tree.addProcess(pid);
    expect(await seen({ 'cgroup.procs': '60\n' })).toEqual([2, true]);
    expect(await seen({ 'cgroup.procs': '60\n' })).toEqual([2, false]);
    expect(await seen({ 'cgroup.procs': '60\n', 'cpu.stat': 'usage_usec 5000001\n' })).toEqual([2, true]);
    const moved = { 'cgroup.procs': '60\n61\n', 'cpu.stat': 'usage_usec 5000001\n' };
    expect(await seen(moved)).toEqual([4, true]);
    expect(await seen(moved)).toEqual([4, false]);
    // Another cgroup of the same name has other processes.
    tree.remove(cgroup);
    await clock.advance(2_000);
    expect(sampler.detailed(`/${cgroup}`)).toBeUndefined();
    expect(await seen(moved)).toEqual([4, true]);
  });

  it('reads files of any length whole', () => {
    const pids = Array.from({ length: 5_000 }, (_, index) => `${index + 1}\n`).join('');
    tree.add('kubepods', { 'cgroup.procs': pids });
    const { files, cgroupRoot } = tree;
    expect(files.readCgroupFile(`${cgroupRoot}/kubepods/cgroup.procs`)).toBe(pids);
    expect(files.readCgroupFile(`${cgroupRoot}/kubepods/memory.max`)).toBe('9000\n');
    expect(files.readCgroupFile(`${cgroupRoot}/kubepods/nothing`)).toBeUndefined();
  });

  it('knows when a cgroup that was made anew was made', async () => {
    tree.add('kubepods');
    const madeAt = (seconds: number): void => {
      for (const file of ['', '/cgroup.events']) {
        utimesSync(`${tree.cgroupRoot}/kubepods${file}`, seconds, seconds);
      }
    };
    const seen = async (): Promise<number | undefined> => {
      await clock.advance(2_000);
      return sampler.detailed('/kubepods')?.usage.createdAtMs;
    };
    const startSeconds = Math.ceil(clock.now() / 1000) + 60;
    madeAt(startSeconds);
    expect(await seen()).toBe(startSeconds * 1000);
    tree.remove('kubepods');
    expect(await seen()).toBeUndefined();
    tree.add('kubepods');
    madeAt(startSeconds + 60);
    expect(await seen()).toBe((startSeconds + 60) * 1000);
  });

  it('takes the limits of the root from the machine', () => {
    expect(sampler.detailed('/')).toMatchObject({
      numbers: { usageBytes: 150, limitBytes: 8192, swapUsageBytes: 1024, swapLimitBytes: 2048 },
      details: { spec: { cpuShares: 0, memoryLimitBytes: 8192, swapLimitBytes: 2048 } },
      hasPressure: false,
    });
  });

  it('knows nothing of a cgroup that is gone', () => {
    tree.add('kubepods');
    expect(sampler.list(['/kubepods'])).toEqual(['/kubepods']);
    tree.remove('kubepods');
    expect(sampler.detailed('/kubepods')).toBe(undefined);
    expect(() => sampler.sample('/kubepods')).toThrow('ENOENT');
    expect(sampler.isThere('/kubepods')).toBe(false);
    expect(sampler.pids('/kubepods')).toEqual([]);
    expect(sampler.network(99)).toBe(undefined);
  });

  it('lists from the top, once each, without mounts, to a depth', () => {
    tree.add('kubepods/burstable/pod1/c1');
    tree.add('kubepods/a.mount');
    tree.add(`kubepods/${'d/'.repeat(30)}e`);
    const found = sampler.list(['/', '/kubepods', '/kubepods/burstable', '/gone']);
    expect(found.slice(0, 3)).toEqual(['/', '/kubepods', '/kubepods/burstable']);
    expect(found).toContain('/kubepods/burstable/pod1/c1');
    expect(found).not.toContain('/kubepods/a.mount');
    expect(new Set(found).size).toBe(found.length);
    expect(Math.max(...found.map((name) => name.split('/').length - 2))).toBe(statsLimits.depth);
  });
});
