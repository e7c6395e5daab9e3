/** Finds where the last lines of a file begin without reading all of it. */
import type { FileHandle } from 'node:fs/promises';

const firstBlockBytes = 1024;
const largestBlockBytes = 64 * 1024;
const newline = 0x0a;

/**
 * The position after which `lines` newlines follow, so an unterminated last line comes on top of them.
 * Undefined means the whole file.
 */
export async function tailPosition(file: FileHandle, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0;
  const { size } = await file.stat();
  let blockBytes = firstBlockBytes;
  let seen = 0;
  let right = size;
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

/** The last bytes of a file, at most `limitBytes` of them. */
export async function readLastBytes(file: FileHandle, limitBytes: number): Promise<Buffer> {
  const { size } = await file.stat();
  const start = Math.max(0, size - limitBytes);
  return await readExactly(file, start, size - start);
}

/** Shorter only when the file ends earlier. */
async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
