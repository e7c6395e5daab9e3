/** Keeps files of cgroups open from one reading to the next: to open one costs several times what it costs to read it. */
import type { Clock, Timer } from '../../async/index.js';
import type { KeptFile, KernelFiles } from './kernel-files.js';

export interface KeptFilesOptions {
  readonly clock: Clock;
  readonly files: Pick<KernelFiles, 'keep' | 'readCgroupFile'>;
  /** Files that are open at the same time; those beyond it are opened for each reading. */
  readonly limit: number;
}

/** A cgroup that nobody has read for so long has its files closed. */
const unusedMs = 2 * 60_000;

interface KeptCgroup {
  usedAt: number;
  /** By directory and name. */
  readonly files: Map<string, Map<string, KeptFile>>;
  /** Of one of its processes. */
  ofProcess: { readonly path: string; readonly file: KeptFile } | undefined;
}

export class KeptFiles {
  readonly #options: KeptFilesOptions;
  readonly #cgroups = new Map<string, KeptCgroup>();
  #limit: number;
  #open = 0;
  #timer: Timer | undefined;

  constructor(options: KeptFilesOptions) {
    this.#options = options;
    this.#limit = options.limit;
  }

  /** How many are open. */
  get size(): number {
    return this.#open;
  }

  /** Gives what reads the files of a cgroup; it is for one reading, and not kept. */
  of(cgroup: string): (directory: string, file: string) => string | undefined {
    const { clock, files } = this.#options;
    let kept = this.#cgroups.get(cgroup);
    if (kept === undefined) {
      if (this.#open >= this.#limit) return (directory, file) => files.readCgroupFile(`${directory}/${file}`);
      kept = { usedAt: 0, files: new Map(), ofProcess: undefined };
      this.#cgroups.set(cgroup, kept);
    }
    kept.usedAt = clock.monotonic();
    this.#timer ??= clock.setTimer(unusedMs, () => this.#closeUnused());
    const { files: directories } = kept;
    return (directory, file) => this.#read(directories, directory, file);
  }

  #read(directories: KeptCgroup['files'], directory: string, file: string): string | undefined {
    const { files } = this.#options;
    let open = directories.get(directory);
    if (open === undefined) {
      open = new Map();
      directories.set(directory, open);
    }
    const known = open.get(file);
    const text = known?.read();
    if (text !== undefined) return text;
    // The cgroup is gone. There may be another one in its place.
    if (known !== undefined) this.#close(open, file, known);
    const path = `${directory}/${file}`;
    if (this.#open >= this.#limit) return files.readCgroupFile(path);
    const opened = files.keep(path);
    if (opened === undefined) return undefined;
    open.set(file, opened);
    this.#open++;
    return opened.read();
  }

  /** Reads a file of a process in the cgroup; the file of only one process of each cgroup stays open. */
  ofProcess(cgroup: string, path: string): string | undefined {
    const { files } = this.#options;
    const kept = this.#cgroups.get(cgroup);
    const text = kept?.ofProcess?.path === path ? kept.ofProcess.file.read() : undefined;
    if (text !== undefined) return text;
    if (kept !== undefined) this.#closeProcess(kept);
    if (kept === undefined || this.#open >= this.#limit) return files.readCgroupFile(path);
    const file = files.keep(path);
    if (file === undefined) return undefined;
    kept.ofProcess = { path, file };
    this.#open++;
    return file.read();
  }

  #closeProcess(kept: KeptCgroup): void {
    if (kept.ofProcess === undefined) return;
    kept.ofProcess.file.close();
    kept.ofProcess = undefined;
    this.#open--;
  }

  /** The cgroup is gone. */
  close(cgroup: string): void {
    const kept = this.#cgroups.get(cgroup);
    if (kept === undefined) return;
    for (const open of kept.files.values()) {
      for (const [file, each] of open) this.#close(open, file, each);
    }
    this.#closeProcess(kept);
    this.#cgroups.delete(cgroup);
    if (this.#cgroups.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Closes those of all other cgroups. */
  closeExcept(cgroups: ReadonlySet<string>): void {
    for (const cgroup of [...this.#cgroups.keys()]) if (!cgroups.has(cgroup)) this.close(cgroup);
  }

  /** Closes all, and keeps none from now on. */
  end(): void {
    this.#limit = 0;
    this.closeExcept(new Set());
  }

  #closeUnused(): void {
    const { clock } = this.#options;
    this.#timer = undefined;
    const now = clock.monotonic();
    for (const [cgroup, { usedAt }] of [...this.#cgroups]) {
      if (now - usedAt >= unusedMs) this.close(cgroup);
    }
    if (this.#cgroups.size > 0) this.#timer = clock.setTimer(unusedMs, () => this.#closeUnused());
  }

  #close(open: Map<string, KeptFile>, file: string, kept: KeptFile): void {
    open.delete(file);
    this.#open--;
    kept.close();
  }
}
