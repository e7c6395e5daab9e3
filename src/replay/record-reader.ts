/** Reads a record: its generations, and the lines of one of them. Its files may be cut, damaged or hostile. */
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../async/index.js';
import { recordLimits } from './limits.js';
import {
  blockHeadBytes,
  checkFileHead,
  fileHeadBytes,
  type RecordFileName,
  readBlockHead,
  readRecordFileName,
  recordFileName,
  unpackBlock,
} from './record-file.js';
import { RecordProblem } from './record-problem.js';

/** The files of a record by generation, oldest first. */
export async function generationsIn(dir: string): Promise<ReadonlyMap<number, readonly RecordFileName[]>> {
  const names = await readdir(dir).catch((cause: unknown) => {
    throw new RecordProblem(`the record ${dir} cannot be read: ${errorText(cause)}`, { cause });
  });
  const found = names.flatMap((name) => readRecordFileName(name) ?? []);
  if (found.length === 0)
    throw new RecordProblem(`${dir} has no record: no file in it has a name like record-000001-0001.nrec`);
  found.sort((a, b) => a.generation - b.generation || a.part - b.part);
  const generations = new Map<number, RecordFileName[]>();
  for (const file of found.slice(0, recordLimits.segments)) {
    const files = generations.get(file.generation) ?? [];
    files.push(file);
    generations.set(file.generation, files);
  }
  return generations;
}

export interface RecordLines {
  readonly lines: AsyncIterable<string>;
  /** Where the record breaks off in the middle of a block, once that was read; a killed agent leaves such an end. */
  cutAt(): string | undefined;
}

/** The lines of a generation, in order. */
export function readLines(dir: string, files: readonly RecordFileName[]): RecordLines {
  let cutAt: string | undefined;
  async function* lines(): AsyncGenerator<string> {
    for (const [index, file] of files.entries()) {
      const name = recordFileName(file);
      if (file.part !== index + 1)
        throw new RecordProblem(`${path.join(dir, recordFileName({ ...file, part: index + 1 }))} is missing`);
      for await (const text of blocksOf(path.join(dir, name), (place) => {
        cutAt = place;
      }))
        yield* text.split('\n').filter((line) => line !== '');
      if (cutAt === undefined) continue;
      if (index < files.length - 1)
        throw new RecordProblem(
          `${cutAt} breaks off, but the record goes on in another file; the file is damaged`,
        );
      return;
    }
  }
  return { lines: lines(), cutAt: () => cutAt };
}

/** The texts of a file's blocks. */
async function* blocksOf(file: string, onCut: (place: string) => void): AsyncGenerator<string> {
  const facts = await lstat(file).catch((cause: unknown) => {
    throw new RecordProblem(`${file} cannot be read: ${errorText(cause)}`, { cause });
  });
  if (!facts.isFile()) throw new RecordProblem(`${file} is not a regular file`);
  const handle = await open(file, 'r');
  try {
    const head = await readAt(handle, 0, fileHeadBytes);
    if (head.length < fileHeadBytes && head.length < facts.size)
      throw new RecordProblem(`${file} cannot be read`);
    if (head.length < fileHeadBytes) {
      onCut(`${file} at byte ${head.length}`);
      return;
    }
    checkFileHead(head, file);
    for (let at = fileHeadBytes; at < facts.size; ) {
      const place = `${file} at byte ${at}`;
      const blockHead = await readAt(handle, at, blockHeadBytes);
      const sizes = blockHead.length < blockHeadBytes ? undefined : readBlockHead(blockHead, place);
      if (sizes === undefined || at + blockHeadBytes + sizes.packedBytes > facts.size) {
        onCut(place);
        return;
      }
      const packed = await readAt(handle, at + blockHeadBytes, sizes.packedBytes);
      yield await unpackBlock(packed, sizes, place);
      at += blockHeadBytes + sizes.packedBytes;
    }
  } finally {
    await handle.close();
  }
}

async function readAt(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await handle.read(buffer, filled, bytes - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
