/** A directory tree that behaves like the kernel's cgroup mounts, for tests of what writes to them. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { type CgroupFiles, kernelCgroupFiles } from './cgroup-files.js';
import type { ControllerMount } from './v1-mounts.js';

const files = kernelCgroupFiles;

/** The files that each controller adds to a cgroup of version 2, as they are in a new one. */
const v2Files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cpu: { 'cpu.weight': '100', 'cpu.max': 'max 100000' },
  cpuset: { 'cpuset.cpus': '' },
  memory: {
    'memory.max': 'max',
    'memory.min': '0',
    'memory.low': '0',
    'memory.high': 'max',
    'memory.current': '0',
    'memory.swap.max': 'max',
    'memory.swap.current': '0',
    'memory.stat': '',
    'memory.events': '',
  },
  pids: { 'pids.max': 'max', 'pids.current': '0' },
  hugetlb: {
    'hugetlb.2MB.max': 'max',
    'hugetlb.2MB.rsvd.max': 'max',
    'hugetlb.1GB.max': 'max',
    'hugetlb.1GB.rsvd.max': 'max',
  },
  io: { 'io.stat': '' },
};

const v1Files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cpu: { 'cpu.shares': '1024', 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '-1' },
  cpuset: { 'cpuset.cpus': '', 'cpuset.mems': '' },
  memory: {
    'memory.limit_in_bytes': '9223372036854771712',
    'memory.memsw.limit_in_bytes': '9223372036854771712',
    'memory.usage_in_bytes': '0',
    'memory.max_usage_in_bytes': '0',
  },
  pids: { 'pids.max': 'max' },
  hugetlb: {
    'hugetlb.2MB.limit_in_bytes': '0',
    'hugetlb.2MB.rsvd.limit_in_bytes': '0',
    'hugetlb.1GB.limit_in_bytes': '0',
    'hugetlb.1GB.rsvd.limit_in_bytes': '0',
  },
};

export class TestTree implements CgroupFiles {
  readonly root: string;
  /** Every write in order, as `path=value` from the root. */
  readonly writes: string[] = [];
  /** May throw to refuse a change, by the path from the root. */
  refuse: (action: 'write' | 'make' | 'remove', path: string, text: string) => void = () => {};
  readonly #v2Controllers: readonly string[] | undefined;

  private constructor(v2Controllers?: readonly string[]) {
    this.root = mkdtempSync(join(tmpdir(), 'nodelet-cgroups-'));
    this.#v2Controllers = v2Controllers;
  }

  static v2(controllers = ['cpuset', 'cpu', 'io', 'memory', 'hugetlb', 'pids']): TestTree {
    const tree = new TestTree(controllers);
    tree.put('cgroup.controllers', controllers.join(' '));
    tree.put('cgroup.subtree_control', '');
    tree.put('cgroup.procs', '');
    return tree;
  }

  /** One mount for each name; `cpu,cpuacct` is one mount of two controllers. */
  static v1(mounts: readonly string[]): TestTree {
    const tree = new TestTree();
    for (const mount of mounts) {
      mkdirSync(join(tree.root, mount));
      tree.#fill(join(tree.root, mount));
    }
    if (mounts.includes('cpuset')) {
      tree.put('cpuset/cpuset.cpus', '0-1');
      tree.put('cpuset/cpuset.mems', '0');
    }
    return tree;
  }

  /** The root of each hierarchy. */
  get roots(): string[] {
    return this.#v2Controllers === undefined ? this.mounts.map(({ path }) => path) : [this.root];
  }

  get mounts(): ControllerMount[] {
    return readdirSync(this.root).map((name) => ({
      path: join(this.root, name),
      controllers: name === 'unified' ? [] : name.split(','),
    }));
  }

  put(path: string, text: string): void {
    writeFileSync(join(this.root, path), text);
  }

  text(path: string): string {
    return files.read(join(this.root, path));
  }

  filesIn(path: string): string[] {
    const entries = readdirSync(join(this.root, path), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  }

  destroy(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  read(path: string): string {
    return files.read(path);
  }

  write(path: string, text: string): void {
    const shown = relative(this.root, path);
    this.refuse('write', shown, text);
    this.writes.push(`${shown}=${text}`);
    if (basename(path) === 'cgroup.subtree_control') this.#handDown(path, text);
    else files.write(path, basename(path) === 'cgroup.procs' ? `${files.read(path)}${text}\n` : text);
  }

  makeDirectory(path: string): boolean {
    this.refuse('make', relative(this.root, path), '');
    const isNew = files.makeDirectory(path);
    if (isNew) this.#fill(path);
    return isNew;
  }

  /** The kernel removes the files of a cgroup itself, and keeps one with processes or children. */
  removeDirectory(path: string): void {
    if (!files.isDirectory(path)) throw kernelError('ENOENT');
    this.refuse('remove', relative(this.root, path), '');
    if (files.read(join(path, 'cgroup.procs')) !== '' || files.directoriesIn(path).length > 0)
      throw kernelError('EBUSY');
    rmSync(path, { recursive: true });
  }

  isDirectory(path: string): boolean {
    return files.isDirectory(path);
  }

  directoriesIn(path: string): readonly string[] {
    return files.directoriesIn(path);
  }

  #fill(directory: string): void {
    const put = (file: string, text: string): void => writeFileSync(join(directory, file), text);
    put('cgroup.procs', '');
    if (this.#v2Controllers === undefined) {
      const mount = relative(this.root, directory).split('/')[0] ?? '';
      for (const controller of mount.split(','))
        for (const [file, text] of Object.entries(v1Files[controller] ?? {})) put(file, text);
      return;
    }
    put('cgroup.type', 'domain');
    put('cgroup.events', 'populated 0');
    put('cgroup.controllers', '');
    put('cgroup.subtree_control', '');
    for (const controller of this.#enabledIn(dirname(directory))) this.#add(directory, controller);
  }

  #enabledIn(directory: string): string[] {
    const text = files.read(join(directory, 'cgroup.subtree_control'));
    return text.split(' ').filter((name) => name !== '');
  }

  #add(directory: string, controller: string): void {
    const file = join(directory, 'cgroup.controllers');
    const has = files
      .read(file)
      .split(' ')
      .filter((name) => name !== '');
    if (has.includes(controller)) return;
    writeFileSync(file, [...has, controller].join(' '));
    for (const [name, text] of Object.entries(v2Files[controller] ?? {}))
      writeFileSync(join(directory, name), text);
  }

  #handDown(path: string, text: string): void {
    const directory = dirname(path);
    const offered = files.read(join(directory, 'cgroup.controllers')).split(' ');
    const wanted = text.split(' ').map((part) => part.slice(1));
    if (wanted.some((controller) => !offered.includes(controller))) throw kernelError('ENOENT');
    writeFileSync(path, [...new Set([...this.#enabledIn(directory), ...wanted])].join(' '));
    for (const child of files.directoriesIn(directory))
      for (const controller of wanted) this.#add(join(directory, child), controller);
  }
}

export function kernelError(code: string): Error {
  return Object.assign(new Error(`${code}: refused`), { code });
}
