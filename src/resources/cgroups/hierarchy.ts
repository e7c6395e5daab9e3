/** The kernel's cgroups, in either version. Names are paths from their root, such as `/kubepods/burstable`. */
import type { CgroupValues } from './values.js';

/**
 * All of it is done without waiting: these files are the kernel's own memory. What a caller must wait for is that
 * processes end.
 */
export interface CgroupHierarchy {
  /** What is not there of a cgroup, in words for an error; undefined when it is whole. */
  missing(name: string): string | undefined;
  /** Makes the cgroup and those above it, as far as they are not there. */
  create(name: string): void;
  write(name: string, values: CgroupValues): void;
  /** What it has now; -1 where there is no limit. Throws for one that is not there. */
  read(name: string): CgroupState;
  /** The names of the cgroups directly below. */
  children(name: string): readonly string[];
  /** The processes in the cgroup and in all below it. */
  processes(name: string): readonly number[];
  /** Removes the cgroup and all below it; throws while processes are in one of them. */
  remove(name: string): void;
}

export interface CgroupState {
  readonly cpuShares: number;
  readonly quotaMicros: number;
  readonly memoryLimitBytes: number;
  readonly memoryUsageBytes: number;
}

export interface PageSizes {
  /** The sizes of huge pages that the kernel has, such as `2MB`. */
  readonly hugePageSizes: readonly string[];
}

/** Larger than any machine: the kernel takes it for no limit. */
const noLimitBytes = 2n ** 62n;

/** What each size of huge pages is given. */
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
