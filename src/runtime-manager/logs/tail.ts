/** Finds where the last lines of a file begin without reading all of it. */
import { type OpenedFile, readExactly } from '../../host/index.js';

const firstBlockBytes = 1024;
const largestBlockBytes = 64 * 1024;
const newline = 0x0a;

export interface TailStart {
  readonly position: number;
  /** How many of the lines the file does not have. */
  readonly missing: number;
}

/**
 * The position followed by `lines` newlines, so an unterminated last line comes on top of them. Undefined
 * means the whole file.
 */
export async function findTail(file: OpenedFile, lines: number | undefined): Promise<TailStart> {
  if (lines === undefined) return { position: 0, missing: 0 };
  const { sizeBytes } = await file.stat();
  let blockBytes = firstBlockBytes;
  let seen = 0;
  let right = sizeBytes;
  while (right > 0) {
    const left = Math.max(0, right - blockBytes);
    const block = await readExactly(file, left, right - left);
    for (
      let at = block.lastIndexOf(newline);
      at >= 0;
      at = at === 0 ? -1 : block.lastIndexOf(newline, at - 1)
    ) {
      seen++;
      if (seen > lines) return { position: left + at + 1, missing: 0 };
    }
    right = left;
    blockBytes = Math.min(blockBytes * 2, largestBlockBytes);
  }
  return { position: 0, missing: lines - seen };
}
