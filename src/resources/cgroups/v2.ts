/** Cgroups version 2: one tree, in which each level enables controllers for the next. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cpuWeight, sharesOfWeight } from '../../kube/index.js';
import { codeOf, foldersIn, levelsOf, makeFolder, processesBelow, removeFolders } from './folders.js';
import { type CgroupHierarchy, type CgroupState, hugePageLimits, type PageSizes } from './hierarchy.js';
import type { CgroupValues } from './values.js';

export interface CgroupsV2Options extends PageSizes {
  readonly root: string;
}

/** Without any of these a pod is not limited or not accounted for. */
const needed = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

export class CgroupsV2 implements CgroupHierarchy {
  readonly #options: CgroupsV2Options;
  /** The machine's controllers. */
  readonly #controllers: readonly string[];

  constructor(options: CgroupsV2Options) {
    this.#options = options;
    this.#controllers = this.#controllersOf('/') ?? [];
  }

  missing(name: string): string | undefined {
    const here = this.#controllersOf(name);
    const missing = needed.filter(
      (controller) => this.#controllers.includes(controller) && here?.includes(controller) !== true,
    );
    if (here === undefined) return `missing paths: ${this.#path(name)}`;
    return missing.length === 0 ? undefined : `missing controllers: ${missing.join(', ')}`;
  }

  create(name: string): void {
    for (const level of levelsOf(name)) {
      const folder = this.#path(level);
      this.#handDown(dirname(folder));
      makeFolder(folder);
    }
  }

  write(name: string, values: CgroupValues): void {
    const { cpuShares, cpuQuota, memoryLimitBytes, pidsLimit } = values;
    const set = (controller: string, file: string, value: string): void => {
      if (this.#controllers.includes(controller)) writeFileSync(join(this.#path(name), file), value);
    };
    if (cpuShares !== undefined) set('cpu', 'cpu.weight', String(cpuWeight(cpuShares)));
    if (cpuQuota !== undefined) {
      const { quotaMicros, periodMicros } = cpuQuota;
      set('cpu', 'cpu.max', `${quotaMicros > 0 ? quotaMicros : 'max'} ${periodMicros}`);
    }
    if (memoryLimitBytes !== undefined && memoryLimitBytes !== 0)
      set('memory', 'memory.max', String(memoryLimitBytes));
    if (pidsLimit !== undefined) set('pids', 'pids.max', String(pidsLimit));
    for (const [size, limit] of hugePageLimits(values, this.#options)) {
      set('hugetlb', `hugetlb.${size}.max`, limit);
      const reserved = `hugetlb.${size}.rsvd.max`;
      if (existsSync(join(this.#path(name), reserved))) set('hugetlb', reserved, limit);
    }
  }

  read(name: string): CgroupState {
    const get = (file: string): string => readFileSync(join(this.#path(name), file), 'utf8').trim();
    const limit = (text = ''): number => (text === 'max' ? -1 : Number(text));
    return {
      cpuShares: sharesOfWeight(Number(get('cpu.weight'))),
      quotaMicros: limit(get('cpu.max').split(' ')[0]),
      memoryLimitBytes: limit(get('memory.max')),
      memoryUsageBytes: Number(get('memory.current')),
    };
  }

  children(name: string): readonly string[] {
    return foldersIn(this.#path(name));
  }

  processes(name: string): readonly number[] {
    return processesBelow(this.#path(name));
  }

  remove(name: string): void {
    removeFolders(this.#path(name));
  }

  #path(name: string): string {
    return join(this.#options.root, name);
  }

  #controllersOf(name: string): readonly string[] | undefined {
    try {
      return readFileSync(join(this.#path(name), 'cgroup.controllers'), 'utf8')
        .trim()
        .split(' ');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * A controller that cannot be enabled here must not hold back the others; the creator of the cgroup checks
   * what is missing.
   */
  #handDown(folder: string): void {
    const file = join(folder, 'cgroup.subtree_control');
    const has = new Set(readFileSync(file, 'utf8').trim().split(' '));
    const wanted = this.#controllers.filter((controller) => !has.has(controller));
    if (wanted.length === 0) return;
    try {
      writeFileSync(file, wanted.map((controller) => `+${controller}`).join(' '));
    } catch {
      for (const controller of wanted) {
        try {
          writeFileSync(file, `+${controller}`);
        } catch {
          // `missing` reports it where it matters.
        }
      }
    }
  }
}
