import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CgroupsV1, controllerMounts } from './v1.js';
import { CgroupsV2 } from './v2.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nodelet-cgroups-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (path: string, text: string): void => writeFileSync(join(root, path), text);
const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const all = {
  cpuShares: 1024,
  cpuQuota: { quotaMicros: 20_000, periodMicros: 100_000 },
  memoryLimitBytes: 4096,
  pidsLimit: 10,
  hugePages: new Map([['2MB', 2_097_152]]),
};

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
});

describe('version 1', () => {
  let cgroups: CgroupsV1;
  beforeEach(() => {
    for (const folder of ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb', 'devices', 'unified'])
      mkdirSync(join(root, folder));
    put('cpuset/cpuset.cpus', '0-1');
    put('cpuset/cpuset.mems', '0');
    const named = ['cpuset', 'memory', 'pids', 'hugetlb', 'devices'];
    cgroups = new CgroupsV1({
      hugePageSizes: ['2MB', '1GB'],
      mounts: [
        { path: join(root, 'cpu'), controllers: ['cpu', 'cpuacct'] },
        ...named.map((controller) => ({ path: join(root, controller), controllers: [controller] })),
        { path: join(root, 'unified'), controllers: [] },
      ],
    });
  });

  it('creates every level in every tree, with the CPUs and memory nodes of the parent', () => {
    cgroups.create('/a/b');
    for (const folder of readdirSync(root)) expect(existsSync(join(root, folder, 'a/b'))).toBe(true);
    expect([text('cpuset/a/b/cpuset.cpus'), text('cpuset/a/b/cpuset.mems')]).toEqual(['0-1', '0']);
    put('cpuset/a/cpuset.cpus', '1');
    cgroups.create('/a/b');
    expect([text('cpuset/a/cpuset.cpus'), text('cpuset/a/b/cpuset.cpus')]).toEqual(['1', '0-1']);
  });

  it('names missing paths of required controllers', () => {
    cgroups.create('/a');
    rmSync(join(root, 'devices/a'), { recursive: true });
    expect(cgroups.missing('/a')).toBeUndefined();
    rmSync(join(root, 'pids/a'), { recursive: true });
    expect(cgroups.missing('/a')).toBe(`missing paths: ${join(root, 'pids/a')}`);
  });

  it('writes the given values', () => {
    cgroups.create('/a');
    cgroups.write('/a', all);
    expect(text('cpu/a/cpu.shares')).toBe('1024');
    expect(text('cpu/a/cpu.cfs_period_us')).toBe('100000');
    expect(text('cpu/a/cpu.cfs_quota_us')).toBe('20000');
    expect(text('memory/a/memory.limit_in_bytes')).toBe('4096');
    expect(text('pids/a/pids.max')).toBe('10');
    expect(text('hugetlb/a/hugetlb.2MB.limit_in_bytes')).toBe('2097152');
    expect(text('hugetlb/a/hugetlb.1GB.limit_in_bytes')).toBe('0');
  });

  it('reads the current values', () => {
    cgroups.create('/a');
    cgroups.write('/a', all);
    put('memory/a/memory.usage_in_bytes', '1000');
    const read = { cpuShares: 1024, quotaMicros: 20_000, memoryLimitBytes: 4096, memoryUsageBytes: 1000 };
    expect(cgroups.read('/a')).toEqual(read);
    put('memory/a/memory.limit_in_bytes', '9223372036854771712');
    put('cpu/a/cpu.cfs_quota_us', '-1');
    expect(cgroups.read('/a')).toEqual({ ...read, quotaMicros: -1, memoryLimitBytes: -1 });
    expect(() => cgroups.read('/none')).toThrow('ENOENT');
  });

  it('writes nothing else', () => {
    cgroups.create('/a');
    cgroups.write('/a', { cpuShares: 2, hugePages: 'unlimited' });
    expect(readdirSync(join(root, 'cpu/a'))).toEqual(['cpu.shares']);
    expect(readdirSync(join(root, 'memory/a'))).toEqual([]);
    expect(text('hugetlb/a/hugetlb.1GB.limit_in_bytes')).toBe(String(2n ** 62n));
    cgroups.write('/a', { cpuQuota: { quotaMicros: 0, periodMicros: 100_000 }, hugePages: new Map() });
    expect(text('cpu/a/cpu.cfs_quota_us')).toBe('-1');
  });

  it('finds children and processes in any tree, and removes them all', () => {
    for (const name of ['/a', '/a/b', '/a/c']) cgroups.create(name);
    rmSync(join(root, 'cpu/a/b'), { recursive: true });
    put('memory/a/cgroup.procs', '1\n2\n');
    put('pids/a/cgroup.procs', '2\n');
    put('pids/a/b/cgroup.procs', '3\n');
    expect([...cgroups.children('/a')].sort()).toEqual(['b', 'c']);
    expect([...cgroups.processes('/a')].sort()).toEqual([1, 2, 3]);
    expect(cgroups.children('/none')).toEqual([]);
    expect(cgroups.processes('/none')).toEqual([]);
  });
});

describe('version 2', () => {
  let cgroups: CgroupsV2;
  const handsDown = (path: string, controllers: string): void => {
    mkdirSync(join(root, path), { recursive: true });
    put(join(path, 'cgroup.controllers'), 'cpuset cpu io memory hugetlb pids');
    put(join(path, 'cgroup.subtree_control'), controllers);
  };
  beforeEach(() => {
    handsDown('', 'cpu memory');
    handsDown('a', 'cpuset cpu io memory hugetlb pids');
    cgroups = new CgroupsV2({ root, hugePageSizes: ['2MB', '1GB'] });
  });

  it('creates every level and enables missing controllers', () => {
    cgroups.create('/a/b');
    expect(existsSync(join(root, 'a/b'))).toBe(true);
    expect(text('cgroup.subtree_control')).toBe('+cpuset +io +hugetlb +pids');
    expect(text('a/cgroup.subtree_control')).toBe('cpuset cpu io memory hugetlb pids');
  });

  it('names missing parts', () => {
    expect(cgroups.missing('/a')).toBeUndefined();
    put('a/cgroup.controllers', 'cpu memory hugetlb');
    expect(cgroups.missing('/a')).toBe('missing controllers: cpuset, pids');
    expect(cgroups.missing('/none')).toBe(`missing paths: ${join(root, 'none')}`);
  });

  it('writes the given values', () => {
    put('a/hugetlb.2MB.rsvd.max', '');
    cgroups.write('/a', all);
    expect(text('a/cpu.weight')).toBe('39');
    expect(text('a/cpu.max')).toBe('20000 100000');
    expect(text('a/memory.max')).toBe('4096');
    expect(text('a/pids.max')).toBe('10');
    expect([text('a/hugetlb.2MB.max'), text('a/hugetlb.2MB.rsvd.max'), text('a/hugetlb.1GB.max')]).toEqual([
      '2097152',
      '2097152',
      '0',
    ]);
    expect(existsSync(join(root, 'a/hugetlb.1GB.rsvd.max'))).toBe(false);
  });

  it('reads the current values', () => {
    cgroups.write('/a', all);
    put('a/memory.current', '1000');
    const read = { cpuShares: 998, quotaMicros: 20_000, memoryLimitBytes: 4096, memoryUsageBytes: 1000 };
    expect(cgroups.read('/a')).toEqual(read);
    put('a/memory.max', 'max\n');
    put('a/cpu.max', 'max 100000\n');
    expect(cgroups.read('/a')).toEqual({ ...read, quotaMicros: -1, memoryLimitBytes: -1 });
  });

  it.each([0, -1])('a quota of %d means none', (quotaMicros) => {
    cgroups.write('/a', { cpuQuota: { quotaMicros, periodMicros: 5000 }, hugePages: new Map() });
    expect(text('a/cpu.max')).toBe('max 5000');
    expect(existsSync(join(root, 'a/cpu.weight'))).toBe(false);
  });

  it('sets nothing for a controller that the machine lacks', () => {
    put('cgroup.controllers', 'cpu memory');
    const without = new CgroupsV2({ root, hugePageSizes: ['2MB'] });
    without.write('/a', all);
    expect(existsSync(join(root, 'a/pids.max'))).toBe(false);
    expect(existsSync(join(root, 'a/hugetlb.2MB.max'))).toBe(false);
    put('a/cgroup.controllers', 'cpu memory');
    expect(without.missing('/a')).toBeUndefined();
  });
});
