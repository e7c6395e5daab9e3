import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { pageSizeOf, parseMeminfo, readMachineFacts } from './machine-facts.js';

const roots: string[] = [];
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true });
});

async function machine(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'machine-facts-'));
  roots.push(root);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

const meminfo = 'MemTotal:        1024 kB\nMemFree: 5 kB\nSwapTotal:       2048 kB\n';

describe('readMachineFacts', () => {
  it('reads a machine with cgroup v2', async () => {
    const root = await machine({
      'proc/meminfo': meminfo,
      'proc/self/cgroup': '0::/system.slice/agent.service\n',
      'sys/fs/cgroup/cgroup.controllers': 'cpu memory\n',
      'sys/fs/cgroup/system.slice/agent.service/memory.swap.max': 'max\n',
      'sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0',
      'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '0',
      'sys/devices/system/cpu/cpu10/thermal_throttle/core_throttle_count': '0',
      'sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count': '0',
      'sys/devices/system/cpu/cpu3/online': '1',
      'sys/devices/system/cpu/cpufreq/boost': '1',
      'sys/fs/selinux/enforce': '1',
      'sys/module/apparmor/parameters/enabled': 'Y\n',
    });
    expect(await readMachineFacts(root)).toEqual({
      memoryCapacityBytes: 1024 * 1024,
      swapCapacityBytes: 2048 * 1024,
      isCpuQuotaAvailable: true,
      isSwapControllerAvailable: true,
      hugePageSizes: ['2MB', '1GB'],
      cgroupVersion: 2,
      thermalThrottlePaths: [
        '/sys/devices/system/cpu/cpu2/thermal_throttle',
        '/sys/devices/system/cpu/cpu10/thermal_throttle',
      ],
      isSelinuxEnabled: true,
      isAppArmorEnabled: true,
    });
  });

  it('reads a machine that has only memory', async () => {
    expect(await readMachineFacts(await machine({ 'proc/meminfo': meminfo }))).toEqual({
      memoryCapacityBytes: 1024 * 1024,
      swapCapacityBytes: 2048 * 1024,
      isCpuQuotaAvailable: true,
      isSwapControllerAvailable: false,
      hugePageSizes: [],
      cgroupVersion: 1,
      thermalThrottlePaths: [],
      isSelinuxEnabled: false,
      isAppArmorEnabled: false,
    });
  });

  it('finds the swap controller of cgroup v1', async () => {
    const root = await machine({
      'proc/meminfo': meminfo,
      'sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '1',
    });
    expect(await readMachineFacts(root)).toMatchObject({ cgroupVersion: 1, isSwapControllerAvailable: true });
  });

  const v1 = {
    'proc/meminfo': meminfo,
    'proc/self/mountinfo': '32 31 0:29 / /c rw - cgroup cgroup rw,cpu\n',
  };
  it.each<[rule: string, files: Record<string, string>, isThere: boolean]>([
    ['both files', { 'c/cpu.cfs_period_us': '', 'c/cpu.cfs_quota_us': '' }, true],
    ['no period', { 'c/cpu.cfs_quota_us': '' }, false],
    ['no quota', { 'c/cpu.cfs_period_us': '' }, false],
    [
      'a controller of a similar name',
      { 'proc/self/mountinfo': '1 1 0:1 / /c rw - cgroup cgroup rw,cpuset\n' },
      true,
    ],
    ['cgroup v2', { 'sys/fs/cgroup/cgroup.controllers': 'cpu' }, true],
  ])('CPU quotas: %s', async (_, files, isThere) => {
    const facts = await readMachineFacts(await machine({ ...v1, ...files }));
    expect(facts.isCpuQuotaAvailable).toBe(isThere);
  });

  it('rejects a machine without memory', () => {
    expect(() => parseMeminfo('')).toThrow('/proc/meminfo has no MemTotal line');
  });
});

describe('the page size', () => {
  const auxv = (order: 'LE' | 'BE', ...words: number[]): Buffer => {
    const buffer = Buffer.alloc(8 * words.length);
    for (const [at, word] of words.entries()) {
      if (order === 'LE') buffer.writeBigUInt64LE(BigInt(word), 8 * at);
      else buffer.writeBigUInt64BE(BigInt(word), 8 * at);
    }
    return buffer;
  };
  it.each<[string, Buffer, 'LE' | 'BE', number | undefined]>([
    ['is told among other things', auxv('LE', 33, 7, 6, 65536, 0, 0), 'LE', 65536],
    ['is told in the order of the machine', auxv('BE', 6, 16384), 'BE', 16384],
    ['is not told', auxv('LE', 33, 7), 'LE', undefined],
    ['is not told at all', Buffer.alloc(0), 'LE', undefined],
    ['is cut off', auxv('LE', 33, 7, 6), 'LE', undefined],
    ['is no page size', auxv('LE', 6, 5000), 'LE', undefined],
  ])('%s', (_, text, order, expected) => {
    expect(pageSizeOf(text, order)).toBe(expected);
  });
  it('of this machine', async () => {
    expect((await readMachineFacts()).pageSizeBytes).toBeGreaterThanOrEqual(4096);
  });
});
