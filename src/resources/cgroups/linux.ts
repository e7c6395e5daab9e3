/** The cgroups of this machine. */
import { readFileSync } from 'node:fs';
import type { CgroupHierarchy, PageSizes } from './hierarchy.js';
import { CgroupsV1, controllerMounts } from './v1.js';
import { CgroupsV2 } from './v2.js';

export interface LinuxCgroupsOptions extends PageSizes {
  readonly version: 1 | 2;
}

export function linuxCgroups({ version, hugePageSizes }: LinuxCgroupsOptions): CgroupHierarchy {
  if (version === 2) return new CgroupsV2({ root: '/sys/fs/cgroup', hugePageSizes });
  const mounts = controllerMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
  if (mounts.length === 0)
    throw new Error('this machine has no cgroups: set cgroupsPerQOS: false and enforceNodeAllocatable: []');
  return new CgroupsV1({ mounts, hugePageSizes });
}
