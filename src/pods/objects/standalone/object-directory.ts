/** Follows a directory of manifests, or one manifest file, and keeps a store's objects up to date with it. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Channel, type Clock, isCancelled, sleep, TaskGroup } from '../../../async/index.js';
import type { Timeline } from '../../../timeline/index.js';
import { quietMs, readLimited, watchPath } from '../../sources/path-watch.js';
import { ProblemReports } from '../../sources/source.js';
import { identities, type ObjectSet } from './object-index.js';
import { readObjects } from './read-objects.js';
import type { StandaloneObjects } from './standalone-objects.js';

export interface ObjectDirectoryOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly objects: StandaloneObjects;
  /** How often everything is reread, in case a notification was missed. */
  readonly checkPeriodMs: number;
  /** The total size of all files; the rest is ignored. Default 64 MiB. */
  readonly directoryLimitBytes?: number;
}

const defaultDirectoryLimitBytes = 64 * 1024 * 1024;

interface KnownFile {
  /** The digest of the last text read. */
  readonly digest: string;
  readonly objects: ObjectSet;
}

export class ObjectDirectory {
  readonly #options: ObjectDirectoryOptions;
  readonly #path: string;
  readonly #reports: ProblemReports;
  readonly #known = new Map<string, KnownFile>();
  readonly #wake = new Channel<void>(1);

  constructor(options: ObjectDirectoryOptions) {
    this.#options = options;
    this.#path = options.path.replace(/(?<=.)\/+$/, '');
    this.#reports = new ProblemReports(options.timeline, 'objects');
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, objects } = this.#options;
    const periodically = 'the directory is still read periodically';
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) => this.#reports.report(task, error, periodically),
    });
    tasks.start('watching for changed objects', (stop) =>
      watchPath(
        {
          path: this.#path,
          clock,
          onChange: () => void this.#wake.trySend(),
          onProblem: (place, error) => this.#reports.report(place, error, periodically),
        },
        stop,
      ),
    );
    tasks.start('reading objects periodically', (stop) => this.#tick(stop));
    try {
      for (;;) {
        await this.#readAll();
        objects.markRead();
        const woken = await this.#wake.receive(signal);
        if (woken.done) return;
        await sleep(clock, quietMs, signal);
        this.#wake.tryReceive();
      }
    } finally {
      await tasks.stop();
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, this.#options.checkPeriodMs, signal);
      this.#wake.trySend();
    }
  }

  async #readAll(): Promise<void> {
    try {
      const files = await this.#list();
      this.#reports.clear(this.#path);
      this.#forgetOthers(new Set(files));
      let bytes = 0;
      for (const file of files) bytes += await this.#readFile(file, bytes);
      this.#reportTwins();
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#reports.report(this.#path, error, 'the objects read before are kept');
    }
  }

  /** Empty for a missing directory. */
  async #list(): Promise<string[]> {
    let info: Awaited<ReturnType<typeof stat>>;
    try {
      info = await stat(this.#path);
    } catch (error) {
      // Node's own file errors carry a code.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
    if (!info.isDirectory()) return [this.#path];
    const names = (await readdir(this.#path)).filter((name) => !name.startsWith('.')).sort();
    return names.map((name) => path.join(this.#path, name));
  }

  /** Returns the file's size in bytes. An invalid file keeps its earlier objects. */
  async #readFile(file: string, bytesBefore: number): Promise<number> {
    const { timeline, objects, directoryLimitBytes = defaultDirectoryLimitBytes } = this.#options;
    try {
      const info = await stat(file);
      if (!info.isFile())
        throw new Error(`${file}: not a regular file, skipped; put the manifest itself there`);
      if (bytesBefore + info.size > directoryLimitBytes) {
        throw new Error(
          `${file}: with it, the files in ${this.#path} have more than ${directoryLimitBytes} bytes; remove some`,
        );
      }
      const text = readLimited(file);
      const digest = createHash('sha256').update(text).digest('hex');
      if (this.#known.get(file)?.digest !== digest) {
        const read = readObjects(text, file);
        this.#reports.warn(file, read.warnings);
        this.#known.set(file, { digest, objects: read.objects });
        objects.set(file, read.objects);
        timeline.record({
          kind: 'observation',
          what: 'objects.read',
          message: `${file} gives ${identities(read.objects).map(describe).join(', ') || 'nothing'}`,
          because: 'the file is new or changed',
          level: 'info',
        });
      }
      this.#reports.clear(file);
      return info.size;
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#reports.report(file, error, 'its earlier objects are kept; the other files are read');
      return 0;
    }
  }

  #forgetOthers(files: ReadonlySet<string>): void {
    for (const file of this.#known.keys()) {
      if (files.has(file)) continue;
      this.#known.delete(file);
      this.#options.objects.remove(file);
    }
    this.#reports.keepOnly(new Set([...files, this.#path, ...this.#twins]));
  }

  readonly #twins = new Set<string>();

  #reportTwins(): void {
    const owners = new Map<string, string>();
    const before = new Set(this.#twins);
    this.#twins.clear();
    for (const [file, { objects }] of [...this.#known].sort(([a], [b]) => (a < b ? -1 : 1))) {
      for (const name of identities(objects).map(describe)) {
        const other = owners.get(name);
        owners.set(name, file);
        if (other === undefined) continue;
        this.#twins.add(name);
        const message = `${other}: ${name} is also defined by ${file}; give one of them another name or namespace`;
        this.#reports.report(name, message, 'the file whose name sorts last wins');
      }
    }
    for (const name of before) if (!this.#twins.has(name)) this.#reports.clear(name);
  }
}

function describe({ kind, namespace, name }: ReturnType<typeof identities>[number]): string {
  return namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
