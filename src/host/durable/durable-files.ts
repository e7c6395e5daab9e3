/**
 * The one store for what the agent must find after a crash or a power cut. A file is complete or absent, is
 * set aside when unusable, and its failures are reported once instead of at every attempt.
 */
import { dirname, join } from 'node:path';
import { type Clock, Gate, isCancelled, sleep, TimedOut, withTimeout } from '../../async/index.js';
import { isHostError, isMissing, isShortage, toHostError } from '../errors.js';
import { HostError, type HostFiles } from '../host.js';
import { namesIn } from '../names-in.js';
import { readWholeFile } from './read-whole-file.js';
import {
  nextSuffix,
  type ReplaceFileOptions,
  removeEntry,
  replacedPath,
  replaceFile,
  temporarySuffix,
} from './replace-file.js';
import { isSetAside, setAside } from './set-aside.js';

/** A file that could not be used. */
export interface UnusableFile {
  readonly path: string;
  /** Where it was moved; undefined if it could not be moved. */
  readonly movedTo: string | undefined;
  /** What is wrong with it: `it is empty`. */
  readonly reason: string;
}

export interface DurableFilesObserver {
  setAside(file: UnusableFile): void;
  /** Called at the first failure of a file, then every ten minutes while it lasts. */
  failing(path: string, error: HostError, failures: number): void;
  /** Called when a write succeeds after that many failures. */
  recovered(path: string, failures: number): void;
}

export interface DurableFilesOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly observer: DurableFilesObserver;
  /** How long a caller waits for the disk. Default: 30 s. */
  readonly limitMs?: number;
  /** Ends what is read and not what is written. Default: none. */
  readonly signal?: AbortSignal;
}

export type DurableFileRead<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  | ({ readonly kind: 'set aside' } & UnusableFile);

/** Few threads make blocking calls; a stuck disk must leave some for everything else. */
const writesAtOnce = 2;
const tellAgainMs = 600_000;
/** Number of files whose failures are remembered. */
const rememberedFailures = 1000;
const firstShortageMs = 100;
const longestShortageMs = 3_200;
/** Files with a change running or queued; a disk stuck for long must not fill the memory. */
const mostChanging = 1000;

type FileChange =
  | { readonly kind: 'write'; readonly data: Uint8Array | string; readonly options: ReplaceFileOptions }
  | { readonly kind: 'remove' };

interface PendingFileChange {
  change: FileChange;
  readonly done: Promise<void>;
  readonly start: () => void;
}

export class DurableFiles {
  readonly #options: DurableFilesOptions & { readonly limitMs: number };
  readonly #gate = new Gate(writesAtOnce);
  /** The running operation of each file, and the newest change queued behind it. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, PendingFileChange>();
  readonly #failures = new Map<string, { count: number; toldAtMs: number }>();

  constructor(options: DurableFilesOptions) {
    this.#options = { limitMs: 30_000, ...options };
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /**
   * Returns what `parse` makes of the file. If `parse` throws, or the file is unreadable, the file is set
   * aside and reported. Rejects only for a shortage of resources, which says nothing about the file,
   * and when reading has been ended.
   */
  async read<T>(path: string, parse: (text: string) => T): Promise<DurableFileRead<T>> {
    return this.#read(path, parse, [temporarySuffix, nextSuffix]);
  }

