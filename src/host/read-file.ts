/** Reads regular files of unknown origin: within a limit, and never anything but a regular file. */
import { type Host, HostError, type OpenedFile } from './host.js';

/** Opens a regular file whose name is not a link (ELOOP); refuses anything else without opening it. */
export async function openRegular({ hold }: Pick<Host, 'hold'>, path: string): Promise<OpenedFile> {
  const held = await hold(path);
  try {
    return await held.openFile();
  } finally {
    await held.close();
  }
}

/** The whole file; EFBIG if it exceeds the limit. */
export async function readRegular(
  host: Pick<Host, 'hold'>,
  path: string,
  limitBytes: number,
): Promise<Buffer> {
  const file = await openRegular(host, path);
  try {
    return await readWhole(file, limitBytes, path);
  } finally {
    await file.close();
  }
}

/** The whole content, whatever size the file reports; EFBIG if it exceeds the limit. */
export async function readWhole(file: OpenedFile, limitBytes: number, path: string): Promise<Buffer> {
  const { sizeBytes } = await file.stat();
  // Kernel files have content but no size; the extra byte shows whether the end was reached.
  let buffer = Buffer.alloc(Math.min(Math.max(sizeBytes, 4096), limitBytes) + 1);
  let filled = 0;
  for (;;) {
    const count = await file.read(buffer.subarray(filled), filled);
    filled += count;
    if (filled > limitBytes)
      throw new HostError('EFBIG', path, `EFBIG: '${path}' is longer than ${limitBytes} bytes`);
    if (count === 0) return buffer.subarray(0, filled);
    if (filled === buffer.length)
      buffer = Buffer.concat([buffer], Math.min(buffer.length * 2, limitBytes + 1));
  }
}

/** The last bytes of a file, at most `limitBytes`. */
export async function readLastBytes(file: OpenedFile, limitBytes: number): Promise<Buffer> {
  const { sizeBytes } = await file.stat();
  const start = Math.max(0, sizeBytes - limitBytes);
  return await readExactly(file, start, sizeBytes - start);
}

/** Shorter only if the file ends earlier. */
export async function readExactly(file: OpenedFile, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const count = await file.read(buffer.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}
