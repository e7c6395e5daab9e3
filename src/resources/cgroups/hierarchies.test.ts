import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { gapText } from './hierarchy.js';
import { kernelError, TestTree } from './test-tree.js';
import { CgroupsV1 } from './v1.js';
import { controllerMounts, mountProblem } from './v1-mounts.js';
import { CgroupsV2 } from './v2.js';
import type { CgroupValues } from './values.js';

let tree: TestTree;
let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});
afterEach(() => tree?.destroy());

const hugePages = new Map<string, number>();
const hugePageSizes = ['2MB', '1GB'];
const all: CgroupValues = {
  cpuShares: 1024,
  cpuQuota: { quotaMicros: 20_000, periodMicros: 100_000 },
  memoryLimitBytes: 4096,
  pidsLimit: 10,
  cpus: '0-1',
  hugePages: new Map([['2MB', 2_097_152]]),
};
/** The writes of an action, without those of huge pages. */
const writesOf = (action: () => void): string[] => {
  tree.writes.length = 0;
  action();
  return tree.writes.filter((write) => !write.includes('hugetlb.'));
};
const there = (path: string): boolean => existsSync(join(tree.root, path));

describe('controllerMounts', () => {
  it('finds each controller at its shortest path, named trees, and version 2 beside them', () => {
    const mountinfo = [
      '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
      '32 31 0:29 / /somewhere/else/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct',
      '33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct',
      '33 31 0:29 / /c rw shared:9 - cgroup cgroup rw,cpuacct',
      '34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup systemd rw,xattr,name=systemd',
      '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      '',
    ].join('\n');
    expect(controllerMounts(mountinfo)).toEqual([
      { path: '/somewhere/else/cpu', controllers: ['cpu'] },
      { path: '/c', controllers: ['cpuacct'] },
      { path: '/sys/fs/cgroup/systemd', controllers: ['systemd'] },
      { path: '/sys/fs/cgroup/unified', controllers: [] },
    ]);
  });

  it('finds only the tree on a machine with version 2 alone', () => {
    expect(controllerMounts('41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw')).toEqual([
      { path: '/sys/fs/cgroup', controllers: [] },
    ]);
  });

  const mount = (...controllers: string[]) => ({ path: `/${controllers.join()}`, controllers });
  it.each([
    ['all that is needed', [mount('cpu', 'cpuacct'), mount('cpuset'), mount('memory')], undefined],
    ['none', [], 'failed to get mounted cgroup subsystems: failed to find cgroup mounts'],
    ['version 2 alone', [mount()], 'failed to get mounted cgroup subsystems: failed to find cgroup mounts'],
    [
      'some missing',
      [mount('cpu'), mount('cpuset')],
      'system validation failed - Following Cgroup subsystem not mounted: [cpuacct memory]',
    ],
  ])('mounts: %s', (_, mounts, problem) => expect(mountProblem(mounts)).toBe(problem));
});

