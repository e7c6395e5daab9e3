/** The volumes of a storage driver: image files with a record beside each, which outlive the driver's process. */
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { GrpcError } from '../../../src/grpc/index.js';
import { runCommand } from '../command.js';
import { attachLoopDevice, detachLoopDevices, readSizeAgain } from './loop-devices.js';

export type VolumeAccess = 'block' | 'mount';
export type FileSystemType = 'ext4' | 'xfs';

export interface VolumeRecord {
  readonly id: string;
  /** Grows with each volume, so that a listing has a lasting order. */
  readonly sequence: number;
  readonly capacityBytes: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** Set when the file system was made wholly: an image without it may hold half of one. */
  readonly fsType?: FileSystemType;
  /** Made by a publish for one pod, and deleted with it. */
  readonly isEphemeral?: boolean;
  /** The nodes that it is attached to. */
  readonly attached: Readonly<Record<string, { readonly readonly: boolean }>>;
}

/** Smaller than this, `mkfs.xfs` refuses; `mkfs.ext4` does with less. */
const leastBytes: Record<FileSystemType, number> = { ext4: 1024 * 1024, xfs: 300 * 1024 * 1024 };
const makeCommands: Record<FileSystemType, readonly string[]> = {
  // Nothing is written that can wait, and nothing is discarded from a new image.
  ext4: ['mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'nodiscard,lazy_itable_init=1,lazy_journal_init=1'],
  xfs: ['mkfs.xfs', '-q', '-f', '-K'],
};

export function fileSystemType(name: string, byDefault: FileSystemType): FileSystemType {
  if (name === '') return byDefault;
  if (name === 'ext4' || name === 'xfs') return name;
  throw new GrpcError('InvalidArgument', `no file system ${name}: ext4 and xfs`);
}

export class LoopVolumes {
  readonly #dir: string;
  readonly #queues = new Map<string, Promise<void>>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Works on one volume at a time; others go on. */
  async alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const result = before.then(work);
    const done = result.then(
      () => undefined,
      () => undefined,
    );
    this.#queues.set(id, done);
    try {
      return await result;
    } finally {
      if (this.#queues.get(id) === done) this.#queues.delete(id);
    }
  }

  /** In the order in which they were made. */
  list(): VolumeRecord[] {
    if (!existsSync(this.#dir)) return [];
    return readdirSync(this.#dir)
      .flatMap((id) => this.find(id) ?? [])
      .sort((a, b) => a.sequence - b.sequence);
  }

  find(id: string): VolumeRecord | undefined {
    const file = this.#recordFile(id);
    return isVolumeId(id) && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  }

  get(id: string): VolumeRecord {
    const found = this.find(id);
    if (found === undefined) throw new GrpcError('NotFound', `no volume ${id}`);
    return found;
  }

  /** The file with the volume's content. */
  image(id: string): string {
    return path.join(this.#dir, id, 'image');
  }

  async create(
    wanted: Pick<VolumeRecord, 'id' | 'capacityBytes' | 'parameters' | 'isEphemeral'>,
  ): Promise<VolumeRecord> {
    const { id, capacityBytes } = wanted;
    await mkdir(path.join(this.#dir, id), { recursive: true });
    const file = await open(this.image(id), 'w');
    await file.truncate(capacityBytes);
    await file.close();
    const sequence = 1 + Math.max(0, ...this.list().map((volume) => volume.sequence));
    const record: VolumeRecord = { ...wanted, sequence, attached: {} };
    await this.save(record);
    return record;
  }

  async save(record: VolumeRecord): Promise<void> {
    const file = this.#recordFile(record.id);
    writeFileSync(`${file}.new`, JSON.stringify(record));
    await rename(`${file}.new`, file);
  }

  /** The record goes first: what is left of a deletion that was cut off is not a volume. */
  async delete(id: string): Promise<void> {
    if (!isVolumeId(id)) return;
    await rm(this.#recordFile(id), { force: true });
    await detachLoopDevices(this.image(id));
    await rm(path.join(this.#dir, id), { recursive: true, force: true });
  }

  async grow(record: VolumeRecord, capacityBytes: number): Promise<VolumeRecord> {
    truncateSync(this.image(record.id), capacityBytes);
    const grown = { ...record, capacityBytes };
    await this.save(grown);
    return grown;
  }

  /** The volume as a device of this machine, with the size of now. */
  async device(id: string): Promise<string> {
    const device = await attachLoopDevice(this.image(id));
    await readSizeAgain(device);
    return device;
  }

  async detach(id: string): Promise<void> {
    await detachLoopDevices(this.image(id));
  }

  /** Makes the file system of a volume that has none yet. */
  async format(record: VolumeRecord, device: string, fsType: FileSystemType): Promise<VolumeRecord> {
    if (record.fsType !== undefined) return record;
    if (record.capacityBytes < leastBytes[fsType]) {
      throw new GrpcError('OutOfRange', `${record.capacityBytes} bytes are too few for ${fsType}`);
    }
    // It must not go on after the driver was killed: the next life of the driver starts another.
    await runCommand('setpriv', ['--pdeathsig', 'KILL', ...makeCommands[fsType], device]);
    const formatted = { ...record, fsType };
    await this.save(formatted);
    return formatted;
  }

  async availableBytes(): Promise<number> {
    await mkdir(this.#dir, { recursive: true });
    const { bavail, bsize } = await statfs(this.#dir);
    return bavail * bsize;
  }

  #recordFile(id: string): string {
    return path.join(this.#dir, id, 'volume.json');
  }
}

/** Whether a name can be a directory's. */
export function isVolumeId(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/.test(name);
}
