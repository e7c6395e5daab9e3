/** Reads the rotated files of a log, plain and compressed, for requests that reach back beyond the current file. */
import { basename } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Cancelled } from '../../async/index.js';
import { entriesOf, type HeldPath, isHostError, isMissing, type OpenedFile } from '../../host/index.js';
import { partsOf } from './compress.js';
import { LineSplitter } from './lines.js';
import { holdLogDirectory, type LogHost } from './open-log.js';
import { rotatedFiles } from './rotation.js';

/** What the current file does not have. */
export interface OlderLinesRequest {
  readonly host: LogHost;
  /** The path of the current file. */
  readonly path: string;
  /** The current file: it may have been rotated after it was opened, and must not be read twice. */
  readonly current: OpenedFile;
  /** The number of lines; undefined for all since `sinceMs`. */
  readonly lines: number | undefined;
  /** Files last written before this have nothing to add; wall-clock milliseconds. */
  readonly sinceMs: number | undefined;
  /** Called with a file that could not be read to its end; the lines before the damage count. */
  readonly onDamaged?: ((name: string, error: unknown) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How much of each compressed file is read. Default: 1 GiB. */
  readonly mostUnpackedBytes?: number | undefined;
}

/** A compressed file may hold a thousand times its size; what is beyond this is left out, and told of as damage. */
const mostUnpacked = 1024 * 1024 * 1024;
/** A tail looks for its lines in no more than this of all files, but always in the whole of a plain one. */
const mostBytes = 1024 * 1024 * 1024;
const mostNames = 10_000;

interface RotatedFile {
  readonly name: string;
  readonly file: OpenedFile;
  /** Lines at its beginning that were not asked for. */
  skip: number;
}

/** The lines before those of the current file, oldest first, several at once. */
export async function* olderLines(request: OlderLinesRequest): AsyncGenerator<readonly Buffer[]> {
  const chosen: RotatedFile[] = [];
  const directory = await holdLogDirectory(request.host, request.path);
  try {
    await choose(request, directory, chosen);
    for (const rotated of chosen.reverse()) {
      let { skip } = rotated;
      for await (const lines of linesOf(rotated, request)) {
        const skipped = Math.min(skip, lines.length);
        skip -= skipped;
        if (skipped < lines.length) yield lines.slice(skipped);
      }
    }
  } finally {
    await directory.close();
    for (const { file } of chosen) await file.close();
  }
}

/** Opens the files that are needed, newest first. */
async function choose(request: OlderLinesRequest, directory: HeldPath, chosen: RotatedFile[]): Promise<void> {
  const { path, current, sinceMs } = request;
  const { device, inode } = await current.stat();
  let missing = request.lines ?? Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (const name of rotatedFiles(basename(path), await namesIn(directory))) {
    if (missing <= 0 || bytes >= mostBytes) return;
    const file = await open(directory, name, request);
    if (file === undefined) continue;
    const facts = await file.stat();
    const isCurrent = facts.device === device && facts.inode === inode;
    if (isCurrent || (sinceMs !== undefined && facts.modifiedMs < sinceMs)) {
      await file.close();
      if (isCurrent) continue;
      return;
    }
    const rotated: RotatedFile = { name, file, skip: 0 };
    chosen.push(rotated);
    if (request.lines === undefined) continue;
    let count = 0;
    for await (const lines of linesOf(rotated, request)) {
      count += lines.length;
      for (const line of lines) bytes += line.length;
    }
    rotated.skip = Math.max(0, count - missing);
    missing -= count;
  }
}

async function namesIn(directory: HeldPath): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entries of entriesOf(directory)) {
    names.push(...entries.map(({ name }) => name));
    if (names.length >= mostNames) break;
  }
  return names;
}

/** Undefined if it has gone or is no file. A log that was compressed meanwhile is found under its new name. */
async function open(
  directory: HeldPath,
  name: string,
  { onDamaged }: OlderLinesRequest,
): Promise<OpenedFile | undefined> {
  for (const tried of name.endsWith('.gz') ? [name] : [name, `${name}.gz`]) {
    try {
      const held = await directory.child(tried);
      return await held.openFile().finally(() => held.close());
    } catch (error) {
      if (isMissing(error)) continue;
      // A pod can put links, pipes and directories beside its log.
      if (!isHostError(error, 'ELOOP', 'EISDIR', 'EINVAL', 'EXDEV')) throw error;
      onDamaged?.(tried, error);
    }
  }
  return undefined;
}

async function* linesOf(
  { name, file }: RotatedFile,
  { signal, onDamaged, mostUnpackedBytes = mostUnpacked }: OlderLinesRequest,
): AsyncGenerator<readonly Buffer[]> {
  const splitter = new LineSplitter();
  let bytes = 0;
  try {
    const isPacked = await isCompressed(file);
    for await (const chunk of isPacked ? unpacked(file) : partsOf(file)) {
      if (signal?.aborted) throw new Cancelled('context cancelled');
      bytes += chunk.length;
      if (isPacked && bytes > mostUnpackedBytes)
        throw new Error(`it holds more than ${mostUnpackedBytes} bytes`);
      const lines = splitter.push(chunk);
      if (lines.length > 0) yield lines;
    }
    const rest = splitter.unterminated();
    // A record of the next file must not continue this line.
    if (rest !== undefined) yield [Buffer.concat([rest, Buffer.from('\n')])];
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    onDamaged?.(name, error);
  }
}

const gzipMagic = 0x1f8b;

/** Told by its first bytes, not by its name. */
async function isCompressed(file: OpenedFile): Promise<boolean> {
  const magic = Buffer.alloc(2);
  return (await file.read(magic, 0)) === 2 && magic.readUInt16BE() === gzipMagic;
}

/** The reader sees an error of either stream, and leaving it early ends both. */
function unpacked(file: OpenedFile): AsyncIterable<Buffer> {
  return pipeline(Readable.from(partsOf(file)), createGunzip(), () => undefined);
}