describe('version 1', () => {
  let cgroups: CgroupsV1;
  const open = (more: { readonly withDevices?: boolean } = {}): CgroupsV1 =>
    new CgroupsV1({ hugePageSizes, mounts: tree.mounts, files: tree, clock, ...more });
  beforeEach(() => {
    tree = TestTree.v1([
      'cpu,cpuacct',
      'cpuset',
      'memory',
      'pids',
      'hugetlb',
      'devices',
      'unified',
      'systemd',
    ]);
    cgroups = open();
  });

  it('creates every level in every tree but devices, with the CPUs and memory nodes of the parent', () => {
    cgroups.create('/a/b');
    for (const dir of readdirSync(tree.root)) expect(there(`${dir}/a/b`)).toBe(dir !== 'devices');
    expect([tree.text('cpuset/a/b/cpuset.cpus'), tree.text('cpuset/a/b/cpuset.mems')]).toEqual(['0-1', '0']);
    tree.put('cpuset/a/cpuset.cpus', '1');
    cgroups.create('/a/b');
    expect([tree.text('cpuset/a/cpuset.cpus'), tree.text('cpuset/a/b/cpuset.cpus')]).toEqual(['1', '0-1']);
    open({ withDevices: true }).create('/a/b');
    expect(there('devices/a/b')).toBe(true);
  });

  it('gives CPUs to every level that has none', () => {
    cgroups.create('/a/b');
    for (const level of ['a', 'a/b']) tree.put(`cpuset/${level}/cpuset.cpus`, '');
    cgroups.create('/a/b');
    expect([tree.text('cpuset/a/cpuset.cpus'), tree.text('cpuset/a/b/cpuset.cpus')]).toEqual(['0-1', '0-1']);
  });

  it('does without the tree of systemd if that refuses', () => {
    tree.refuse = (action, path) => {
      if (action === 'make' && path.startsWith('systemd')) throw kernelError('EROFS');
    };
    cgroups.create('/a');
    tree.refuse = (action, path) => {
      if (action === 'make' && path.startsWith('pids')) throw kernelError('EROFS');
    };
    expect(() => cgroups.create('/b')).toThrow('EROFS');
  });

  it('names missing paths of required controllers', () => {
    cgroups.create('/a');
    expect(cgroups.gap('/a')).toBeUndefined();
    rmSync(join(tree.root, 'pids/a'), { recursive: true });
    const gap = cgroups.gap('/a');
    expect(gap && gapText(['a'], gap)).toBe(
      `cgroup ["a"] has some missing paths: ${join(tree.root, 'pids/a')}`,
    );
  });

  it('writes the given values in order', () => {
    cgroups.create('/a');
    expect(writesOf(() => cgroups.write('/a', all))).toEqual([
      'cpuset/a/cpuset.cpus=0-1',
      'memory/a/memory.limit_in_bytes=4096',
      'cpu,cpuacct/a/cpu.shares=1024',
      'cpu,cpuacct/a/cpu.cfs_period_us=100000',
      'cpu,cpuacct/a/cpu.cfs_quota_us=20000',
      'pids/a/pids.max=10',
    ]);
    expect(tree.text('hugetlb/a/hugetlb.2MB.limit_in_bytes')).toBe('2097152');
    expect(tree.text('hugetlb/a/hugetlb.2MB.rsvd.limit_in_bytes')).toBe('2097152');
    expect(tree.text('hugetlb/a/hugetlb.1GB.limit_in_bytes')).toBe('0');
  });

  it.each<[rule: string, values: Partial<CgroupValues>, writes: string[]]>([
    ['no memory limit is touched by 0', { memoryLimitBytes: 0 }, []],
    [
      'swap is freed before memory',
      { memoryLimitBytes: -1 },
      ['memory/a/memory.memsw.limit_in_bytes=-1', 'memory/a/memory.limit_in_bytes=-1'],
    ],
    [
      'a quota of 0 writes the period only',
      { cpuQuota: { quotaMicros: 0, periodMicros: 100_000 } },
      ['cpu,cpuacct/a/cpu.cfs_period_us=100000'],
    ],
    [
      'a quota of -1 is none',
      { cpuQuota: { quotaMicros: -1, periodMicros: 100_000 } },
      ['cpu,cpuacct/a/cpu.cfs_period_us=100000', 'cpu,cpuacct/a/cpu.cfs_quota_us=-1'],
    ],
    ['a limit of 0 processes is 1', { pidsLimit: 0 }, ['pids/a/pids.max=1']],
    ['a negative limit of processes is none', { pidsLimit: -1 }, ['pids/a/pids.max=max']],
  ])('%s', (_, values, writes) => {
    cgroups.create('/a');
    expect(writesOf(() => cgroups.write('/a', { hugePages, ...values }))).toEqual(writes);
  });

  it('tells the usage when a memory limit is refused', () => {
    cgroups.create('/a');
    tree.put('memory/a/memory.usage_in_bytes', '7\n');
    tree.put('memory/a/memory.max_usage_in_bytes', '9\n');
    tree.refuse = (action, path) => {
      if (action === 'write' && path.endsWith('/memory.limit_in_bytes')) throw kernelError('EBUSY');
    };
    expect(() => cgroups.write('/a', { hugePages, memoryLimitBytes: 5 })).toThrow(
      'unable to set memory limit to 5 (current usage: 7, peak usage: 9)',
    );
  });

  it.each([
    [1, '2', 'the minimum allowed cpu-shares is 2'],
    [300_000, '262144', 'the maximum allowed cpu-shares is 262144'],
  ])('tells which shares the kernel made of %d', (cpuShares, taken, message) => {
    cgroups.create('/a');
    tree.read = (path) => (path.endsWith('cpu.shares') ? taken : '');
    expect(() => cgroups.write('/a', { hugePages, cpuShares })).toThrow(message);
  });

  it('retries a refused period when the quota has changed', () => {
    cgroups.create('/a');
    let refusals = 1;
    tree.refuse = (action, path) => {
      if (action === 'write' && path.endsWith('period_us') && refusals-- > 0) throw kernelError('EINVAL');
    };
    const cpuQuota = { quotaMicros: 1000, periodMicros: 5000 };
    expect(writesOf(() => cgroups.write('/a', { hugePages, cpuQuota }))).toEqual([
      'cpu,cpuacct/a/cpu.cfs_quota_us=1000',
      'cpu,cpuacct/a/cpu.cfs_period_us=5000',
    ]);
  });

  it('creates no file that the kernel lacks', () => {
    cgroups.create('/a');
    rmSync(join(tree.root, 'pids/a/pids.max'));
    expect(() => cgroups.write('/a', { hugePages, pidsLimit: 5 })).toThrow('ENOENT');
    expect(there('pids/a/pids.max')).toBe(false);
  });

  it('reads the current values', () => {
    cgroups.create('/a');
    cgroups.write('/a', all);
    tree.put('memory/a/memory.usage_in_bytes', '1000');
    const read = {
      cpuShares: 1024,
      quotaMicros: 20_000,
      periodMicros: 100_000,
      memoryLimitBytes: 4096,
      memoryUsageBytes: 1000,
    };
    expect(cgroups.read('/a')).toEqual(read);
    tree.put('memory/a/memory.limit_in_bytes', '9223372036854771712');
    tree.put('cpu,cpuacct/a/cpu.cfs_quota_us', '-1');
    expect(cgroups.read('/a')).toEqual({ ...read, quotaMicros: -1, memoryLimitBytes: -1 });
    expect(() => cgroups.read('/none')).toThrow('ENOENT');
  });

  it('writes nothing else, but all sizes of huge pages', () => {
    cgroups.create('/a');
    expect(writesOf(() => cgroups.write('/a', { cpuShares: 2, hugePages: 'unlimited' }))).toEqual([
      'cpu,cpuacct/a/cpu.shares=2',
    ]);
    expect(tree.text('hugetlb/a/hugetlb.1GB.limit_in_bytes')).toBe(String(2n ** 62n));
  });

  it('finds children and processes in any tree, and removes them all', async () => {
    for (const name of ['/a', '/a/b', '/a/c']) cgroups.create(name);
    rmSync(join(tree.root, 'cpu,cpuacct/a/b'), { recursive: true });
    tree.put('memory/a/cgroup.procs', '1\n2\n');
    tree.put('pids/a/cgroup.procs', '2\n');
    tree.put('pids/a/b/cgroup.procs', '3\n');
    expect([...cgroups.children('/a')].sort()).toEqual(['b', 'c']);
    expect([...cgroups.processes('/a')].sort()).toEqual([1, 2, 3]);
    expect(cgroups.children('/none')).toEqual([]);
    expect(cgroups.processes('/none')).toEqual([]);
    for (const path of ['memory/a', 'pids/a', 'pids/a/b']) tree.put(`${path}/cgroup.procs`, '');
    await cgroups.remove('/a');
    expect(cgroups.isThere('/a')).toBe(false);
  });

  it('tries every tree when one keeps its directory', async () => {
    cgroups.create('/a');
    tree.put('memory/a/cgroup.procs', '1\n');
    const removed = cgroups.remove('/a').catch(String);
    await clock.advance(1_023);
    expect(await removed).toBe(
      `Error: Failed to remove paths: map[${join(tree.root, 'memory/a')}: EBUSY: refused]`,
    );
    expect([there('pids/a'), there('unified/a'), there('memory/a')]).toEqual([false, false, true]);
  });
});

