/** Reads a container's log from its file, to the end or following it. */
import { Cancelled, type Clock } from '../../async/index.js';
import { type HeldPath, linuxHost, type OpenedFile } from '../../host/index.js';
import { describeFileError, isMissing } from './file-error.js';
import { detectFormat, type LogFormat, parseLogLine } from './format.js';
import { LineReader } from './lines.js';
import { olderLines } from './older-lines.js';
import { holdLog, type LogHost } from './open-log.js';
import type { PodLogOptions } from './options.js';
import { LogOutput, type LogSinks } from './output.js';
import { findTail } from './tail.js';
import { LogWatch } from './watch.js';

export interface ReadLogsRequest {
  readonly path: string;
  /** Defaults to this machine, as runtimes write logs to real files. */
  readonly host?: LogHost;
  readonly options: PodLogOptions;
  readonly sinks: LogSinks;
  /** Whether the container may still write; asked only while following. */
  readonly isRunning: () => Promise<boolean>;
  readonly clock: Clock;
  /** Called when a followed log has to be polled every second, because it cannot be watched. */
  readonly onPolling?: (error: unknown) => void;
  /** Called with the name of a rotated file that could not be read to its end. */
  readonly onDamaged?: (name: string, error: unknown) => void;
  /** Aborting fails the read with `context cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

interface OpenLog {
  file: OpenedFile;
  reader: LineReader;
}

/**
 * Reads the current file, and while following also the file that replaces it. Rotated files are read only
 * for `tailLines` and `since`, as far as these reach back.
 */
export async function readLogs(request: ReadLogsRequest): Promise<void> {
  const host = request.host ?? linuxHost();
  const held = await holdLog(host, request.path).catch((error: unknown) => {
    const text = describeFileError(error, 'lstat', request.path);
    throw new Error(`failed to try resolving symlinks in path ${JSON.stringify(request.path)}: ${text}`, {
      cause: error,
    });
  });
  const { file, path } = await opened(host, held, request.path).finally(() => held.close());
  const source: OpenLog = { file, reader: new LineReader(file, 0) };
  const reading = new LogReader({ ...request, host }, path, source);
  try {
    const { tailLines } = request.options;
    const { position, missing } = await findTail(file, tailLines).catch((error: unknown) => {
      const text = describeFileError(error, 'read', path);
      throw new Error(`failed to tail ${tailLines} lines of log file ${JSON.stringify(path)}: ${text}`, {
        cause: error,
      });
    });
    source.reader = new LineReader(file, position);
    await reading.readOlder(missing);
    if (request.options.follow) await reading.follow();
    else await reading.readOnce();
  } finally {
    await source.file.close();
  }
}

type LogReaderInput = ReadLogsRequest & { readonly host: LogHost };

class LogReader {
  readonly #request: LogReaderInput;
  readonly #path: string;
  readonly #source: OpenLog;
  readonly #output: LogOutput;
  #format: LogFormat | undefined;
  /** How many records are left to read; dropped ones count, too. */
  #recordsLeft: number;

  constructor(request: LogReaderInput, path: string, source: OpenLog) {
    const { follow, tailLines } = request.options;
    this.#request = request;
    this.#path = path;
    this.#source = source;
    this.#output = new LogOutput(request.options, request.sinks);
    this.#recordsLeft = follow ? Number.POSITIVE_INFINITY : (tailLines ?? Number.POSITIVE_INFINITY);
  }

  get #isDone(): boolean {
    return this.#output.isFull || this.#recordsLeft <= 0;
  }

  /** Reads what the current file does not have: `missing` lines of a tail, or all since the start time. */
  async readOlder(missing: number): Promise<void> {
    const { host, path, options, signal, onDamaged } = this.#request;
    const { tailLines, sinceMs } = options;
    if (tailLines === undefined ? sinceMs === undefined : missing === 0) return;
    const lines = tailLines === undefined ? undefined : missing;
    const current = this.#source.file;
    const older = olderLines({ host, path, current, lines, sinceMs, onDamaged, signal });
    for await (const part of older) {
      for (const line of part) {
        if (this.#isDone) return;
        await this.#take(line);
      }
    }
  }

  async readOnce(): Promise<void> {
    await this.#drain();
    const rest = this.#source.reader.unterminated();
    if (rest !== undefined && !this.#isDone) await this.#take(rest);
    await this.#output.flush();
  }

  async follow(): Promise<void> {
    const { isRunning, clock, signal, onPolling } = this.#request;
    await this.#drain();
    if (this.#isDone) return;
    const watch = new LogWatch(this.#path, { clock, ...(onPolling === undefined ? {} : { onPolling }) });
    try {
      // The watch does not report what was written before it began.
      await this.#drain();
      while (!this.#isDone) {
        const mayGrow = await isRunning();
        if (mayGrow) await watch.wait(signal);
        const replacement = await this.#replacement();
        // The rest of the old file comes before the new one.
        await this.#drain();
        if (replacement !== undefined) {
          await this.#source.file.close();
          this.#source.file = replacement;
          this.#source.reader = new LineReader(replacement, 0);
          await this.#drain();
        }
        if (!mayGrow) return;
      }
    } finally {
      watch.close();
    }
  }

  /** The file that now has the log's name, if it is a different one. */
  async #replacement(): Promise<OpenedFile | undefined> {
    const { host, path } = this.#request;
    try {
      const held = await holdLog(host, path);
      try {
        const [current, named] = await Promise.all([this.#source.file.stat(), held.stat()]);
        if (current.inode === named.inode && current.device === named.device) return undefined;
        return (await opened(host, held, path)).file;
      } finally {
        await held.close();
      }
    } catch (error) {
      // Between the rename and the new file the name does not exist.
      if (isMissing(error) || (error instanceof Error && isMissing(error.cause))) return undefined;
      throw error;
    }
  }

  /** Writes everything available, up to the limits. */
  async #drain(): Promise<void> {
    while (!this.#isDone) {
      if (this.#request.signal?.aborted) throw new Cancelled('context cancelled');
      const lines = await this.#source.reader.next().catch((error: unknown) => {
        const text = describeFileError(error, 'read', this.#path);
        throw new Error(`failed to read log file ${JSON.stringify(this.#path)}: ${text}`, { cause: error });
      });
      if (lines === undefined) break;
      for (const line of lines) {
        if (this.#isDone) break;
        await this.#take(line);
      }
    }
    await this.#output.flush();
  }

  async #take(line: Buffer): Promise<void> {
    this.#format ??= detectFormat(line);
    if (this.#format === undefined) {
      const shown = JSON.stringify(line.subarray(0, 256).toString('utf8'));
      throw new Error(`failed to get parse function: unsupported log format: ${shown}`);
    }
    const record = parseLogLine(this.#format, line);
    if (record === undefined) return;
    await this.#output.write(record);
    this.#recordsLeft--;
  }
}

/** Opens the held file and resolves its real path. */
async function opened(
  { files }: LogHost,
  held: HeldPath,
  path: string,
): Promise<{ readonly file: OpenedFile; readonly path: string }> {
  try {
    return { path: await files.realpath(held.procPath), file: await held.openFile() };
  } catch (error) {
    const text = describeFileError(error, 'open', path);
    throw new Error(`failed to open log file ${JSON.stringify(path)}: ${text}`, { cause: error });
  }
}
