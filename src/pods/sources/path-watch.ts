/** Follows a directory, or one file, by notifications; without them, only periodic reading remains. */
import { closeSync, constants, type FSWatcher, fstatSync, openSync, readSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, sleep } from '../../async/index.js';
import { manifestLimitBytes } from './source.js';

export interface PathWatch {
  readonly path: string;
  readonly clock: Clock;
  /** Names the changed file; without one, anything may have changed. */
  readonly onChange: (file?: string) => void;
  /** A file of this name came or went: one call for each. Changes of content are not reported here. */
  readonly onRename?: (file: string) => void;
  readonly onProblem: (place: string, error: unknown) => void;
}

const watchRetryMs = 1_000;
const watchRetryMaxMs = 20_000;

/** A change is handled after this much quiet, so that a file is not read while it is being written. */
export const quietMs = 25;

/** Runs until aborted. Ignores names with a leading dot. */
export async function watchPath(watched: PathWatch, signal: AbortSignal): Promise<void> {
  let delayMs = watchRetryMs;
  for (;;) {
    const outcome = await watchOnce(watched, signal);
    watched.onChange();
    delayMs = outcome === 'failed' ? Math.min(delayMs * 2, watchRetryMaxMs) : watchRetryMs;
    await sleep(watched.clock, delayMs, signal);
  }
}

async function watchOnce(watched: PathWatch, signal: AbortSignal): Promise<'missing' | 'ended' | 'failed'> {
  const info = await stat(watched.path).catch(() => undefined);
  if (info === undefined) return 'missing';
  // A single file is watched through its directory, as editors replace files instead of rewriting them.
  const dir = info.isDirectory() ? watched.path : path.dirname(watched.path);
  const only = info.isDirectory() ? undefined : path.basename(watched.path);
  return new Promise((resolve) => {
    let watcher: FSWatcher;
    const end = (outcome: 'ended' | 'failed'): void => {
      signal.removeEventListener('abort', onAbort);
      watcher?.close();
      resolve(outcome);
    };
    const onAbort = (): void => end('ended');
    try {
      watcher = watch(dir, { persistent: false });
    } catch (error) {
      watched.onProblem(`watch ${dir}`, error);
      resolve('failed');
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      end('ended');
      return;
    }
    watcher.on('error', (error) => {
      watched.onProblem(`watch ${dir}`, error);
      end('failed');
    });
    watcher.on('change', (kind, name) => {
      const base = String(name ?? '');
      // The removal of the directory is reported with its own name.
      if (base === path.basename(dir) && only === undefined) {
        stat(dir).then(
          ({ ino }) => ino === info.ino || end('ended'),
          () => end('ended'),
        );
      }
      if (base.startsWith('.') || (only !== undefined && base !== only)) return;
      if (kind === 'rename') watched.onRename?.(path.join(dir, base));
      if (only !== undefined) watched.onChange();
      else watched.onChange(path.join(dir, base));
    });
    // Catches what changed before the watch was up.
    watched.onChange();
  });
}

/** Reads to the end or the limit, whatever the reported size. */
function readGrown(fd: number, file: string): string {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < manifestLimitBytes; ) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const bytesRead = readSync(fd, chunk, 0, chunk.length, bytes);
    if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(chunk.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  throw new Error(`${file}: a manifest must be smaller than ${manifestLimitBytes} bytes`);
}

/** Reads a manifest, which must be smaller than the limit; synchronously, as there may be many small ones. */
export function readLimited(file: string): string {
  // Whatever replaced the file since it was seen, such as a pipe, must not block the agent.
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const info = fstatSync(fd);
    if (!info.isFile()) throw new Error(`${file}: not a regular file; put the manifest itself there`);
    const { size } = info;
    if (size >= manifestLimitBytes) {
      throw new Error(
        `${file}: it has ${size} bytes; a manifest must be smaller than ${manifestLimitBytes} bytes`,
      );
    }
    // Room for one more byte shows whether the file has grown.
    const buffer = Buffer.allocUnsafe(size + 1);
    const bytesRead = readSync(fd, buffer, 0, size + 1, 0);
    if (bytesRead === size) return buffer.toString('utf8', 0, size);
    return readGrown(fd, file);
  } finally {
    closeSync(fd);
  }
}
