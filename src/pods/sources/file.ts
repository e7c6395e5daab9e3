/** The file source: the pods of a folder of manifests, or of one manifest file, followed as they change. */
import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Channel, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { manifestLimitBytes, type PodSource, ProblemReports, type SourceContext } from './source.js';
import { readManifest } from './static-pod.js';

export interface FileSourceOptions extends SourceContext {
  readonly path: string;
  /** How often everything is read again, in case a notification was missed. */
  readonly checkPeriodMs: number;
}

/** A change is acted on after this much quiet, so that a file is not read while it is still being written. */
const quietMs = 25;
const watchRetryMs = 1_000;
const watchRetryMaxMs = 20_000;

interface StoredPod {
  readonly pod: Pod;
  readonly file: string;
}

export class FileSource implements PodSource {
  readonly #options: FileSourceOptions;
  readonly #path: string;
  readonly #reports: ProblemReports;
  /** By namespace/name, as the last complete reading and the changes since gave them. */
  readonly #store = new Map<string, StoredPod>();
  /** Pods that several files define, as reported. */
  readonly #duplicates = new Set<string>();
  readonly #changed = new Set<string>();
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
      onError: (task, error) => this.#reports.report(task, error, 'the folder is still read periodically'),
    });
    tasks.start('watching for changed manifests', (stop) => this.#watch(stop));
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
      this.#requestList();
    }
  }

  #requestList(): void {
    this.#listDue = true;
    this.#wake.trySend();
  }

  async #handle(signal: AbortSignal): Promise<void> {
    const listDue = this.#listDue;
    const changed = [...this.#changed];
    this.#listDue = false;
    this.#changed.clear();
    try {
      if (listDue) await this.#list(signal);
      else if (changed.length > 0) await this.#applyChanges(changed, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#reports.report(this.#path, error, 'the pods read before stay as they are');
    }
  }

  /** Reads everything. */
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
      await this.#listFolder(signal);
    } else {
      throw new Error(`${this.#path}: path is not a directory or file`);
    }
  }

  async #listFolder(signal: AbortSignal): Promise<void> {
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

  async #readListed(file: string): Promise<Pod | undefined> {
    try {
      const info = await stat(file);
      if (!info.isFile()) {
        this.#reports.report(
          file,
          `${file}: not a regular file, skipped`,
          'only files directly in the folder are read',
        );
        return undefined;
      }
      const pod = await this.#read(file);
      this.#reports.clear(file);
      return pod;
    } catch (error) {
      this.#reports.report(file, error, 'this manifest is left out; the other pods go on');
      return undefined;
    }
  }

  /** Reads only the files that were told to have changed. A file that is wrong now keeps its pod until the next full reading. */
  async #applyChanges(files: readonly string[], signal: AbortSignal): Promise<void> {
    let changed = false;
    for (const file of files) {
      const info = await stat(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw new Error(`cannot read ${file}: ${error.message}`, { cause: error });
      });
      if (info === undefined) {
        for (const [key, stored] of this.#store) {
          if (stored.file === file) changed = this.#store.delete(key) || changed;
        }
        continue;
      }
      const pod = await this.#readListed(file);
      if (pod === undefined) continue;
      this.#put({ pod, file });
      changed = true;
    }
    if (changed) await this.#deliver(signal);
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
    const text = await readLimited(file);
    const { pods, warnings } = readManifest(text, { kind: 'file', path: file }, this.#options.pods);
    this.#reports.warn(file, warnings);
    const [pod] = pods;
    if (pod === undefined) throw new Error(`${file}: no pod in it`);
    return pod;
  }

  /** Keeps a watch on the folder; while that cannot be had, the periodic reading is what remains. */
  async #watch(signal: AbortSignal): Promise<void> {
    let delayMs = watchRetryMs;
    for (;;) {
      const outcome = await this.#watchOnce(signal);
      this.#requestList();
      delayMs = outcome === 'failed' ? Math.min(delayMs * 2, watchRetryMaxMs) : watchRetryMs;
      await sleep(this.#options.clock, delayMs, signal);
    }
  }

  async #watchOnce(signal: AbortSignal): Promise<'missing' | 'ended' | 'failed'> {
    const info = await stat(this.#path).catch(() => undefined);
    if (info === undefined) return 'missing';
    // A single file is watched through its folder, as editors replace files instead of rewriting them.
    const folder = info.isDirectory() ? this.#path : path.dirname(this.#path);
    const only = info.isDirectory() ? undefined : path.basename(this.#path);
    return new Promise((resolve) => {
      let watcher: FSWatcher;
      const end = (outcome: 'ended' | 'failed'): void => {
        signal.removeEventListener('abort', onAbort);
        watcher?.close();
        resolve(outcome);
      };
      const onAbort = (): void => end('ended');
      try {
        watcher = watch(folder, { persistent: false });
      } catch (error) {
        this.#reports.report(`watch ${folder}`, error, 'the folder is still read periodically');
        resolve('failed');
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) {
        end('ended');
        return;
      }
      watcher.on('error', (error) => {
        this.#reports.report(`watch ${folder}`, error, 'the folder is still read periodically');
        end('failed');
      });
      watcher.on('change', (_kind, name) => {
        const base = String(name ?? '');
        // The folder's own removal is told with its own name.
        if (base === path.basename(folder) && only === undefined) {
          stat(folder).then(
            ({ ino }) => ino === info.ino || end('ended'),
            () => end('ended'),
          );
        }
        if (base.startsWith('.') || (only !== undefined && base !== only)) return;
        if (only !== undefined) this.#listDue = true;
        else this.#changed.add(path.join(folder, base));
        this.#wake.trySend();
      });
      // What changed before the watch stood would be missed otherwise.
      this.#requestList();
    });
  }
}

async function readLimited(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    if (size >= manifestLimitBytes) {
      throw new Error(
        `${file}: it has ${size} bytes; a manifest must be smaller than ${manifestLimitBytes} bytes`,
      );
    }
    const text = await handle.readFile('utf8');
    if (Buffer.byteLength(text) >= manifestLimitBytes) {
      throw new Error(`${file}: a manifest must be smaller than ${manifestLimitBytes} bytes`);
    }
    return text;
  } finally {
    await handle.close();
  }
}
