/**
 * The content of a file that others replace while we run: reread when it changed, checked at a limited rate.
 */
import { readFile, stat } from 'node:fs/promises';
import { type Clock, errorText } from '../async/index.js';

export interface WatchedFileOptions {
  readonly clock: Clock;
  readonly path: string;
  /** Within this time the last content is returned without a check. */
  readonly checkPeriodMs: number;
  /** Throws on invalid content, which keeps the old one in use. */
  readonly check?: (text: string) => void;
  readonly onProblem?: (message: string) => void;
}

const fileLimitBytes = 1024 * 1024;

export class WatchedFile {
  readonly #options: WatchedFileOptions;
  #content: string | undefined;
  #seen = '';
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: WatchedFileOptions) {
    this.#options = options;
  }

  /** The newest valid content; rejects only if there has never been one. */
  async read(): Promise<string> {
    const { clock, path, checkPeriodMs, check, onProblem } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#content !== undefined && nowMs - this.#lookedMs < checkPeriodMs) return this.#content;
    try {
      const found = await stat(path);
      const identity = `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
      if (this.#content !== undefined && identity === this.#seen) {
        this.#lookedMs = nowMs;
        return this.#content;
      }
      if (found.size > fileLimitBytes) throw new Error(`is larger than ${fileLimitBytes} bytes`);
      const text = await readFile(path, 'utf8');
      check?.(text);
      this.#content = text;
      this.#seen = identity;
      this.#lookedMs = nowMs;
      return text;
    } catch (error) {
      const message = `${path}: ${errorText(error)}`;
      if (this.#content === undefined) throw new Error(message, { cause: error });
      this.#lookedMs = nowMs;
      onProblem?.(`${message}; the old content stays in use`);
      return this.#content;
    }
  }

  /** Makes the next read check the file. */
  expire(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
  }
}
