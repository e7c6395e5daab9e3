/** The kernel's cgroups, in either version. Paths start at the root, such as `/kubepods/burstable`. */
import { type CgroupName, quotedName } from './names.js';
import type { CgroupValues } from './values.js';

/** Calls are synchronous but for the removal, which waits for processes to leave. */
export interface CgroupHierarchy {
  readonly version: 1 | 2;
  /** What a cgroup lacks; undefined if it is complete. */
  gap(path: string): CgroupGap | undefined;
  /** Whether there is anything of the cgroup, in any tree. */
  isThere(path: string): boolean;
  /** Makes the cgroup and its missing parents. `values` are those that will be written. */
  create(path: string, values?: CgroupValues): void;
  write(path: string, values: CgroupValues): void;
  /** Its current values; -1 for no limit. Throws if it does not exist. */
  read(path: string): CgroupState;
  /** The base names of the direct children. */
  children(path: string): readonly string[];
  /** The processes in the cgroup and all below it. */
  processes(path: string): readonly number[];
  /** The processes in the cgroup itself. */
  ownProcesses(path: string): readonly number[];
  /** Moves a process into the cgroup itself. */
  enter(path: string, pid: number): void;
  /** Removes the cgroup if nothing runs in it and nothing is below it; false if something is left. */
  removeUnused(path: string): boolean;
  /** Removes the cgroup and all below it. */
  remove(path: string): Promise<void>;
}

/** Why a cgroup cannot be used. */
export type CgroupGap =
  | { readonly kind: 'unreadable'; readonly error: string }
  | { readonly kind: 'controllers'; readonly missing: readonly string[] }
  | { readonly kind: 'paths'; readonly missing: readonly string[] };

export function gapText(name: CgroupName, gap: CgroupGap): string {
  switch (gap.kind) {
    case 'unreadable':
      return `could not read controllers for cgroup ${quotedName(name)}: ${gap.error}`;
    case 'controllers':
      return `cgroup ${quotedName(name)} has some missing controllers: ${[...gap.missing].sort().join(', ')}`;
    case 'paths':
      return `cgroup ${quotedName(name)} has some missing paths: ${gap.missing.join(', ')}`;
  }
}

export interface CgroupState {
  readonly cpuShares: number;
  readonly quotaMicros: number;
  readonly periodMicros: number;
  readonly memoryLimitBytes: number;
  readonly memoryUsageBytes: number;
}

export interface PageSizes {
  /** The kernel's huge-page sizes, such as `2MB`. */
  readonly hugePageSizes: readonly string[];
}

/** Larger than any machine: the kernel takes it as no limit. */
const noLimitBytes = 2n ** 62n;

/** The limit of each huge-page size. Every write sets all of them. */
export function hugePageLimits(
  { hugePages }: CgroupValues,
  { hugePageSizes }: PageSizes,
): readonly (readonly [size: string, limit: string])[] {
  return hugePageSizes.map((size) => [
    size,
    String(hugePages === 'unlimited' ? noLimitBytes : (hugePages.get(size) ?? 0)),
  ]);
}

/** The kernel has no limit of 0 processes; 1 is the nearest. */
export function pidsMax(limit: number): string {
  return limit < 0 ? 'max' : String(Math.max(limit, 1));
}
