/** Cgroups by their names, made and changed by one of the two drivers. */
import type { CgroupGap, CgroupHierarchy, CgroupState } from './hierarchy.js';
import { type CgroupName, type CgroupNaming, cgroupfsNaming } from './names.js';
import type { CgroupValues } from './values.js';

/** Reads are synchronous: they are reads of kernel memory. Changes may go through systemd. */
export interface CgroupControl {
  readonly version: 1 | 2;
  readonly naming: CgroupNaming;
  /** What a cgroup lacks; undefined if it is complete. */
  gap(name: CgroupName): CgroupGap | undefined;
  /** Whether there is anything of the cgroup. */
  isThere(name: CgroupName): boolean;
  read(name: CgroupName): CgroupState;
  /** The last components of the names of the direct children. */
  children(name: CgroupName): readonly string[];
  processes(name: CgroupName): readonly number[];
  /** Makes the cgroup and its missing parents, without writing `values`. */
  create(name: CgroupName, values: CgroupValues): Promise<void>;
  update(name: CgroupName, values: CgroupValues): Promise<void>;
  /** Removes the cgroup if nothing runs in it and nothing is below it; false if something is left. */
  removeUnused?(name: CgroupName): boolean;
  /** Removes the cgroup and all below it; nothing may run in them. */
  remove(name: CgroupName): Promise<void>;
}

/** What both drivers read and write in the same way. */
export abstract class FileControl {
  readonly version: 1 | 2;

  constructor(
    protected readonly hierarchy: CgroupHierarchy,
    readonly naming: CgroupNaming,
  ) {
    this.version = hierarchy.version;
  }

  gap(name: CgroupName): CgroupGap | undefined {
    return this.hierarchy.gap(this.pathOf(name));
  }

  isThere(name: CgroupName): boolean {
    return this.hierarchy.isThere(this.pathOf(name));
  }

  read(name: CgroupName): CgroupState {
    return this.hierarchy.read(this.pathOf(name));
  }

  children(name: CgroupName): readonly string[] {
    const bases = this.hierarchy.children(this.pathOf(name));
    return bases.map((base) => this.naming.nameOf(base).at(-1) ?? '');
  }

  processes(name: CgroupName): readonly number[] {
    return this.hierarchy.processes(this.pathOf(name));
  }

  protected pathOf(name: CgroupName): string {
    return this.naming.pathOf(name);
  }
}

/** The driver `cgroupfs`: the agent makes directories and writes files itself. */
export class CgroupfsControl extends FileControl implements CgroupControl {
  constructor(hierarchy: CgroupHierarchy) {
    super(hierarchy, cgroupfsNaming);
  }

  async create(name: CgroupName, values: CgroupValues): Promise<void> {
    this.hierarchy.create(this.pathOf(name), values);
  }

  async update(name: CgroupName, values: CgroupValues): Promise<void> {
    this.hierarchy.write(this.pathOf(name), values);
  }

  removeUnused(name: CgroupName): boolean {
    return this.hierarchy.removeUnused(this.pathOf(name));
  }

  remove(name: CgroupName): Promise<void> {
    return this.hierarchy.remove(this.pathOf(name));
  }
}