  async #read<T>(
    path: string,
    parse: (text: string) => T,
    unwanted: readonly string[],
  ): Promise<DurableFileRead<T>> {
    const { files, clock, observer } = this.#options;
    try {
      const text = await this.#readPatiently(path, () => this.#removeInterrupted(path, unwanted));
      if (text === undefined) return { kind: 'missing' };
      return { kind: 'found', value: parse(text) };
    } catch (error) {
      if (isCancelled(error)) throw error;
      if (error instanceof TimedOut || isShortage(error)) {
        throw new Error(`${path} could not be read`, { cause: error });
      }
      const unusable: UnusableFile = {
        path,
        movedTo: await setAside(files, path, clock.now()),
        reason: isHostError(error) ? `it cannot be read (${error.code})` : reasonOf(error),
      };
      observer.setAside(unusable);
      return { kind: 'set aside', ...unusable };
    }
  }

  /**
   * The same for a file whose writer goes by `onWritten`: a process that was killed before the content was on disk has
   * left it whole beside the file. After a power cut it may be torn, so `parse` must notice that; then the file itself
   * holds. That is no loss: no container runs on from before a power cut, so nothing has more than the file says.
   */
  async readNewest<T>(path: string, parse: (text: string) => T): Promise<DurableFileRead<T>> {
    const { files } = this.#options;
    const temporary = `${path}${temporarySuffix}`;
    try {
      // Nobody was told of what lies beside what outlasts a process.
      const text = await this.#readPatiently(temporary, () => this.#removeInterrupted(path, [nextSuffix]));
      if (text !== undefined && (await isAsNew(files, temporary, path))) {
        const value = parse(text);
        // Before anything else is written there, since a replacement begins by removing what is in its way. A disk that
        // refuses this will refuse the next write, too, and that is reported.
        await finish(files, temporary, path).catch(() => undefined);
        return { kind: 'found', value };
      }
    } catch (error) {
      if (isCancelled(error)) throw error;
      if (error instanceof TimedOut || isShortage(error)) {
        throw new Error(`${temporary} could not be read`, { cause: error });
      }
      // What the disk does not show may be the newest; the next replacement decides about it.
      if (isHostError(error)) return this.#read(path, parse, []);
    }
    return this.read(path, parse);
  }

  /**
   * Resolves when this content, or newer content of the same file, is on disk. Of several queued writes only
   * the newest is made. Rejects with a HostError; ETIMEDOUT at the limit, and the write may still happen.
   */
  async write(path: string, data: Uint8Array | string, options: ReplaceFileOptions = {}): Promise<void> {
    await this.#change(path, { kind: 'write', data, options });
  }

  /**
   * The names in a directory, or none if it does not exist. Leaves out set-aside files and temporary files of
   * interrupted replacements; removes the latter.
   */
  async names(directory: string): Promise<readonly string[]> {
    const { files } = this.#options;
    const names: string[] = [];
    for (const name of await namesIn({ files }, directory)) {
      if (isSetAside(name)) continue;
      const path = join(directory, name);
      if (!name.endsWith(temporarySuffix)) names.push(name);
      // A failure does not concern the reader: the next replacement removes it, too.
      else if (!this.#running.has(replacedPath(path))) await removeEntry(files, path).catch(() => undefined);
    }
    return names;
  }

  /** A power cut may bring the file back. */
  async remove(path: string): Promise<void> {
    await this.#change(path, { kind: 'remove' });
  }

  /** What a replacement left that was cut off: nobody may write the file again for long. */
  async #removeInterrupted(path: string, suffixes: readonly string[]): Promise<void> {
    if (this.#running.has(path)) return;
    const { files } = this.#options;
    for (const suffix of suffixes) {
      const left = `${path}${suffix}`;
      // Usually nothing is there. A failure does not concern the reader: the next replacement removes it, too.
      await files.lstat(left).then(
        () => removeEntry(files, left).catch(() => undefined),
        () => undefined,
      );
    }
  }

  async #readPatiently(
    path: string,
    first: () => Promise<void> = async () => {},
  ): Promise<string | undefined> {
    const { files, clock, limitMs, signal } = this.#options;
    for (let waitMs = firstShortageMs; ; waitMs *= 2) {
      try {
        return await withTimeout(clock, limitMs, signal, async () => {
          await first();
          return readWholeFile(files, path);
        });
      } catch (error) {
        // A disk that fails once may not fail again, and a record that is set aside is lost.
        const mayPass = isShortage(error) || isHostError(error);
        if (!mayPass || waitMs > longestShortageMs) throw error;
        await sleep(clock, waitMs, signal);
      }
    }
  }

  async #change(path: string, change: FileChange): Promise<void> {
    const { clock, limitMs } = this.#options;
    const done = this.#enqueue(path, change);
    try {
      await withTimeout(clock, limitMs, undefined, () => done);
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      // The caller has gone; the observer reports the outcome.
      done.catch(() => undefined);
      const late = new HostError('ETIMEDOUT', path, `ETIMEDOUT: the disk did not confirm ${path} in time`);
      this.#failed(path, late);
      throw late;
    }
  }

  #enqueue(path: string, change: FileChange): Promise<void> {
    if (!this.#running.has(path)) {
      if (this.#running.size < mostChanging) return this.#run(path, change);
      const text = `EAGAIN: ${mostChanging} other files wait for the disk before ${path}`;
      return Promise.reject(new HostError('EAGAIN', path, text));
    }
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined) {
      waiting.change = change;
      return waiting.done;
    }
    let start: () => void = () => undefined;
    const turn: PendingFileChange = {
      change,
      start: () => start(),
      done: new Promise((resolve, reject) => {
        start = () => void this.#run(path, turn.change).then(resolve, reject);
      }),
    };
    this.#waiting.set(path, turn);
    return turn.done;
  }

  #run(path: string, change: FileChange): Promise<void> {
    const run = this.#apply(path, change).finally(() => {
      this.#running.delete(path);
      const next = this.#waiting.get(path);
      this.#waiting.delete(path);
      next?.start();
    });
    this.#running.set(path, run);
    return run;
  }

  async #apply(path: string, change: FileChange): Promise<void> {
    const { files } = this.#options;
    await this.#gate.enter();
    try {
      if (change.kind === 'write') await replaceFile(files, path, change.data, change.options);
      else await removeIfThere(files, path);
    } catch (error) {
      const failure = toHostError(error, path);
      this.#failed(path, failure);
      throw failure;
    } finally {
      this.#gate.leave();
    }
    this.#succeeded(path);
  }

  #failed(path: string, error: HostError): void {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#failures.get(path);
    const count = (known?.count ?? 0) + 1;
    const isTold = known === undefined || nowMs - known.toldAtMs >= tellAgainMs;
    this.#failures.set(path, { count, toldAtMs: isTold ? nowMs : known.toldAtMs });
    if (this.#failures.size > rememberedFailures) {
      const oldest = this.#failures.keys().next();
      if (!oldest.done) this.#failures.delete(oldest.value);
    }
    if (isTold) this.#options.observer.failing(path, error, count);
  }

  #succeeded(path: string): void {
    const failures = this.#failures.get(path);
    if (failures === undefined) return;
    this.#failures.delete(path);
    this.#options.observer.recovered(path, failures.count);
  }
}

/** Another kubelet may have replaced the file since, and leaves alone what it does not know. */
async function isAsNew(files: HostFiles, temporary: string, path: string): Promise<boolean> {
  const { modifiedMs } = await files.stat(temporary);
  try {
    return modifiedMs >= (await files.stat(path)).modifiedMs;
  } catch (error) {
    if (isMissing(error)) return true;
    throw error;
  }
}

async function finish(files: HostFiles, temporary: string, path: string): Promise<void> {
  await files.rename(temporary, path);
  await files.syncDirectory(dirname(path));
}

async function removeIfThere(files: HostFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function reasonOf(error: unknown): string {
  // The JSON parser's message quotes the content, which may be secret.
  if (error instanceof SyntaxError) return 'it is not whole JSON';
  return error instanceof Error ? error.message : String(error);
}
