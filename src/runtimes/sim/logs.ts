/** Container log files in the CRI format, written only below a directory that the simulation was given. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { formatNanoTimestamp } from '../../kube/index.js';

export class SimContainerLog {
  readonly #path: string;
  readonly #stamp: () => bigint;
  #file: number | undefined;

  private constructor(path: string, stamp: () => bigint) {
    this.#path = path;
    this.#stamp = stamp;
  }

  /** A log at the path if that is below the root, else none. */
  static at(path: string, root: string | undefined, stamp: () => bigint): SimContainerLog | undefined {
    if (root === undefined || path === '') return undefined;
    const below = relative(root, path);
    return below === '' || below.startsWith('..') ? undefined : new SimContainerLog(path, stamp);
  }

  /** Opens the file by its path, again if a rotation moved the one that was open. */
  open(): void {
    this.close();
    mkdirSync(dirname(this.#path), { recursive: true });
    this.#file = openSync(this.#path, 'a', 0o640);
  }

  write(stream: 'stdout' | 'stderr', line: string): void {
    if (this.#file === undefined) return;
    writeSync(this.#file, `${formatNanoTimestamp(this.#stamp())} ${stream} F ${line}\n`);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
