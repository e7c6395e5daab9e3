/** Writes the values of a cgroup of version 1, in the order that the kernel takes them. */
import { join } from 'node:path';
import { type CgroupFiles, codeOf } from './cgroup-files.js';
import { hugePageLimits, type PageSizes, pidsMax } from './hierarchy.js';
import { writeHugePageLimits } from './huge-pages.js';
import type { CgroupValues } from './values.js';

export interface V1Directories extends PageSizes {
  readonly files: CgroupFiles;
  /** The cgroup in the tree of a controller; undefined on a machine without the controller. */
  directoryOf(controller: string): string | undefined;
}

export function writeV1Values(cgroup: V1Directories, values: CgroupValues): void {
  const { files } = cgroup;
  const { cpuShares = 0, memoryLimitBytes = 0, pidsLimit, cpus = '' } = values;
  const cpuset = cgroup.directoryOf('cpuset');
  if (cpus !== '' && cpuset !== undefined) files.write(join(cpuset, 'cpuset.cpus'), cpus);
  const memory = cgroup.directoryOf('memory');
  if (memoryLimitBytes !== 0 && memory !== undefined) writeMemoryLimit(files, memory, memoryLimitBytes);
  const cpu = cgroup.directoryOf('cpu');
  if (cpu !== undefined) {
    if (cpuShares !== 0) writeShares(files, cpu, cpuShares);
    writeQuota(files, cpu, values);
  }
  const pids = cgroup.directoryOf('pids');
  if (pidsLimit !== undefined && pids !== undefined) files.write(join(pids, 'pids.max'), pidsMax(pidsLimit));
  const hugetlb = cgroup.directoryOf('hugetlb');
  if (hugetlb !== undefined)
    writeHugePageLimits(files, hugetlb, hugePageLimits(values, cgroup), 'limit_in_bytes');
}

function writeMemoryLimit(files: CgroupFiles, directory: string, limitBytes: number): void {
  const read = (file: string): string => files.read(join(directory, file)).trim();
  if (limitBytes === -1) {
    try {
      // Memory and swap together cannot stay below memory alone.
      files.write(join(directory, 'memory.memsw.limit_in_bytes'), '-1');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
  try {
    files.write(join(directory, 'memory.limit_in_bytes'), String(limitBytes));
  } catch (error) {
    if (codeOf(error) !== 'EBUSY') throw error;
    const usage = `current usage: ${read('memory.usage_in_bytes')}, peak usage: ${read('memory.max_usage_in_bytes')}`;
    throw new Error(`unable to set memory limit to ${limitBytes} (${usage})`, { cause: error });
  }
}

/** The kernel moves shares that it does not allow to the nearest that it does. */
function writeShares(files: CgroupFiles, directory: string, shares: number): void {
  const file = join(directory, 'cpu.shares');
  files.write(file, String(shares));
  const taken = Number(files.read(file));
  if (shares > taken) throw new Error(`the maximum allowed cpu-shares is ${taken}`);
  if (shares < taken) throw new Error(`the minimum allowed cpu-shares is ${taken}`);
}

/** A period below the quota that is still set is refused until the quota has changed. */
function writeQuota(files: CgroupFiles, directory: string, { cpuQuota }: CgroupValues): void {
  if (cpuQuota === undefined) return;
  const { quotaMicros, periodMicros } = cpuQuota;
  const writePeriod = (): void => files.write(join(directory, 'cpu.cfs_period_us'), String(periodMicros));
  let isPeriodDue = false;
  if (periodMicros !== 0) {
    try {
      writePeriod();
    } catch (error) {
      if (codeOf(error) !== 'EINVAL' || quotaMicros === 0) throw error;
      isPeriodDue = true;
    }
  }
  if (quotaMicros === 0) return;
  files.write(join(directory, 'cpu.cfs_quota_us'), String(quotaMicros));
  if (isPeriodDue) writePeriod();
}
