/** The terminal that a command runs in: raw while it does, told of its size, and as it was afterwards. */
import type { ReadStream, WriteStream } from 'node:tty';
import type { TerminalSize } from '../streaming/index.js';

export interface RawTerminal {
  /** The size now, then each change of it, the newest only when several come at once. */
  readonly sizes: AsyncIterable<TerminalSize>;
  /** Gives the terminal back; may be called again. */
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
  // Whatever ends this process, the terminal must be usable after it.
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
