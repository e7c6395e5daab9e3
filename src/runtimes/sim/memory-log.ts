/** The log of a simulated container in memory: its last lines, for virtual nodes that write no files. */
import type { SimLog } from './logs.js';

export interface SimLogLine {
  readonly timestampNs: bigint;
  readonly stream: 'stdout' | 'stderr';
  /** Without its newline. */
  readonly text: string;
}

/** What a line costs beside its text. */
const lineBytes = 64;

export class SimMemoryLog implements SimLog {
  readonly #limitBytes: number;
  readonly #stamp: () => bigint;
  #lines: SimLogLine[] = [];
  #bytes = 0;
  /** How many lines were dropped: the number of the first one that is kept. */
  #dropped = 0;
  #listeners: Set<() => void> | undefined;
  #closed = false;

  constructor(limitBytes: number, stamp: () => bigint) {
    this.#limitBytes = limitBytes;
    this.#stamp = stamp;
  }

  /** Whether lines may still come: the container has not ended. */
  get isOpen(): boolean {
    return !this.#closed;
  }

  open(): void {}

  /** The oldest lines make room; a line that is longer than all of it is cut. */
  write(stream: 'stdout' | 'stderr', line: string): void {
    const text = line.slice(0, Math.max(0, this.#limitBytes - lineBytes));
    this.#lines.push({ timestampNs: this.#stamp(), stream, text });
    this.#bytes += text.length + lineBytes;
    let gone = 0;
    while (this.#bytes > this.#limitBytes && gone < this.#lines.length - 1)
      this.#bytes -= (this.#lines[gone++]?.text.length ?? 0) + lineBytes;
    if (gone > 0) this.#lines = this.#lines.slice(gone);
    this.#dropped += gone;
    this.#tell();
  }

  close(): void {
    this.#closed = true;
    this.#tell();
  }

  /** The kept lines from one number on, and the number of the next line to come. */
  from(number: number): { readonly lines: readonly SimLogLine[]; readonly next: number } {
    return {
      lines: this.#lines.slice(Math.max(0, number - this.#dropped)),
      next: this.#dropped + this.#lines.length,
    };
  }

  /** Calls back with every line, and at the end; returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => this.#listeners?.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners ?? []) listener();
  }
}
