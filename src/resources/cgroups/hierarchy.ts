/** The kernel's cgroups, in either version. Names are paths from the root, such as `/kubepods/burstable`. */
import type { CgroupValues } from './values.js';

/** All calls are synchronous: these files are the kernel's own memory. Only the end of processes must be awaited. */
export interface CgroupHierarchy {
  /** The missing parts of a cgroup, worded for an error; undefined if it is complete. */
  missing(name: string): string | undefined;
  /** Creates the cgroup and its missing parents. */
  create(name: string): void;
  write(name: string, values: CgroupValues): void;
  /** Its current values; -1 for no limit. Throws if it does not exist. */
  read(name: string): CgroupState;
  /** The names of the direct children. */
  children(name: string): readonly string[];
  /** The processes in the cgroup and all below it. */
  processes(name: string): readonly number[];
  /** Removes the cgroup and all below it; throws while any has processes. */
  remove(name: string): void;
}

export interface CgroupState {
  readonly cpuShares: number;
  readonly quotaMicros: number;
  readonly memoryLimitBytes: number;
  readonly memoryUsageBytes: number;
}

export interface PageSizes {
  /** The kernel's huge-page sizes, such as `2MB`. */
  readonly hugePageSizes: readonly string[];
}

/** Larger than any machine: the kernel takes it as no limit. */
const noLimitBytes = 2n ** 62n;

/** The limit of each huge-page size. */
export function hugePageLimits(
  { hugePages }: CgroupValues,
  { hugePageSizes }: PageSizes,
): Map<string, string> {
  return new Map(
    hugePageSizes.map((size) => [
      size,
      String(hugePages === 'unlimited' ? noLimitBytes : (hugePages.get(size) ?? 0)),
    ]),
  );
}
