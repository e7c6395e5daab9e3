/** Values read from files that others replace while we run; always has the newest valid one. */
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Timer } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface ReloadedFilesOptions<T> {
  readonly paths: readonly string[];
  /** For messages: `the client CA bundle`. */
  readonly what: string;
  /** Whether the files are read again at all; default yes. */
  readonly reloads?: boolean;
  /** Throws when the contents, in the order of the paths, are invalid. */
  readonly parse: (contents: readonly string[]) => T;
  /** Called for every new value, once it is current. */
  readonly onChange?: () => void;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

const reloadPeriodMs = 60_000;
/** The files of a pair are replaced one after the other. */
const settleMs = 200;

export interface ReloadedValue<T> {
  /** The newest valid value; changes only when the contents do. */
  current(): T;
  close(): void;
}

/** Rejects when the files are invalid at first. Later invalid contents keep the old value. */
export async function reloadedFiles<T>(options: ReloadedFilesOptions<T>): Promise<ReloadedValue<T>> {
  const { paths, what, reloads = true, parse, onChange: tell = () => {}, clock, timeline } = options;
  const read = (): Promise<string[]> => Promise.all(paths.map((file) => readFile(file, 'utf8')));
  let contents = await read();
  let value = parse(contents);
  if (!reloads) return { current: () => value, close() {} };
  let closed = false;
  let timer: Timer | undefined;
  let state: 'waiting' | 'settling' | 'reading' | 'changed-meanwhile' = 'waiting';

  const reload = async (): Promise<void> => {
    try {
      const found = await read();
      if (closed || found.every((text, at) => text === contents[at])) return;
      value = parse(found);
      contents = found;
      timeline.record({
        kind: 'transition',
        what: 'server.tls',
        message: `${what} was reloaded`,
        because: 'its files changed',
      });
      tell();
    } catch (error) {
      if (closed) return;
      const message = `${what} cannot be reloaded; the old one stays in use`;
      timeline.record({ kind: 'problem', what: 'server.tls', message, error });
    }
  };
  const wait = (delayMs: number): void => {
    timer?.cancel();
    if (closed) return;
    timer = clock.setTimer(delayMs, () => {
      state = 'reading';
      void reload().finally(() => {
        const again = state === 'changed-meanwhile';
        state = again ? 'settling' : 'waiting';
        wait(again ? settleMs : reloadPeriodMs);
      });
    });
  };
  /** A directory with constant changes must not delay the read for ever. */
  const onChange = (): void => {
    if (state === 'reading') state = 'changed-meanwhile';
    if (state !== 'waiting') return;
    state = 'settling';
    wait(settleMs);
  };
  wait(reloadPeriodMs);
  const watchers = [...new Set(paths.map((file) => path.dirname(file)))].flatMap((dir) =>
    watchDirectory(dir, onChange),
  );
  return {
    current: () => value,
    close() {
      closed = true;
      timer?.cancel();
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** None where the system cannot watch: then only the period finds changes. */
function watchDirectory(dir: string, onChange: () => void): FSWatcher[] {
  try {
    const watcher = watch(dir, { persistent: false }, onChange);
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}
