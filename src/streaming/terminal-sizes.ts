/** Reads the sizes of a client's terminal: a sequence of JSON objects, of which only the newest counts. */
import type { Readable } from 'node:stream';
import type { TerminalSize } from './contracts.js';
import { streamingLimits } from './limits.js';

/** Collects text and returns complete sizes. Drops invalid text. */
export class TerminalSizeReader {
  #text = '';

  *read(text: string): Generator<TerminalSize, void, undefined> {
    this.#text += text;
    for (let end = this.#text.indexOf('}'); end >= 0; end = this.#text.indexOf('}')) {
      const size = parseSize(this.#text.slice(0, end + 1));
      this.#text = this.#text.slice(end + 1);
      if (size !== undefined) yield size;
    }
    if (this.#text.length > streamingLimits.terminalSizeChars) this.#text = '';
  }
}

/** Filters other text before the parser, as a thrown error is expensive. */
const flatObject = /^\s*\{[^{}]*\}$/;

function parseSize(text: string): TerminalSize | undefined {
  if (!flatObject.test(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('Width' in value) || !('Height' in value)) {
    return undefined;
  }
  const { Width: width, Height: height } = value;
  return isExtent(width) && isExtent(height) ? { width, height } : undefined;
}

function isExtent(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 0xffff;
}

/** Yields the newest size and skips older ones that were not read in time. Ends with the stream. */
export async function* terminalSizes(stream: Readable | undefined): AsyncGenerator<TerminalSize, void> {
  if (stream === undefined) return;
  const reader = new TerminalSizeReader();
  let newest: TerminalSize | undefined;
  let ended = false;
  let wake: (() => void) | undefined;
  stream.on('data', (chunk: Buffer) => {
    for (const size of reader.read(chunk.toString('utf8'))) newest = size;
    wake?.();
  });
  const onEnd = (): void => {
    ended = true;
    wake?.();
  };
  stream.once('end', onEnd).once('close', onEnd).once('error', onEnd);
  for (;;) {
    const size = newest;
    newest = undefined;
    if (size !== undefined) yield size;
    else if (ended) return;
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}
