/** Compresses a rotated log in its own directory. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type HeldPath, isMissing, type NewFile, type OpenedFile } from '../../host/index.js';
import type { LogHost } from './open-log.js';

const partBytes = 64 * 1024;

/**
 * `<name>` becomes `<name>.gz`. Both are reached through the held directory, and the new file replaces
 * nothing.
 */
export async function compressLog({ files }: LogHost, dir: HeldPath, name: string): Promise<void> {
  const at = (entry: string): string => `${dir.procPath}/${entry}`;
  const temporary = `${name}.tmp`;
  const held = await dir.child(name);
  const source = await held.openFile().finally(() => held.close());
  try {
    const { mode } = await source.stat();
    await removeIfThere(files, at(temporary));
    // Keeps the log's mode, so that nobody gains access to it.
    const target = await dir.createFile(temporary, mode & 0o777);
    try {
      await pipeline(Readable.from(partsOf(source)), createGzip(), (compressed) => write(compressed, target));
    } finally {
      await target.close();
    }
    await files.rename(at(temporary), at(`${name}.gz`));
  } catch (error) {
    await removeIfThere(files, at(temporary));
    throw error;
  } finally {
    await source.close();
  }
  await files.unlink(at(name));
}

/** The whole file, part by part. */
export async function* partsOf(file: OpenedFile): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const part = Buffer.alloc(partBytes);
    const count = await file.read(part, position);
    if (count === 0) return;
    position += count;
    yield part.subarray(0, count);
  }
}

async function write(source: AsyncIterable<Buffer>, file: NewFile): Promise<void> {
  for await (const chunk of source) await file.write(chunk);
}

export async function removeIfThere(files: LogHost['files'], path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
