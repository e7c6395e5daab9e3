/** Follows manifest files and directories that a person named: tells which are there, and what has changed in them. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, opendir, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  Channel,
  type Clock,
  errorText,
  sleep,
  systemErrorCode,
  TaskGroup,
  type Timer,
} from '../../async/index.js';
import { followedFilesLimits } from './limits.js';
import { readLimited, watchPath } from './path-watch.js';

export interface FollowedFilesOptions {
  /** Files and directories; of a directory, the files directly in it that `accepts` takes. */
  readonly inputs: readonly string[];
  readonly accepts: (name: string) => boolean;
  readonly clock: Clock;
  readonly limits?: Partial<Record<keyof typeof followedFilesLimits, number>>;
}

export interface FilesReading {
  /** In the order of the inputs, then by name; also those that cannot be read now. */
  readonly files: readonly string[];
  /** The texts that are new, or other than before. */
  readonly changed: ReadonlyMap<string, string>;
  /** Why files or inputs cannot be read now; what was read of them before holds. */
  readonly problems: ReadonlyMap<string, string>;
}

interface FollowedFile {
  readonly input: number;
  /** What `stat` said when it was read; undefined where a further change might not show there. */
  print: string | undefined;
  digest: string | undefined;
  bytes: number;
  missingSinceMs: number | undefined;
}

/** A write soon after the last one may leave the times of the file as they are. */
const coarseTimesMs = 2_000;

export class FollowedFiles {
  readonly #options: FollowedFilesOptions;
  readonly #limits: Readonly<Record<keyof typeof followedFilesLimits, number>>;
  readonly #known = new Map<string, FollowedFile>();
  readonly #unsettledSinceMs = new Map<string, number>();
  readonly #wake = new Channel<void>(1);
  #told = '';
  #totalBytes = 0;
  #looks = 0;
  #lookMs = 0;
  #again: Timer | undefined;

  constructor(options: FollowedFilesOptions) {
    this.#options = options;
    this.#limits = { ...followedFilesLimits, ...options.limits };
  }

