/** The files of a record: their names, and the blocks of compressed entries that they hold. */
import { crc32, inflateRaw } from 'node:zlib';
import { recordLimits } from './limits.js';
import { RecordProblem } from './record-problem.js';

/** Of the format. */
export const recordVersion = 2;

const magic = Buffer.from('NODELETR', 'latin1');
export const fileHeadBytes = magic.length + 4;
export const blockHeadBytes = 12;

/** `generation` counts the starts of the agent, `part` the files of one of them; both from one. */
export interface RecordFileName {
  readonly generation: number;
  readonly part: number;
}

const namePattern = /^record-(\d{6})-(\d{4})\.nrec$/;

export function recordFileName({ generation, part }: RecordFileName): string {
  return `record-${String(generation).padStart(6, '0')}-${String(part).padStart(4, '0')}.nrec`;
}

/** Undefined for a file that is none of a record. */
export function readRecordFileName(name: string): RecordFileName | undefined {
  const [, generation, part] = namePattern.exec(name) ?? [];
  if (generation === undefined || part === undefined) return undefined;
  return { generation: Number(generation), part: Number(part) };
}

export function fileHead(): Buffer {
  const head = Buffer.alloc(fileHeadBytes);
  magic.copy(head);
  head.writeUInt32LE(recordVersion, magic.length);
  return head;
}

/** Throws when it is no record, or one of another version. */
export function checkFileHead(head: Uint8Array, name: string): void {
  if (head.length < fileHeadBytes || magic.compare(head.subarray(0, magic.length)) !== 0)
    throw new RecordProblem(`${name} is no file of a record: it does not begin like one`);
  const version = Buffer.from(head).readUInt32LE(magic.length);
  if (version !== recordVersion)
    throw new RecordProblem(
      `${name} has version ${version} of the format, and this nodelet reads version ${recordVersion}; replay it with the nodelet that wrote it`,
    );
}

/** A block: the sizes of its text packed and unpacked, and a checksum of the packed one. */
export function blockOf(packed: Uint8Array, textBytes: number): Buffer {
  const head = Buffer.alloc(blockHeadBytes);
  head.writeUInt32LE(packed.length, 0);
  head.writeUInt32LE(textBytes, 4);
  head.writeUInt32LE(crc32(packed), 8);
  return Buffer.concat([head, packed]);
}

export interface BlockHead {
  readonly packedBytes: number;
  readonly textBytes: number;
  readonly checksum: number;
}

/** `place` names the file and the offset, for the error of a head that cannot be. */
export function readBlockHead(head: Uint8Array, place: string): BlockHead {
  const view = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  const read = {
    packedBytes: view.readUInt32LE(0),
    textBytes: view.readUInt32LE(4),
    checksum: view.readUInt32LE(8),
  };
  const { longestBlockBytes } = recordLimits;
  if (read.packedBytes > longestBlockBytes || read.textBytes > longestBlockBytes || read.packedBytes === 0)
    throw new RecordProblem(`the block at ${place} has a size that no block has; the file is damaged`);
  return read;
}

/** The text of a block; never more than its head says. */
export async function unpackBlock(packed: Uint8Array, head: BlockHead, place: string): Promise<string> {
  const damaged = (cause?: unknown): RecordProblem =>
    new RecordProblem(`the block at ${place} is damaged`, cause === undefined ? {} : { cause });
  if (crc32(packed) !== head.checksum) throw damaged();
  const text = await new Promise<Buffer>((resolve, reject) => {
    inflateRaw(packed, { maxOutputLength: Math.max(1, head.textBytes) }, (error, unpacked) =>
      error === null ? resolve(unpacked) : reject(damaged(error)),
    );
  });
  if (text.length !== head.textBytes) throw damaged();
  return text.toString('utf8');
}
