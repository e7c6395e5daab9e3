/** Puts the terminal into raw mode while a command runs, reports its size, and restores it afterwards. */
import type { ReadStream, WriteStream } from 'node:tty';
import type { TerminalSize } from '../streaming/index.js';

export interface RawTerminal {
  /** The current size, then every change. Skips sizes that are outdated when they are read. */
  readonly sizes: AsyncIterable<TerminalSize>;
  /** Restores the mode of the terminal. Idempotent. */
  restore(): void;
}

export function openRawTerminal(input: ReadStream, output: WriteStream): RawTerminal {
  const wasRaw = input.isRaw;
  let ended = false;
  let pending: TerminalSize | undefined = sizeOf(output);
  let wake: (() => void) | undefined;
  const onResize = (): void => {
    pending = sizeOf(output);
    wake?.();
  };
  const restore = (): void => {
    if (ended) return;
    ended = true;
    output.off('resize', onResize);
    process.off('exit', restore);
    input.setRawMode(wasRaw);
    wake?.();
  };
  output.on('resize', onResize);
  // The terminal must be usable however this process ends.
  process.on('exit', restore);
  input.setRawMode(true);
  async function* sizes(): AsyncGenerator<TerminalSize> {
    while (!ended) {
      if (pending !== undefined) {
        const size = pending;
        pending = undefined;
        yield size;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }
  }
  return { sizes: sizes(), restore };
}

function sizeOf({ columns, rows }: WriteStream): TerminalSize | undefined {
  return columns > 0 && rows > 0 ? { width: columns, height: rows } : undefined;
}
