/** Finds where the last lines of a file begin without reading all of it. */
import { type OpenedFile, readExactly } from '../../host/index.js';

const firstBlockBytes = 1024;
const largestBlockBytes = 64 * 1024;
const newline = 0x0a;

/**
 * The position followed by `lines` newlines, so an unterminated last line comes on top of them. Undefined
 * means the whole file.
 */
export async function tailPosition(file: OpenedFile, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0;
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
      if (seen > lines) return left + at + 1;
    }
    right = left;
    blockBytes = Math.min(blockBytes * 2, largestBlockBytes);
  }
  return 0;
}
