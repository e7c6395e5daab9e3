/** Cgroups version 1: one tree per controller or group of controllers. */
import { dirname, join } from 'node:path';
import type { Clock } from '../../async/index.js';
import { type CgroupFiles, codeOf, levelsOf, processesBelow, processesIn } from './cgroup-files.js';
import type { CgroupGap, CgroupHierarchy, CgroupState, PageSizes } from './hierarchy.js';
import { isRemoved, removeAllDirectories } from './remove-directories.js';
import type { ControllerMount } from './v1-mounts.js';
import { writeV1Values } from './v1-values.js';
import type { CgroupValues } from './values.js';

export interface CgroupsV1Options extends PageSizes {
  readonly mounts: readonly ControllerMount[];
  readonly files: CgroupFiles;
  readonly clock: Clock;
  /** Whether to make cgroups in the tree of devices too; systemd counts on that. */
  readonly withDevices?: boolean;
}

/** Without any of these a pod is not limited or not accounted for. */
const needed = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];
/** Trees that pods can do without. */
const optional = ['systemd', 'misc'];
const cpusetFiles = ['cpuset.cpus', 'cpuset.mems'];

export class CgroupsV1 implements CgroupHierarchy {
  readonly version = 1;
  readonly #options: CgroupsV1Options;

  constructor(options: CgroupsV1Options) {
    this.#options = options;
  }

  gap(path: string): CgroupGap | undefined {
    const { mounts, files } = this.#options;
    const missing = mounts
      .filter(({ controllers }) => controllers.some((controller) => needed.includes(controller)))
      .map((mount) => join(mount.path, path))
      .filter((directory) => !files.isDirectory(directory));
    return missing.length === 0 ? undefined : { kind: 'paths', missing };
  }

  isThere(path: string): boolean {
    const { mounts, files } = this.#options;
    return mounts.some((mount) => files.isDirectory(join(mount.path, path)));
  }

  create(path: string): void {
    const { mounts, withDevices = false } = this.#options;
    for (const mount of mounts) {
      if (mount.controllers.includes('devices') && !withDevices) continue;
      try {
        this.#makeIn(mount, path);
      } catch (error) {
        const isOptional =
          mount.controllers.length > 0 && mount.controllers.every((name) => optional.includes(name));
        if (!isOptional) throw error;
      }
    }
  }

  write(path: string, values: CgroupValues): void {
    writeV1Values(
      { ...this.#options, directoryOf: (controller) => this.#directory(controller, path) },
      values,
    );
  }

  read(path: string): CgroupState {
    const memoryLimitBytes = this.#get(path, 'memory', 'memory.limit_in_bytes');
    return {
      cpuShares: this.#get(path, 'cpu', 'cpu.shares'),
      quotaMicros: this.#get(path, 'cpu', 'cpu.cfs_quota_us'),
      periodMicros: this.#get(path, 'cpu', 'cpu.cfs_period_us'),
      memoryLimitBytes: memoryLimitBytes > Number.MAX_SAFE_INTEGER ? -1 : memoryLimitBytes,
      memoryUsageBytes: this.#get(path, 'memory', 'memory.usage_in_bytes'),
    };
  }

  children(path: string): readonly string[] {
    const { mounts, files } = this.#options;
    return [...new Set(mounts.flatMap((mount) => files.directoriesIn(join(mount.path, path))))];
  }

  processes(path: string): readonly number[] {
    const { mounts, files } = this.#options;
    return [...new Set(mounts.flatMap((mount) => processesBelow(files, join(mount.path, path))))];
  }

  /** Those of the tree of CPU time, in which every process of the agent's is moved. */
  ownProcesses(path: string): readonly number[] {
    const directory = this.#directory('cpu', path);
    return directory === undefined ? [] : processesIn(this.#options.files, directory);
  }

  enter(path: string, pid: number): void {
    const { mounts, files } = this.#options;
    for (const mount of mounts) {
      const directory = join(mount.path, path);
      if (files.isDirectory(directory)) files.write(join(directory, 'cgroup.procs'), String(pid));
    }
  }

  removeUnused(path: string): boolean {
    const { mounts, files } = this.#options;
    // Every tree: one that stays must not keep the others.
    return mounts.filter((mount) => !isRemoved(files, join(mount.path, path))).length === 0;
  }

  remove(path: string): Promise<void> {
    const { mounts, files, clock } = this.#options;
    return removeAllDirectories(
      files,
      clock,
      mounts.map((mount) => join(mount.path, path)),
    );
  }

  #get(path: string, controller: string, file: string): number {
    const directory = this.#directory(controller, path);
    if (directory === undefined) throw new Error(`this machine has no cgroup controller ${controller}`);
    return Number(this.#options.files.read(join(directory, file)));
  }

  #directory(controller: string, path: string): string | undefined {
    const mount = this.#options.mounts.find(({ controllers }) => controllers.includes(controller));
    return mount && join(mount.path, path);
  }

  /** The parents exist for all but the first pod, so they are made only on demand. */
  #makeIn(mount: ControllerMount, path: string): void {
    const { files } = this.#options;
    const directory = join(mount.path, path);
    try {
      files.makeDirectory(directory);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || dirname(path) === '/') throw error;
      this.#makeIn(mount, dirname(path));
      files.makeDirectory(directory);
    }
    if (mount.controllers.includes('cpuset'))
      for (const level of levelsOf(path)) this.#inheritCpuset(join(mount.path, level));
  }

  /** No process can enter a cpuset without CPUs or memory nodes. */
  #inheritCpuset(directory: string): void {
    const { files } = this.#options;
    for (const file of cpusetFiles) {
      const path = join(directory, file);
      if (files.read(path).trim() === '')
        files.write(path, files.read(join(dirname(directory), file)).trim());
    }
  }
}
