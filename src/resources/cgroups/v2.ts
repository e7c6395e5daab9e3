/** Cgroups version 2: one tree, in which each level enables controllers for the next. */
import { join } from 'node:path';
import { type Clock, errorText } from '../../async/index.js';
import { cpuWeight, sharesOfWeight } from '../../kube/index.js';
import {
  type CgroupFiles,
  codeOf,
  levelsOf,
  processesBelow,
  processesIn,
  readIfThere,
} from './cgroup-files.js';
import {
  type CgroupGap,
  type CgroupHierarchy,
  type CgroupState,
  hugePageLimits,
  type PageSizes,
  pidsMax,
} from './hierarchy.js';
import { writeHugePageLimits } from './huge-pages.js';
import { isRemoved, removeDirectories } from './remove-directories.js';
import { type CgroupValues, defaultPeriodMicros } from './values.js';

export interface CgroupsV2Options extends PageSizes {
  readonly root: string;
  readonly files: CgroupFiles;
  readonly clock: Clock;
}

/** Without any of these a pod is not limited or not accounted for. */
const needed = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

export class CgroupsV2 implements CgroupHierarchy {
  readonly version = 2;
  readonly #options: CgroupsV2Options;
  /** The machine's controllers. */
  readonly #controllers: readonly string[];

  /** Throws if the machine's controllers cannot be read. */
  constructor(options: CgroupsV2Options) {
    this.#options = options;
    this.#controllers = this.#controllersOf('/');
  }

  gap(path: string): CgroupGap | undefined {
    let here: readonly string[];
    try {
      here = this.#controllersOf(path);
    } catch (error) {
      return { kind: 'unreadable', error: errorText(error) };
    }
    const missing = needed.filter(
      (controller) => this.#controllers.includes(controller) && !here.includes(controller),
    );
    return missing.length === 0 ? undefined : { kind: 'controllers', missing };
  }

  isThere(path: string): boolean {
    return this.#options.files.isDirectory(this.#path(path));
  }

  create(path: string, values?: CgroupValues): void {
    const { files } = this.#options;
    const made: string[] = [];
    try {
      this.#handDown('/');
      const levels = levelsOf(path);
      for (const [index, level] of levels.entries()) {
        const directory = this.#path(level);
        if (files.makeDirectory(directory)) made.push(directory);
        this.#checkType(directory, values);
        if (index < levels.length - 1) this.#handDown(level);
      }
    } catch (error) {
      for (const directory of made.reverse()) files.removeDirectory(directory);
      throw error;
    }
  }

