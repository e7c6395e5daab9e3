/** Container log files in the CRI format, written only below the given log root. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { formatNanoTimestamp } from '../../kube/index.js';
import type { SimContainer } from './store.js';

/** Where the output of a container goes. */
export interface SimLog {
  /** Again after a rotation. */
  open(): void;
  write(stream: 'stdout' | 'stderr', line: string): void;
  close(): void;
}

export class SimContainerLog implements SimLog {
  readonly #path: string;
  readonly #stamp: () => bigint;
  #file: number | undefined;

  private constructor(path: string, stamp: () => bigint) {
    this.#path = path;
    this.#stamp = stamp;
  }

  /** A log if the path is below the root, else none. */
  static at(path: string, root: string | undefined, stamp: () => bigint): SimContainerLog | undefined {
    if (root === undefined || path === '') return undefined;
    const below = relative(root, path);
    return below === '' || below.startsWith('..') ? undefined : new SimContainerLog(path, stamp);
  }

  /** Opens the file by its path, again after a rotation moved the open one. */
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

/** A container's output: to its log and to attached clients. */
export class SimContainerOutput {
  readonly #container: Pick<SimContainer, 'log' | 'outputListeners'>;
  /** The unfinished line. */
  #rest = '';

  constructor(container: Pick<SimContainer, 'log' | 'outputListeners'>) {
    this.#container = container;
  }

  print(stream: 'stdout' | 'stderr', line: string): void {
    const { log, outputListeners } = this.#container;
    log?.write(stream, line);
    for (const listener of outputListeners) listener(stream, Buffer.from(`${line}\n`));
  }

  /** Output without line splitting. */
  copy(bytes: Buffer): void {
    const { log, outputListeners } = this.#container;
    for (const listener of outputListeners) listener('stdout', bytes);
    const lines = `${this.#rest}${bytes.toString('utf8')}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) log?.write('stdout', line);
  }
}
