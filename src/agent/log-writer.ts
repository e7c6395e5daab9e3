/**
 * Writes the log of an agent that must live whatever becomes of its reader: off the event loop, one write at a time, with
 * a bounded buffer. A reader that is gone or stuck, or a full disk, costs lines, which are counted, and nothing else.
 */
import { write, writeSync } from 'node:fs';
import { type Clock, systemClock, type Timer, withTimeout } from '../async/index.js';

/** Where lines go. */
export interface LogSink {
  /** How many bytes were taken. */
  write(bytes: Uint8Array): Promise<number>;
  /** The same for the last moment of a process, in which nothing can be waited for. */
  writeNow(bytes: Uint8Array): number;
}

export interface LogBatch {
  readonly bytes: number;
  readonly periodMs: number;
}

export interface LogWriterOptions {
  readonly sink: LogSink;
  readonly clock?: Clock;
  /** What is held for a sink that does not take it: 1 MiB. */
  readonly maxHeldBytes?: number;
  /** Lines are kept back until they are so many, or the oldest has waited so long. Default: they are not. */
  readonly batch?: LogBatch | undefined;
  /** Told once when writing begins to fail … */
  readonly onFailing?: (error: unknown) => void;
  /** … and when lines are written again, with how many were lost. */
  readonly onRecovered?: (lostLines: number) => void;
}

const firstRetryMs = 100;
const longestRetryMs = 10_000;

export class LogWriter {
  readonly #options: Required<Omit<LogWriterOptions, 'batch'>> & Pick<LogWriterOptions, 'batch'>;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** How much of the first line is written. */
  #offset = 0;
  #lost = 0;
  #isWriting = false;
  #isScheduled = false;
  #failure: unknown;
  #retryMs = firstRetryMs;
  #retry: Timer | undefined;
  /** Ends the wait for more lines. */
  #batchEnd: Timer | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: LogWriterOptions) {
    this.#options = {
      clock: systemClock,
      maxHeldBytes: 1024 * 1024,
      onFailing: () => {},
      onRecovered: () => {},
      ...options,
    };
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#makeRoom();
    if (this.#isScheduled || this.#isWriting || this.#retry !== undefined || this.#waitsForMore()) return;
    this.#isScheduled = true;
    // A burst of pods makes many lines at once: those of one turn are one write.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  #waitsForMore(): boolean {
    const { batch, clock, maxHeldBytes } = this.#options;
    // Half of what may be held: no line is lost because others wait.
    if (batch === undefined || this.#heldBytes >= Math.min(batch.bytes, maxHeldBytes / 2)) {
      this.#endWait();
      return false;
    }
    this.#batchEnd ??= clock.setTimer(batch.periodMs, () => {
      this.#batchEnd = undefined;
      this.#pump();
    });
    return true;
  }

  #endWait(): void {
    this.#batchEnd?.cancel();
    this.#batchEnd = undefined;
  }

  /** Resolves when all lines so far were taken or lost; rejects while they are not taken. */
  async flush(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#held.length === 0 && !this.#isWriting) return;
    if (this.#batchEnd !== undefined) {
      this.#endWait();
      this.#pump();
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits for the lines so far, though not for long. */
  async close(limitMs = 2_000): Promise<void> {
    // What cannot be written now is lost with the process.
    await withTimeout(this.#options.clock, limitMs, undefined, () => this.flush()).catch(() => undefined);
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  /** For the end of the process. A sink that is at work may be stuck, and the end must not be. */
  writeRest(): void {
    if (this.#isWriting || this.#failure !== undefined || this.#held.length === 0) return;
    try {
      this.#taken(this.#options.sink.writeNow(this.#batch()));
    } catch {
      // There is nobody left to tell.
    }
  }

  #pump(): void {
    if (this.#isWriting || this.#held.length === 0) {
      this.#settle();
      return;
    }
    this.#isWriting = true;
    this.#options.sink.write(this.#batch()).then(
      (count) => {
        this.#isWriting = false;
        this.#taken(count);
        this.#recover();
        this.#pump();
      },
      (error: unknown) => {
        this.#isWriting = false;
        this.#fail(error);
      },
    );
  }

  #batch(): Uint8Array {
    return Buffer.concat(this.#held).subarray(this.#offset);
  }

  #taken(count: number): void {
    this.#offset += count;
    for (
      let first = this.#held[0];
      first !== undefined && first.length <= this.#offset;
      first = this.#held[0]
    ) {
      this.#held.shift();
      this.#heldBytes -= first.length;
      this.#offset -= first.length;
    }
  }

  /** The oldest lines go, but not one that is half written, nor those of a write that is under way. */
  #makeRoom(): void {
    const keptFirst = this.#offset > 0 ? 1 : 0;
    while (
      !this.#isWriting &&
      this.#heldBytes > this.#options.maxHeldBytes &&
      this.#held.length > keptFirst
    ) {
      const [gone] = this.#held.splice(keptFirst, 1);
      this.#heldBytes -= gone?.length ?? 0;
      this.#lost++;
    }
    // During a write that does not end, the newest line goes: the oldest may be with the system already.
    if (this.#isWriting && this.#heldBytes > 2 * this.#options.maxHeldBytes) {
      this.#heldBytes -= this.#held.pop()?.length ?? 0;
      this.#lost++;
    }
  }

  #fail(error: unknown): void {
    this.#makeRoom();
    const isFirst = this.#failure === undefined;
    this.#failure = error;
    this.#settle();
    this.#retry = this.#options.clock.setTimer(this.#retryMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    // A sink that only has to catch its breath is nobody's business.
    if (isFirst && !isBusy(error)) this.#options.onFailing(error);
  }

  #recover(): void {
    const hadFailed = this.#failure !== undefined && !isBusy(this.#failure);
    this.#failure = undefined;
    this.#retryMs = firstRetryMs;
    const lost = this.#lost;
    this.#lost = 0;
    if (hadFailed || lost > 0) this.#options.onRecovered(lost);
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}

/** A descriptor of this process. Node's own streams wait in the event loop for a pipe that is full. */
export function descriptorSink(descriptor: number): LogSink {
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        write(descriptor, bytes, 0, bytes.length, null, (error, count) =>
          error === null ? resolve(count) : reject(error),
        );
      }),
    writeNow: (bytes) => writeSync(descriptor, bytes),
  };
}

/** A closed or full output of an agent never ends it: what little it says there itself is lost then. */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}