  /** Looks at everything; undefined if nothing is other than at the last look. */
  async look(): Promise<FilesReading | undefined> {
    const startMs = this.#options.clock.monotonic();
    const problems = new Map<string, string>();
    const changed = new Map<string, string>();
    const listed = new Set<string>();
    const places = new Set<string>();
    const unsure = new Set<number>();
    for (const [index, input] of this.#options.inputs.entries()) {
      const files = await this.#list(input, problems);
      if (files === undefined) unsure.add(index);
      for (const file of files ?? this.#filesOf(index)) {
        const place = path.resolve(file);
        if (places.has(place)) continue;
        places.add(place);
        const isThere = await this.#read(file, index, { problems, changed, isNamed: file === input });
        if (isThere) listed.add(file);
      }
    }
    this.#forgetRemoved(listed, unsure);
    this.#looks++;
    this.#lookMs = this.#options.clock.monotonic() - startMs;
    const files = [...this.#known]
      .sort(([a, { input: i }], [b, { input: j }]) => i - j || (a < b ? -1 : 1))
      .map(([file]) => file);
    const told = JSON.stringify([files, [...problems]]);
    if (this.#looks > 1 && changed.size === 0 && told === this.#told) return undefined;
    this.#told = told;
    return { files, changed, problems };
  }

  /** Runs until aborted, and delivers what differs from the last look. */
  async run(
    deliver: (reading: FilesReading) => Promise<void>,
    signal: AbortSignal,
    /** Told once of what keeps changes from being noticed at once. */
    onSlow: (message: string) => void = () => undefined,
  ): Promise<void> {
    const { clock, inputs } = this.#options;
    const told = new Set<string>();
    const slow = (place: string, error: unknown): void => {
      const message = `${place}: ${errorText(error)}; changes are noticed some seconds later`;
      // A place that went away is looked for at each look.
      if (systemErrorCode(error) === 'ENOENT' || told.has(message)) return;
      told.add(message);
      onSlow(message);
    };
    const tasks = new TaskGroup({ signal, onError: slow });
    for (const input of inputs.slice(0, this.#limits.watchedPlaces)) {
      tasks.start(`watching ${input}`, (stop) =>
        watchPath(
          {
            path: input.replace(/(?<=.)\/+$/, ''),
            clock,
            onChange: () => void this.#wake.trySend(),
            onProblem: slow,
          },
          stop,
        ),
      );
    }
    tasks.start('looking at manifests periodically', async (stop) => {
      for (;;) {
        const { checkPeriodMs, restsPerLook } = this.#limits;
        await sleep(clock, Math.max(checkPeriodMs, this.#lookMs * restsPerLook), stop);
        this.#wake.trySend();
      }
    });
    try {
      while (!(await this.#wake.receive(signal)).done) {
        await this.#becomeQuiet(signal);
        const reading = await this.look();
        if (reading !== undefined) await deliver(reading);
      }
    } finally {
      this.#again?.cancel();
      await tasks.stop();
    }
  }

  async #becomeQuiet(signal: AbortSignal): Promise<void> {
    const { quietMs, longestUnquietMs } = this.#limits;
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + longestUnquietMs;
    do await sleep(clock, quietMs, signal);
    while (this.#wake.tryReceive() !== undefined && clock.monotonic() < untilMs);
  }

  #lookAgainIn(waitMs: number): void {
    this.#again?.cancel();
    this.#again = this.#options.clock.setTimer(waitMs, () => void this.#wake.trySend());
  }

  #filesOf(input: number): string[] {
    return [...this.#known].filter(([, known]) => known.input === input).map(([file]) => file);
  }

  /** The files of an input; undefined if nobody can tell now. */
  async #list(input: string, problems: Map<string, string>): Promise<readonly string[] | undefined> {
    try {
      if (!(await stat(input)).isDirectory()) return [input];
      const files: string[] = [];
      for await (const { name } of await opendir(input)) {
        if (name.startsWith('.') || !this.#options.accepts(name)) continue;
        files.push(path.join(input, name));
        if (files.length <= this.#limits.filesOfDirectory) continue;
        const most = this.#limits.filesOfDirectory;
        problems.set(input, `it has more than ${most} manifests; put some into another directory`);
        return undefined;
      }
      return files.sort();
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') {
        problems.set(input, 'there is no such file or directory');
        return [];
      }
      problems.set(input, `cannot be read: ${errorText(error)}`);
      return undefined;
    }
  }

  /** False if there is no such file, as far as one can tell. */
  async #read(
    file: string,
    input: number,
    look: {
      readonly problems: Map<string, string>;
      readonly changed: Map<string, string>;
      /** The person named the file itself. */
      readonly isNamed: boolean;
    },
  ): Promise<boolean> {
    const known = this.#known.get(file);
    try {
      const info = await stat(file, { bigint: true });
      if (info.isDirectory() && !look.isNamed) return false;
      if (!info.isFile()) throw new Error('not a regular file; put the manifest itself there');
      const print = printOf(info);
      if (known !== undefined) known.missingSinceMs = undefined;
      if (known?.print === print || this.#isBeingWritten(file, info)) return true;
      const bytes = Number(info.size);
      const totalBytes = this.#totalBytes - (known?.bytes ?? 0) + bytes;
      if (totalBytes > this.#limits.totalBytes)
        throw new Error(
          `with it, the manifests have more than ${this.#limits.totalBytes} bytes; remove some`,
        );
      const text = readLimited(file);
      const digest = createHash('sha256').update(text).digest('hex');
      if (known?.digest !== digest) look.changed.set(file, text);
      const isCoarse = this.#options.clock.now() - Number(info.ctimeMs) < coarseTimesMs;
      const seen = { print: isCoarse ? undefined : print, digest, bytes, missingSinceMs: undefined };
      this.#known.set(file, { input: known?.input ?? input, ...seen });
      this.#totalBytes = totalBytes;
      return true;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT' && !(await isLink(file))) return false;
      if (known !== undefined) known.print = undefined;
      const message =
        systemErrorCode(error) === 'ENOENT' ? 'it is a link that leads nowhere' : errorText(error);
      look.problems.set(file, message.replace(`${file}: `, ''));
      return true;
    }
  }

  /** Nobody sees whether a writer is done, only that it has paused. */
  #isBeingWritten(file: string, { mtimeMs }: BigIntStats): boolean {
    const { settledMs, longestUnsettledMs } = this.#limits;
    const { clock } = this.#options;
    const ageMs = clock.now() - Number(mtimeMs);
    const sinceMs = this.#unsettledSinceMs.get(file) ?? clock.monotonic();
    const isOld = ageMs < 0 || ageMs >= settledMs || clock.monotonic() - sinceMs >= longestUnsettledMs;
    // At the first look, whoever wrote the files has called us since.
    if (isOld || this.#looks === 0) {
      this.#unsettledSinceMs.delete(file);
      return false;
    }
    this.#unsettledSinceMs.set(file, sinceMs);
    this.#lookAgainIn(settledMs);
    return true;
  }

  /** Editors and version control remove a file and write it again a moment later. */
  #forgetRemoved(listed: ReadonlySet<string>, unsure: ReadonlySet<number>): void {
    const nowMs = this.#options.clock.monotonic();
    const { removedAfterMs } = this.#limits;
    for (const [file, known] of this.#known) {
      if (listed.has(file) || unsure.has(known.input)) continue;
      known.missingSinceMs ??= nowMs;
      if (nowMs - known.missingSinceMs < removedAfterMs) {
        this.#lookAgainIn(removedAfterMs);
        continue;
      }
      this.#known.delete(file);
      this.#totalBytes -= known.bytes;
    }
    for (const file of this.#unsettledSinceMs.keys())
      if (!listed.has(file)) this.#unsettledSinceMs.delete(file);
  }
}

function printOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

async function isLink(file: string): Promise<boolean> {
  return lstat(file).then(
    (info) => info.isSymbolicLink(),
    () => false,
  );
}