  write(path: string, values: CgroupValues): void {
    const { cpuShares = 0, cpuQuota, memoryLimitBytes = 0, pidsLimit, cpus = '', unified = {} } = values;
    if (pidsLimit !== undefined) this.#set(path, 'pids.max', pidsMax(pidsLimit));
    if (memoryLimitBytes === -1) this.#setIfThere(path, 'memory.swap.max', 'max');
    if (memoryLimitBytes !== 0)
      this.#set(path, 'memory.max', memoryLimitBytes === -1 ? 'max' : String(memoryLimitBytes));
    if (cpuShares !== 0) this.#set(path, 'cpu.weight', String(cpuWeight(cpuShares)));
    if (cpuQuota !== undefined) {
      const { quotaMicros, periodMicros } = cpuQuota;
      if (quotaMicros !== 0 || periodMicros !== 0)
        this.#set(
          path,
          'cpu.max',
          `${quotaMicros > 0 ? quotaMicros : 'max'} ${periodMicros || defaultPeriodMicros}`,
        );
    }
    if (cpus !== '') this.#set(path, 'cpuset.cpus', cpus);
    if (this.#controllers.includes('hugetlb')) {
      const limits = hugePageLimits(values, this.#options);
      writeHugePageLimits(this.#options.files, this.#path(path), limits, 'max');
    }
    for (const [file, value] of Object.entries(unified)) this.#setUnified(path, file, value);
  }

  read(path: string): CgroupState {
    const get = (file: string): string => this.#options.files.read(join(this.#path(path), file)).trim();
    const limit = (text = ''): number => (text === 'max' ? -1 : Number(text));
    const [quota, period] = get('cpu.max').split(' ');
    return {
      cpuShares: sharesOfWeight(Number(get('cpu.weight'))),
      quotaMicros: limit(quota),
      periodMicros: Number(period),
      memoryLimitBytes: limit(get('memory.max')),
      memoryUsageBytes: Number(get('memory.current')),
    };
  }

  children(path: string): readonly string[] {
    return this.#options.files.directoriesIn(this.#path(path));
  }

  processes(path: string): readonly number[] {
    return processesBelow(this.#options.files, this.#path(path));
  }

  ownProcesses(path: string): readonly number[] {
    return processesIn(this.#options.files, this.#path(path));
  }

  enter(path: string, pid: number): void {
    this.#options.files.write(join(this.#path(path), 'cgroup.procs'), String(pid));
  }

  removeUnused(path: string): boolean {
    return isRemoved(this.#options.files, this.#path(path));
  }

  remove(path: string): Promise<void> {
    const { files, clock } = this.#options;
    return removeDirectories(files, clock, this.#path(path));
  }

  #path(path: string): string {
    return join(this.#options.root, path);
  }

  /** A machine without the controller has nothing to set. */
  #set(path: string, file: string, value: string): void {
    if (!this.#controllers.includes(controllerOf(file))) return;
    this.#options.files.write(join(this.#path(path), file), value);
  }

  #setIfThere(path: string, file: string, value: string): void {
    try {
      this.#set(path, file, value);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  #setUnified(path: string, file: string, value: string): void {
    try {
      this.#options.files.write(join(this.#path(path), file), value);
    } catch (error) {
      const controller = controllerOf(file);
      const isAbsent = ['ENOENT', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '');
      if (!isAbsent || this.#controllersOf(path).includes(controller)) throw error;
      const reason = `controller ${JSON.stringify(controller)} not available`;
      throw new Error(`unified resource ${JSON.stringify(file)} can't be set: ${reason}`, { cause: error });
    }
  }

  #controllersOf(path: string): readonly string[] {
    const text = this.#options.files.read(join(this.#path(path), 'cgroup.controllers'));
    return text.trim().split(' ');
  }

  /** Threads of one process may be spread over some cgroups; the controllers of whole processes refuse those. */
  #checkType(directory: string, values: CgroupValues | undefined): void {
    const { files } = this.#options;
    const type = readIfThere(files, join(directory, 'cgroup.type'))?.trim();
    const refuse = (state: string): Error =>
      new Error(`cannot enter cgroupv2 ${JSON.stringify(directory)} with domain controllers -- ${state}`);
    if (type === 'domain invalid') {
      if (this.#wantsDomain(values)) throw refuse('it is in an invalid state');
      files.write(join(directory, 'cgroup.type'), 'threaded');
    } else if (type === 'threaded' || type === 'domain threaded') {
      if (this.#wantsDomain(values)) throw refuse(`it is in ${type} mode`);
    }
  }

  #wantsDomain(values: CgroupValues | undefined): boolean {
    if (values === undefined) return false;
    const { memoryLimitBytes = 0, cpuShares = 0, cpuQuota } = values;
    const hasHugePages = this.#controllers.includes('hugetlb') && this.#options.hugePageSizes.length > 0;
    return memoryLimitBytes !== 0 || cpuShares !== 0 || cpuQuota !== undefined || hasHugePages;
  }

  /**
   * A controller that cannot be enabled here must not hold back the others; the creator of the cgroup checks
   * what is missing.
   */
  #handDown(path: string): void {
    const { files } = this.#options;
    const file = join(this.#path(path), 'cgroup.subtree_control');
    const has = new Set(files.read(file).trim().split(' '));
    if (this.#controllers.every((controller) => has.has(controller))) return;
    const wanted = this.#controllers.map((controller) => `+${controller}`);
    try {
      files.write(file, wanted.join(' '));
    } catch {
      for (const controller of wanted) {
        try {
          files.write(file, controller);
        } catch {
          // `gap` reports it where it matters.
        }
      }
    }
  }
}

function controllerOf(file: string): string {
  return file.split('.')[0] ?? '';
}
