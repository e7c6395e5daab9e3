/** Where the files of a cgroup are: in one tree with version 2, in one for each controller with version 1. */
import path from 'node:path';
import { controllerMounts } from '../cgroups/index.js';
import type { KernelFiles } from './kernel-files.js';

export type CgroupVersion = 1 | 2;

/** The controllers of version 1 that statistics are read from. */
export type StatsController = 'cpu' | 'cpuacct' | 'memory' | 'blkio' | 'pids';
const controllers: readonly StatsController[] = ['cpu', 'cpuacct', 'memory', 'blkio', 'pids'];

export interface CgroupTrees {
  readonly version: CgroupVersion;
  /** The directory of a cgroup; undefined where the machine lacks the controller. */
  directory(name: string, controller: StatsController): string | undefined;
  /** The roots of all trees. */
  readonly roots: readonly string[];
}

export function cgroupTrees(files: KernelFiles, cgroupRoot: string, procRoot: string): CgroupTrees {
  if (files.modifiedMs(path.join(cgroupRoot, 'cgroup.controllers')) !== undefined) {
    return { version: 2, roots: [cgroupRoot], directory: (name) => below(cgroupRoot, name) };
  }
  const mounts = controllerMounts(files.read(path.join(procRoot, 'self/mountinfo')) ?? '');
  const isBelow = (place: string): boolean => place === cgroupRoot || place.startsWith(`${cgroupRoot}/`);
  const roots = new Map<StatsController, string>();
  for (const controller of controllers) {
    const mount = mounts.find((each) => each.controllers.includes(controller) && isBelow(each.path))?.path;
    const usual = path.join(cgroupRoot, controller);
    const root = mount ?? (files.modifiedMs(usual) === undefined ? undefined : usual);
    if (root !== undefined) roots.set(controller, root);
  }
  return {
    version: 1,
    roots: [...new Set(roots.values())],
    directory: (name, controller) => {
      const root = roots.get(controller);
      return root === undefined ? undefined : below(root, name);
    },
  };
}

/** Names begin with a slash; that of the root has nothing after it. */
function below(root: string, name: string): string {
  return name === '/' ? root : root + name;
}
