/** The cgroups of this machine. */
import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../../async/index.js';
import { kernelCgroupFiles } from './cgroup-files.js';
import type { CgroupHierarchy, PageSizes } from './hierarchy.js';
import { CgroupsV1 } from './v1.js';
import { controllerMounts, mountProblem } from './v1-mounts.js';
import { CgroupsV2 } from './v2.js';

export interface LinuxCgroupsOptions extends PageSizes {
  readonly version: 1 | 2;
  /** Whether systemd makes the cgroups; default: the agent does. */
  readonly withSystemd?: boolean;
  readonly clock?: Clock;
}

/** Throws if this machine lacks what pods need. */
export function linuxCgroups({
  version,
  hugePageSizes,
  withSystemd = false,
  clock = systemClock,
}: LinuxCgroupsOptions): CgroupHierarchy {
  const files = kernelCgroupFiles;
  if (version === 2) return new CgroupsV2({ root: '/sys/fs/cgroup', files, clock, hugePageSizes });
  const mounts = controllerMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
  const problem = mountProblem(mounts);
  if (problem !== undefined)
    throw new Error(`${problem}; set cgroupsPerQOS: false and enforceNodeAllocatable: [] to run without`);
  return new CgroupsV1({ mounts, files, clock, hugePageSizes, withDevices: withSystemd });
}
