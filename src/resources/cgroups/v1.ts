/** Cgroups version 1: one tree per controller or group of controllers. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, foldersIn, makeFolder, processesBelow, removeFolders } from './folders.js';
import { type CgroupHierarchy, type CgroupState, hugePageLimits, type PageSizes } from './hierarchy.js';
import type { CgroupValues } from './values.js';

export interface ControllerMount {
  readonly path: string;
  /** Such as `cpu` and `cpuacct`, or `systemd` for the tree of that name. */
  readonly controllers: readonly string[];
}

export interface CgroupsV1Options extends PageSizes {
  readonly mounts: readonly ControllerMount[];
}

/** Without any of these a pod is not limited or not accounted for. */
const needed = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];
const cpusetFiles = ['cpuset.cpus', 'cpuset.mems'];

/**
 * Finds the controllers' mounts; of several, the one with the shortest path. A version 2 tree beside them has
 * no controllers, but runtimes put containers there as well.
 */
export function controllerMounts(mountinfo: string): ControllerMount[] {
  const found = new Map<string, string>();
  let beside: string | undefined;
  for (const line of mountinfo.split('\n')) {
    const [, path, type, options] = /^\S+ \S+ \S+ \S+ (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    if (path === undefined || options === undefined) continue;
    if (type === 'cgroup2') {
      if (beside === undefined || path.length < beside.length) beside = path;
      continue;
    }
    for (const option of options.split(',')) {
      const controller = option.replace(/^name=/, '');
      if (controller === 'rw' || controller === 'ro' || controller === 'xattr') continue;
      const known = found.get(controller);
      if (known === undefined || path.length < known.length) found.set(controller, path);
    }
  }
  const paths = [...new Set(found.values())];
  return [
    ...paths.map((path) => ({
      path,
      controllers: [...found].filter(([, place]) => place === path).map(([controller]) => controller),
    })),
    ...(beside === undefined ? [] : [{ path: beside, controllers: [] }]),
  ];
}

export class CgroupsV1 implements CgroupHierarchy {
  readonly #options: CgroupsV1Options;

  constructor(options: CgroupsV1Options) {
    this.#options = options;
  }

  missing(name: string): string | undefined {
    const paths = this.#options.mounts
      .filter(({ controllers }) => controllers.some((controller) => needed.includes(controller)))
      .map(({ path }) => join(path, name))
      .filter((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
    return paths.length === 0 ? undefined : `missing paths: ${paths.join(', ')}`;
  }

  create(name: string): void {
    for (const mount of this.#options.mounts) makeIn(mount, name);
  }

  write(name: string, values: CgroupValues): void {
    const { cpuShares, cpuQuota, memoryLimitBytes, pidsLimit } = values;
    this.#set(name, 'cpu', 'cpu.shares', cpuShares);
    this.#set(name, 'cpu', 'cpu.cfs_period_us', cpuQuota?.periodMicros);
    // Version 1 refuses 0, which means no quota.
    this.#set(
      name,
      'cpu',
      'cpu.cfs_quota_us',
      cpuQuota === undefined ? undefined : cpuQuota.quotaMicros || -1,
    );
    this.#set(name, 'memory', 'memory.limit_in_bytes', memoryLimitBytes || undefined);
    this.#set(name, 'pids', 'pids.max', pidsLimit);
    for (const [size, limit] of hugePageLimits(values, this.#options)) {
      this.#set(name, 'hugetlb', `hugetlb.${size}.limit_in_bytes`, limit);
    }
  }

  read(name: string): CgroupState {
    const memoryLimitBytes = this.#get(name, 'memory', 'memory.limit_in_bytes');
    return {
      cpuShares: this.#get(name, 'cpu', 'cpu.shares'),
      quotaMicros: this.#get(name, 'cpu', 'cpu.cfs_quota_us'),
      memoryLimitBytes: memoryLimitBytes > Number.MAX_SAFE_INTEGER ? -1 : memoryLimitBytes,
      memoryUsageBytes: this.#get(name, 'memory', 'memory.usage_in_bytes'),
    };
  }

  children(name: string): readonly string[] {
    const { mounts } = this.#options;
    return [...new Set(mounts.flatMap(({ path }) => foldersIn(join(path, name))))];
  }

  processes(name: string): readonly number[] {
    const { mounts } = this.#options;
    return [...new Set(mounts.flatMap(({ path }) => processesBelow(join(path, name))))];
  }

  remove(name: string): void {
    for (const { path } of this.#options.mounts) removeFolders(join(path, name));
  }

  /** A machine without the controller has nothing to set. */
  #set(name: string, controller: string, file: string, value: number | string | undefined): void {
    const path = this.#pathOf(controller);
    if (path === undefined || value === undefined) return;
    writeFileSync(join(path, name, file), String(value));
  }

  #get(name: string, controller: string, file: string): number {
    const path = this.#pathOf(controller);
    if (path === undefined) throw new Error(`this machine has no cgroup controller ${controller}`);
    return Number(readFileSync(join(path, name, file), 'utf8'));
  }

  #pathOf(controller: string): string | undefined {
    return this.#options.mounts.find(({ controllers }) => controllers.includes(controller))?.path;
  }
}

/** The parents exist for all but the first pod, so they are created only on demand. */
function makeIn(mount: ControllerMount, name: string): void {
  const folder = join(mount.path, name);
  let isNew: boolean;
  try {
    isNew = makeFolder(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(name) === '/') throw error;
    makeIn(mount, dirname(name));
    isNew = makeFolder(folder);
  }
  if (isNew && mount.controllers.includes('cpuset')) inheritCpuset(folder);
}

/** A new cpuset has neither CPUs nor memory nodes, and no process can enter it. */
function inheritCpuset(folder: string): void {
  for (const file of cpusetFiles)
    writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file)));
}
