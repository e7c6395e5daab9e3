/** The file source: the pods of a manifest directory, or of one manifest file, followed as they change. */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Channel, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { quietMs, readLimited, watchPath } from './path-watch.js';
import { type PodSource, ProblemReports, type SourceContext } from './source.js';
import { readManifest } from './static-pod.js';

export interface FileSourceOptions extends SourceContext {
  readonly path: string;
  /** How often everything is reread, in case a notification was missed. */
  readonly checkPeriodMs: number;
}

/**
 * This many pods are delivered first, then twice as many each time, so that pods start while others are read.
 */
const firstBatch = 4;

interface StoredPod {
  readonly pod: Pod;
  readonly file: string;
}

export class FileSource implements PodSource {
  readonly #options: FileSourceOptions;
  readonly #path: string;
  readonly #reports: ProblemReports;
  /** By namespace/name, from the last full read and the changes since. */
  readonly #store = new Map<string, StoredPod>();
  /** Reported pods that several files define. */
  readonly #duplicates = new Set<string>();
  readonly #changed = new Set<string>();
  /** How often files came or went since they were last read. */
  readonly #renames = new Map<string, number>();
  readonly #wake = new Channel<void>(1);
  #listDue = true;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = options.path.replace(/(?<=.)\/+$/, '');
    this.#reports = new ProblemReports(options.timeline, 'manifest');
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) => this.#reports.report(task, error, 'the directory is still read periodically'),
    });
    tasks.start('watching for changed manifests', (stop) =>
      watchPath(
        {
          path: this.#path,
          clock: this.#options.clock,
          onChange: (file) => this.#noteChange(file),
          onRename: (file) => this.#renames.set(file, (this.#renames.get(file) ?? 0) + 1),
          onProblem: (place, error) =>
            this.#reports.report(place, error, 'the directory is still read periodically'),
        },
        stop,
      ),
    );
    tasks.start('reading manifests periodically', (stop) => this.#tick(stop));
    try {
      for (;;) {
        await this.#handle(signal);
        const woken = await this.#wake.receive(signal);
        if (woken.done) return;
        await sleep(this.#options.clock, quietMs, signal);
        this.#wake.tryReceive();
      }
    } finally {
      await tasks.stop();
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, this.#options.checkPeriodMs, signal);
      this.#noteChange();
    }
  }

  #noteChange(file?: string): void {
    if (file === undefined) this.#listDue = true;
    else this.#changed.add(file);
    this.#wake.trySend();
  }

  async #handle(signal: AbortSignal): Promise<void> {
    const listDue = this.#listDue;
    const changed = [...this.#changed];
    const recreated = [...this.#renames].filter(([, renames]) => renames > 1).map(([file]) => file);
    this.#listDue = false;
    this.#changed.clear();
    this.#renames.clear();
    try {
      if (this.#removeFrom(recreated)) await this.#deliver(signal);
      if (listDue) await this.#list(signal);
      else if (changed.length > 0) await this.#applyChanges(changed, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#reports.report(this.#path, error, 'the pods read before are kept');
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const info = await stat(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new Error(`cannot read ${this.#path}: ${error.message}`, { cause: error });
    });
    if (info === undefined) {
      this.#reports.report(
        this.#path,
        `${this.#path}: path does not exist, ignoring`,
        'no pod comes from there until it exists',
      );
      await this.#replace([], signal);
      return;
    }
    if (info.isFile()) {
      const pod = await this.#read(this.#path);
      this.#reports.clear(this.#path);
      await this.#replace([{ pod, file: this.#path }], signal);
    } else if (info.isDirectory()) {
      await this.#listDirectory(signal);
    } else {
      throw new Error(`${this.#path}: path is not a directory or file`);
    }
  }

  async #listDirectory(signal: AbortSignal): Promise<void> {
    const names = (await readdir(this.#path)).filter((name) => !name.startsWith('.')).sort();
    this.#reports.clear(this.#path);
    const pods: StoredPod[] = [];
    const places = new Set([this.#path, ...this.#duplicates]);
    for (const name of names) {
      const file = path.join(this.#path, name);
      places.add(file);
      const pod = await this.#readListed(file);
      if (pod !== undefined) pods.push({ pod, file });
    }
    this.#reports.keepOnly(places);
    await this.#replace(pods, signal);
  }

  async #readListed(file: string, known?: Stats): Promise<Pod | undefined> {
    try {
      const info = known ?? (await stat(file));
      if (!info.isFile()) {
        this.#reports.report(
          file,
          `${file}: not a regular file, skipped`,
          'only files directly in the directory are read',
        );
        return undefined;
      }
      const pod = await this.#read(file);
      this.#reports.clear(file);
      return pod;
    } catch (error) {
      this.#reports.report(file, error, 'this manifest is skipped; the other pods go on');
      return undefined;
    }
  }

  /**
   * Reads only the changed files. A file that became invalid keeps its pod until the next full read. Of many
   * new files the first pods are delivered while the others are still being read.
   */
  async #applyChanges(files: readonly string[], signal: AbortSignal): Promise<void> {
    let undelivered = false;
    let removed = false;
    let deliverAt = firstBatch;
    for (const [index, file] of files.entries()) {
      const info = await stat(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw new Error(`cannot read ${file}: ${error.message}`, { cause: error });
      });
      if (info === undefined) {
        removed = this.#removeFrom([file]) || removed;
        continue;
      }
      const pod = await this.#readListed(file, info);
      if (pod === undefined) continue;
      this.#put({ pod, file });
      undelivered = true;
      // A pod gone from one file may be in the next: only the end shows that it moved.
      if (index + 1 < deliverAt || removed) continue;
      await this.#deliver(signal);
      undelivered = false;
      deliverAt *= 2;
    }
    if (undelivered || removed) await this.#deliver(signal);
  }

  /**
   * Whether any pods came from the files. A file that was removed and written again before it was read makes
   * its pod start over, even with the same content: the file came and went. One replaced by a rename only
   * came.
   */
  #removeFrom(files: readonly string[]): boolean {
    let removed = false;
    for (const [key, { file }] of this.#store) {
      if (files.includes(file)) removed = this.#store.delete(key) || removed;
    }
    return removed;
  }

  async #replace(pods: readonly StoredPod[], signal: AbortSignal): Promise<void> {
    this.#store.clear();
    const before = new Set(this.#duplicates);
    this.#duplicates.clear();
    for (const stored of pods) this.#put(stored);
    for (const key of before) if (!this.#duplicates.has(key)) this.#reports.clear(key);
    await this.#deliver(signal);
  }

  #put(stored: StoredPod): void {
    const key = `${stored.pod.metadata.namespace}/${stored.pod.metadata.name}`;
    const other = this.#store.get(key);
    if (other !== undefined && other.file !== stored.file) {
      const [loser, winner] = [other.file, stored.file].sort();
      const place = `pod ${key}`;
      this.#duplicates.add(place);
      this.#reports.report(
        place,
        `${loser}: pod ${key} is also defined by ${winner}; give one of them another name or namespace`,
        'the file whose name sorts last wins',
      );
      if (winner === other.file) return;
    }
    this.#store.set(key, stored);
  }

  #deliver(signal: AbortSignal): Promise<void> {
    return this.#options.deliver(
      { source: 'file', pods: [...this.#store.values()].map(({ pod }) => pod) },
      signal,
    );
  }

  async #read(file: string): Promise<Pod> {
    const text = readLimited(file);
    const { pods, warnings } = readManifest(text, { kind: 'file', path: file }, this.#options.pods);
    this.#reports.warn(file, warnings);
    const [pod] = pods;
    if (pod === undefined) throw new Error(`${file}: no pod in it`);
    return pod;
  }
}
