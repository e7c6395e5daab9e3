/** Reads cgroups when somebody asks, and remembers each reading for a moment so that neighbours in time share it. */
import path from 'node:path';
import { BoundedMap, type Clock } from '../../async/index.js';
import { type BlkioSet, blkioSetsOf } from './block-io.js';
import { type CgroupNumbers, type CgroupText, numbersOfV1, numbersOfV2, usageOf } from './cgroup.js';
import { type CgroupDetails, detailsOfV1, detailsOfV2 } from './cgroup-details.js';
import { CgroupListing } from './cgroup-listing.js';
import { type CgroupTrees, cgroupTrees, type StatsController } from './cgroup-trees.js';
import { KeptFiles } from './kept-files.js';
import type { KernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';
import type { CgroupUsage } from './machine.js';
import { type InterfaceCounters, interfaceCounters, memInfo, uptimeMs } from './machine-files.js';
import { openFilesLimit, ProcessCounts, type ProcessFigures, processIds } from './processes.js';

export interface CgroupSample {
  /** As the summary shows it; made when it is asked for. */
  readonly usage: CgroupUsage;
  readonly createdAtMs: number;
  readonly numbers: CgroupNumbers;
  /** When it was read. */
  readonly atMs: number;
}

export interface DetailedSample extends CgroupSample {
  readonly details: CgroupDetails;
  readonly processes: ProcessFigures;
  /** Whether the kernel tells stalls. */
  readonly hasPressure: boolean;
}

export interface CgroupSamplerOptions {
  readonly clock: Clock;
  readonly files: KernelFiles;
  /** Default: `/proc`. */
  readonly procRoot?: string | undefined;
  /** Default: `/sys/fs/cgroup`. */
  readonly cgroupRoot?: string | undefined;
}

/** A scrape and a summary in the same second read once. */
const sharedMs = 1_000;
const root = '/';

interface KeptSample {
  readonly readAt: number;
  sample: CgroupSample | DetailedSample;
}

export class CgroupSampler {
  readonly #clock: Clock;
  readonly #files: KernelFiles;
  readonly #procRoot: string;
  readonly #cgroupRoot: string;
  readonly #kept = new BoundedMap<string, KeptSample>({ maxEntries: statsLimits.cgroups });
  readonly #processes: ProcessCounts;
  readonly #listing: CgroupListing;
  #openFiles: KeptFiles | undefined;
  #trees: CgroupTrees | undefined;
  #blkioSets: readonly BlkioSet[] | undefined;
  #bootMs: number | undefined;
  /** When each cgroup was made; one that is gone may be made anew. */
  readonly #created = new BoundedMap<string, number>({ maxEntries: statsLimits.cgroups });

  constructor({ clock, files, procRoot = '/proc', cgroupRoot = '/sys/fs/cgroup' }: CgroupSamplerOptions) {
    this.#clock = clock;
    this.#files = files;
    this.#procRoot = procRoot;
    this.#cgroupRoot = cgroupRoot;
    this.#processes = new ProcessCounts({ clock, files, procRoot });
    this.#listing = new CgroupListing({ files, directoryOf: (cgroup) => this.#mainDirectory(cgroup) });
  }

  /** What the summary needs. Throws if there is no such cgroup. */
  sample(name: string): CgroupSample {
    const cgroup = pathOf(name);
    const kept = this.#kept.get(cgroup);
    if (kept !== undefined && this.#isFresh(kept)) return kept.sample;
    const read = this.#readerOf(cgroup);
    try {
      return this.#keep(cgroup, this.#sampleOf(cgroup, read));
    } catch (error) {
      this.#forget(cgroup);
      throw error;
    }
  }

  /** Everything; undefined if the cgroup is gone. */
  detailed(name: string): DetailedSample | undefined {
    const cgroup = pathOf(name);
    const kept = this.#kept.get(cgroup);
    if (kept !== undefined && this.#isFresh(kept) && 'details' in kept.sample) return kept.sample;
    const read = this.#readerOf(cgroup);
    try {
      const sample = kept !== undefined && this.#isFresh(kept) ? kept.sample : this.#sampleOf(cgroup, read);
      return this.#keep(cgroup, this.#withDetails(cgroup, sample, read));
    } catch {
      this.#forget(cgroup);
      return undefined;
    }
  }

  #forget(cgroup: string): void {
    this.#created.delete(cgroup);
    this.#processes.forget(cgroup);
    this.#listing.forget(cgroup);
    this.#openFiles?.close(cgroup);
  }

  /** No cgroup but these is read again soon. */
  settle(cgroups: ReadonlySet<string>): void {
    this.#openFiles?.closeExcept(cgroups);
  }

  /** Closes all files that were kept open; later readings keep none. */
  close(): void {
    this.#keptOpen.end();
  }

  /** The next readings are new ones. */
  expire(): void {
    this.#kept.clear();
  }

  isThere(name: string): boolean {
    const directory = this.#mainDirectory(pathOf(name));
    return directory !== undefined && this.#files.links(directory) !== undefined;
  }

  /** The processes of the cgroup itself. */
  pids(name: string): number[] {
    const directory = this.#tree.directory(pathOf(name), 'cpu');
    const text = directory === undefined ? undefined : this.#files.read(`${directory}/cgroup.procs`);
    return processIds(text ?? '');
  }

  /** What went through the network of a process; undefined if the process is gone. */
  network(pid: number): InterfaceCounters[] | undefined {
    const path = `${this.#procRoot}/${pid}/net/dev`;
    const short = this.#files.readCgroupFile(path);
    // Whoever owns the network names its interfaces, in any script.
    const text = short !== undefined && /[^\n -~]/.test(short) ? this.#files.read(path) : short;
    return text === undefined ? undefined : interfaceCounters(text);
  }

  /** The given cgroups and all below them that are there, level by level from the top, up to a limit. */
  list(tops: readonly string[]): string[] {
    return this.#listing.list(tops.map((top) => pathOf(top)));
  }

  #mainDirectory(cgroup: string): string | undefined {
    return this.#tree.directory(cgroup, 'memory') ?? this.#tree.directory(cgroup, 'cpu');
  }

  #isFresh({ readAt }: KeptSample): boolean {
    return this.#clock.monotonic() - readAt < sharedMs;
  }

  #keep<S extends CgroupSample | DetailedSample>(cgroup: string, sample: S): S {
    const kept = this.#kept.get(cgroup);
    const readAt = kept !== undefined && this.#isFresh(kept) ? kept.readAt : this.#clock.monotonic();
    this.#kept.set(cgroup, { readAt, sample });
    return sample;
  }

  #sampleOf(cgroup: string, read: (controller: StatsController) => CgroupText): CgroupSample {
    const atMs = this.#clock.now();
    const own =
      this.#tree.version === 2 ? numbersOfV2(read('memory')) : numbersOfV1(read('cpuacct'), read('memory'));
    const numbers = cgroup === root ? this.#withMachine(own) : own;
    const createdAtMs = this.#createdAtMs(cgroup);
    let usage: CgroupUsage | undefined;
    return {
      atMs,
      numbers,
      createdAtMs,
      get usage() {
        usage ??= { createdAtMs, ...usageOf(numbers, atMs) };
        return usage;
      },
    };
  }

  /** The machine limits the root. */
  #withMachine(own: CgroupNumbers): CgroupNumbers {
    const info = memInfo(this.#proc('meminfo') ?? '');
    const swapTotal = info.get('SwapTotal') ?? 0;
    const pressures = this.#tree.version === 2;
    const pressure = (kind: string): string | undefined =>
      pressures ? this.#proc(`pressure/${kind}`) : undefined;
    return {
      ...own,
      limitBytes: info.get('MemTotal'),
      swapUsageBytes: swapTotal - (info.get('SwapFree') ?? 0),
      swapLimitBytes: swapTotal,
      // Older kernels have these files below the root only.
      cpuPressure: own.cpuPressure ?? pressure('cpu'),
      memoryPressure: own.memoryPressure ?? pressure('memory'),
      ioPressure: own.ioPressure ?? pressure('io'),
    };
  }

  #withDetails(
    cgroup: string,
    sample: CgroupSample,
    read: (controller: StatsController) => CgroupText,
  ): DetailedSample {
    const isRoot = cgroup === root;
    const details =
      this.#tree.version === 2
        ? detailsOfV2(read('memory'), isRoot)
        : detailsOfV1(
            {
              cpu: read('cpu'),
              cpuacct: read('cpuacct'),
              memory: read('memory'),
              pids: read('pids'),
              blkio: read('blkio'),
            },
            isRoot,
            this.#blkio(),
          );
    const { cpuPressure, limitBytes = 0, swapLimitBytes = 0 } = sample.numbers;
    const pids = processIds(read('cpu')('cgroup.procs') ?? '');
    const spec = isRoot
      ? { ...details.spec, memoryLimitBytes: limitBytes, swapLimitBytes, reservationBytes: 0 }
      : details.spec;
    const { atMs, numbers, createdAtMs } = sample;
    return {
      atMs,
      numbers,
      createdAtMs,
      get usage() {
        return sample.usage;
      },
      // Without the controller the processes stand for their threads.
      details: { ...details, spec, threads: details.threads || (isRoot ? 0 : pids.length) },
      processes: this.#processes.of(
        { cgroup, pids, firstPid: isRoot ? 1 : pids[0], cpuNanoSeconds: numbers.usageCoreNanoSeconds },
        (file) => this.#keptOpen.ofProcess(cgroup, file),
      ),
      hasPressure: this.#tree.version === 2 && cpuPressure !== undefined,
    };
  }

  #blkio(): readonly BlkioSet[] {
    this.#blkioSets ??= blkioSetsOf(this.#readerOf(root)('blkio'));
    return this.#blkioSets;
  }

  get #keptOpen(): KeptFiles {
    if (this.#openFiles === undefined) {
      const ofProcess = openFilesLimit(this.#proc('self/limits') ?? '') ?? -1;
      // Most of what the agent may have open is for others.
      const share = ofProcess < 0 ? statsLimits.keptFiles : Math.floor(ofProcess / 4);
      const limit = Math.min(share, statsLimits.keptFiles);
      this.#openFiles = new KeptFiles({ clock: this.#clock, files: this.#files, limit });
    }
    return this.#openFiles;
  }

  /** The files of a cgroup, each read once. */
  #readerOf(cgroup: string): (controller: StatsController) => CgroupText {
    const readIn = this.#keptOpen.of(cgroup);
    const byDirectory = new Map<string, CgroupText>();
    return (controller) => {
      const directory = this.#tree.directory(cgroup, controller);
      if (directory === undefined) return () => undefined;
      const known = byDirectory.get(directory);
      if (known !== undefined) return known;
      const texts = new Map<string, string | undefined>();
      const read: CgroupText = (file) => {
        if (texts.has(file)) return texts.get(file);
        const text = readIn(directory, file);
        texts.set(file, text);
        return text;
      };
      byDirectory.set(directory, read);
      return read;
    };
  }

  /** Directories and files have the time of the cgroup's making, or a later one; but none before the start of the machine. */
  #createdAtMs(cgroup: string): number {
    const known = this.#created.get(cgroup);
    if (known !== undefined) return known;
    const places =
      this.#tree.version === 2
        ? this.#directories(cgroup).flatMap((directory) => [directory, `${directory}/cgroup.events`])
        : this.#directories(cgroup).map((directory) => `${directory}/cgroup.clone_children`);
    const times = places.flatMap((place) => this.#files.modifiedMs(place) ?? []);
    if (times.length === 0) return 0;
    const createdAtMs = Math.max(Math.min(...times), this.#startOfMachine());
    this.#created.set(cgroup, createdAtMs);
    return createdAtMs;
  }

  #startOfMachine(): number {
    const minuteMs = 60_000;
    this.#bootMs ??= this.#clock.now() - (uptimeMs(this.#proc('uptime') ?? '') ?? this.#clock.now());
    return Math.floor(this.#bootMs / minuteMs) * minuteMs;
  }

  #directories(cgroup: string): string[] {
    return this.#tree.roots.map((top) => path.join(top, cgroup));
  }

  #proc(name: string): string | undefined {
    return this.#files.read(path.join(this.#procRoot, name));
  }

  get #tree(): CgroupTrees {
    this.#trees ??= cgroupTrees(this.#files, this.#cgroupRoot, this.#procRoot);
    return this.#trees;
  }
}

/** As it is shown: from the root, without a slash at the end. */
function pathOf(name: string): string {
  if (name.startsWith('/') && !/\/\.|\/\/|.\/$/.test(name)) return name;
  const joined = path.posix.join(root, name);
  return joined === root ? root : joined.replace(/\/$/, '');
}