describe('version 2', () => {
  let cgroups: CgroupsV2;
  const open = (): CgroupsV2 => new CgroupsV2({ root: tree.root, hugePageSizes, files: tree, clock });
  beforeEach(() => {
    tree = TestTree.v2();
    cgroups = open();
  });

  it('creates every level and enables all controllers in all but the last', () => {
    const plus = '+cpuset +cpu +io +memory +hugetlb +pids';
    expect(writesOf(() => cgroups.create('/a/b/c'))).toEqual([
      `cgroup.subtree_control=${plus}`,
      `a/cgroup.subtree_control=${plus}`,
      `a/b/cgroup.subtree_control=${plus}`,
    ]);
    expect(there('a/b/c')).toBe(true);
    expect(writesOf(() => cgroups.create('/a/b/d'))).toEqual([]);
  });

  it('enables controllers one by one if they are refused together', () => {
    tree.refuse = (action, path, text) => {
      if (action === 'write' && path === 'cgroup.subtree_control' && /\+.* |^\+io$/.test(text))
        throw kernelError('EINVAL');
    };
    cgroups.create('/a');
    expect(tree.text('a/cgroup.controllers')).toBe('cpuset cpu memory hugetlb pids');
  });

  it.each<[type: string, values: CgroupValues | undefined, message: string | undefined]>([
    ['domain', all, undefined],
    ['domain invalid', all, 'with domain controllers -- it is in an invalid state'],
    ['threaded', all, 'with domain controllers -- it is in threaded mode'],
    ['domain threaded', all, 'with domain controllers -- it is in domain threaded mode'],
    ['domain invalid', undefined, undefined],
    ['threaded', undefined, undefined],
  ])('a level of the type %s', (type, values, message) => {
    cgroups.create('/a');
    const make = tree.makeDirectory.bind(tree);
    tree.makeDirectory = (path) => {
      const isNew = make(path);
      if (path.endsWith('a/b/c')) tree.put('a/b/c/cgroup.type', type);
      return isNew;
    };
    if (message === undefined) cgroups.create('/a/b/c', values);
    else expect(() => cgroups.create('/a/b/c', values)).toThrow(message);
    expect([there('a'), there('a/b')]).toEqual([true, message === undefined]);
    if (type === 'domain invalid' && message === undefined)
      expect(tree.text('a/b/c/cgroup.type')).toBe('threaded');
  });

  it('names missing parts', () => {
    cgroups.create('/a/b');
    expect(cgroups.gap('/a')).toBeUndefined();
    tree.put('a/cgroup.controllers', 'cpu memory hugetlb');
    const text = (name: string[]): string => {
      const gap = cgroups.gap(`/${name.join('/')}`);
      return gap === undefined ? '' : gapText(name, gap);
    };
    expect(text(['a'])).toBe('cgroup ["a"] has some missing controllers: cpuset, pids');
    tree.put('a/b/cgroup.controllers', 'cpu');
    expect(text(['a', 'b'])).toBe(
      'cgroup ["a" "b"] has some missing controllers: cpuset, hugetlb, memory, pids',
    );
    expect(text(['none'])).toMatch(/^could not read controllers for cgroup \["none"\]: ENOENT/);
  });

  it('asks for no controller that the machine lacks', () => {
    tree.destroy();
    tree = TestTree.v2(['cpu', 'memory', 'pids']);
    cgroups = open();
    cgroups.create('/kubepods');
    tree.put('kubepods/cgroup.controllers', 'cpu memory');
    expect(cgroups.gap('/kubepods')).toEqual({ kind: 'controllers', missing: ['pids'] });
  });

  it('a machine whose controllers cannot be read has no cgroups', () => {
    rmSync(join(tree.root, 'cgroup.controllers'));
    expect(open).toThrow('ENOENT');
  });

  it('writes the given values in order', () => {
    cgroups.create('/a');
    const unified = { 'memory.min': '1', 'memory.low': '2', 'memory.high': 'max' };
    expect(writesOf(() => cgroups.write('/a', { ...all, unified }))).toEqual([
      'a/pids.max=10',
      'a/memory.max=4096',
      'a/cpu.weight=39',
      'a/cpu.max=20000 100000',
      'a/cpuset.cpus=0-1',
      'a/memory.min=1',
      'a/memory.low=2',
      'a/memory.high=max',
    ]);
    expect(tree.writes.filter((write) => write.includes('hugetlb.'))).toEqual([
      'a/hugetlb.2MB.max=2097152',
      'a/hugetlb.2MB.rsvd.max=2097152',
      'a/hugetlb.1GB.max=0',
      'a/hugetlb.1GB.rsvd.max=0',
    ]);
  });

  it.each<[rule: string, values: Partial<CgroupValues>, writes: string[]]>([
    ['a memory limit of 0 leaves it', { memoryLimitBytes: 0 }, []],
    ['no memory limit', { memoryLimitBytes: -1 }, ['a/memory.swap.max=max', 'a/memory.max=max']],
    ['a memory limit', { memoryLimitBytes: 5 }, ['a/memory.max=5']],
    ['no quota', { cpuQuota: { quotaMicros: 0, periodMicros: 100_000 } }, ['a/cpu.max=max 100000']],
    ['quota -1', { cpuQuota: { quotaMicros: -1, periodMicros: 50_000 } }, ['a/cpu.max=max 50000']],
    ['no period', { cpuQuota: { quotaMicros: 5000, periodMicros: 0 } }, ['a/cpu.max=5000 100000']],
    ['a limit of 0 processes is 1', { pidsLimit: 0 }, ['a/pids.max=1']],
    ['no limit of processes', { pidsLimit: -1 }, ['a/pids.max=max']],
  ])('%s', (_, values, writes) => {
    cgroups.create('/a');
    expect(writesOf(() => cgroups.write('/a', { hugePages, ...values }))).toEqual(writes);
  });

  it('a CPU-only update takes all huge pages, reserved ones too', () => {
    cgroups.create('/a');
    cgroups.write('/a', { cpuShares: 2, hugePages });
    for (const file of ['2MB.max', '2MB.rsvd.max', '1GB.max', '1GB.rsvd.max'])
      expect(tree.text(`a/hugetlb.${file}`)).toBe('0');
  });

  it('the first missing file of reserved pages ends them for all sizes', () => {
    cgroups.create('/a');
    rmSync(join(tree.root, 'a/hugetlb.2MB.rsvd.max'));
    cgroups.write('/a', { hugePages });
    expect([tree.text('a/hugetlb.1GB.max'), tree.text('a/hugetlb.1GB.rsvd.max')]).toEqual(['0', 'max']);
  });

  it('a machine without swap has no swap file', () => {
    cgroups.create('/a');
    rmSync(join(tree.root, 'a/memory.swap.max'));
    cgroups.write('/a', { hugePages, memoryLimitBytes: -1 });
    expect(there('a/memory.swap.max')).toBe(false);
  });

  it('protection of memory needs its controller', () => {
    tree.destroy();
    tree = TestTree.v2(['cpu', 'pids']);
    cgroups = open();
    cgroups.create('/a');
    expect(() => cgroups.write('/a', { hugePages, unified: { 'memory.min': '0' } })).toThrow(
      'unified resource "memory.min" can\'t be set: controller "memory" not available',
    );
  });

  it('reads the current values', () => {
    cgroups.create('/a');
    cgroups.write('/a', all);
    tree.put('a/memory.current', '1000');
    const read = {
      cpuShares: 998,
      quotaMicros: 20_000,
      periodMicros: 100_000,
      memoryLimitBytes: 4096,
      memoryUsageBytes: 1000,
    };
    expect(cgroups.read('/a')).toEqual(read);
    tree.put('a/memory.max', 'max\n');
    tree.put('a/cpu.max', 'max 100000\n');
    expect(cgroups.read('/a')).toEqual({ ...read, quotaMicros: -1, memoryLimitBytes: -1 });
  });

  it('sets nothing for a controller that the machine lacks', () => {
    tree.destroy();
    tree = TestTree.v2(['cpu', 'memory']);
    const without = open();
    without.create('/a');
    without.write('/a', all);
    expect(there('a/pids.max')).toBe(false);
    expect(there('a/hugetlb.2MB.max')).toBe(false);
    expect(without.gap('/a')).toBeUndefined();
  });

  it.each([
    ['at once', 0, 0],
    ['after two more tries', 3, 3],
    ['after ten waits', 11, 1_023],
  ])('is removed %s', async (_, refusals, waitedMs) => {
    cgroups.create('/a');
    let left = refusals;
    tree.refuse = (action) => {
      if (action === 'remove' && left-- > 0) throw kernelError('EBUSY');
    };
    let isDone = false;
    const removed = cgroups.remove('/a').then(() => {
      isDone = true;
    });
    await clock.advance(Math.max(0, waitedMs - 1));
    await settle();
    expect(isDone).toBe(waitedMs === 0);
    await clock.advance(1);
    await removed;
    expect(there('a')).toBe(false);
  });

  it('removes what is below first', async () => {
    cgroups.create('/a/b/c');
    cgroups.create('/a/d');
    await cgroups.remove('/a');
    expect(there('a')).toBe(false);
  });

  it('a directory that stays busy is given up', async () => {
    cgroups.create('/a');
    tree.put('a/cgroup.procs', '1\n');
    const removed = cgroups.remove('/a').catch(String);
    await clock.advance(1_023);
    expect(await removed).toContain('EBUSY');
  });

  it('one that is gone is removed', async () => {
    await cgroups.remove('/none');
    mkdirSync(join(tree.root, 'odd'));
    tree.put('odd/cgroup.procs', '');
    await cgroups.remove('/odd');
    expect(there('odd')).toBe(false);
  });
});
