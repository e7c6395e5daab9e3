/** Notes on disk of every remote disk that may be here, written before it is and removed after it is gone. */
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { errorText } from '../../../async/index.js';
import {
  type Host,
  isHostError,
  isMissing,
  namesIn,
  readRegular,
  replaceFile,
  temporarySuffix,
} from '../../../host/index.js';
import type { ContainerVolumeMode, DeviceRemains, UnknownDevice } from '../../contracts.js';
import type { NotedDisks } from './disk-network.js';
import { remoteDiskLimits } from './limits.js';

export interface DiskNote<Disk> extends DeviceRemains {
  readonly mode: ContainerVolumeMode;
  readonly disk: Disk;
}

export class DiskNotes<Disk> {
  readonly #host: Host;
  readonly #directory: string;
  readonly #revive: (value: unknown) => Disk;

  constructor(host: Host, directory: string, revive: (value: unknown) => Disk) {
    this.#host = host;
    this.#directory = directory;
    this.#revive = revive;
  }

  async read(uniqueName: string): Promise<DiskNote<Disk> | undefined> {
    const path = this.#path(uniqueName);
    const note = await this.#readAt(path);
    if (note === undefined || note.uniqueName === uniqueName) return note;
    throw new Error(`${path} is the note of another volume`);
  }

  /** Leaves an equal note alone. */
  async write(note: DiskNote<Disk>): Promise<void> {
    const text = textOf(note);
    const path = this.#path(note.uniqueName);
    if ((await this.#text(path).catch(() => undefined)) === text) return;
    await replaceFile(this.#host.files, path, text);
  }

  async remove(uniqueName: string): Promise<void> {
    const path = this.#path(uniqueName);
    await removeFile(this.#host, `${path}${temporarySuffix}`);
    await removeFile(this.#host, path);
  }

  /** Removes halves of notes. Only before anything is noted: a process that died while it wrote one has done nothing else. */
  async tidy(): Promise<void> {
    for (const name of await namesIn(this.#host, this.#directory)) {
      if (name.endsWith(temporarySuffix)) await removeFile(this.#host, join(this.#directory, name));
    }
  }

  async all(): Promise<NotedDisks<DiskNote<Disk>>> {
    const notes: DiskNote<Disk>[] = [];
    const unknown: UnknownDevice[] = [];
    for (const name of await namesIn(this.#host, this.#directory)) {
      if (!name.endsWith('.json')) continue;
      const path = join(this.#directory, name);
      try {
        const note = await this.#readAt(path);
        if (note !== undefined) notes.push(note);
      } catch (error) {
        unknown.push({ path, problem: errorText(error) });
      }
    }
    return { notes, unknown };
  }

  #path(uniqueName: string): string {
    return join(this.#directory, `${createHash('sha256').update(uniqueName).digest('hex')}.json`);
  }

  async #readAt(path: string): Promise<DiskNote<Disk> | undefined> {
    const text = await this.#text(path);
    return text === undefined ? undefined : this.#parse(text, path);
  }

  async #text(path: string): Promise<string | undefined> {
    try {
      return (await readRegular(this.#host, path, remoteDiskLimits.noteBytes)).toString('utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #parse(text: string, path: string): DiskNote<Disk> {
    try {
      const { uniqueName, innerName, mode, disk, seLinuxLabel } = fieldsOf(JSON.parse(text));
      if (typeof uniqueName !== 'string' || !isFileName(innerName)) throw new Error('it names no volume');
      if (mode !== 'Filesystem' && mode !== 'Block') throw new Error('it has no mode of a volume');
      return { uniqueName, innerName, mode, disk: this.#revive(disk), ...labelIn(seLinuxLabel) };
    } catch (error) {
      throw new Error(`${path} is no note of a disk: ${errorText(error)}`, { cause: error });
    }
  }
}

function textOf<Disk>({ uniqueName, innerName, mode, disk, seLinuxLabel }: DiskNote<Disk>): string {
  return `${JSON.stringify({ uniqueName, innerName, mode, disk, ...labelIn(seLinuxLabel) })}\n`;
}

/** A label as a note has it; without one there is no word of it. */
export function labelIn(label: unknown): { readonly seLinuxLabel?: string } {
  return typeof label === 'string' && label !== '' ? { seLinuxLabel: label } : {};
}

/** The fields of an object that was read; none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

/** Whether it can be the name of a file in a directory. */
export function isFileName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

export async function removeFile({ files }: Host, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Leaves one that something is in. */
export async function removeEmpty({ files }: Host, directory: string): Promise<void> {
  try {
    await files.rmdir(directory);
  } catch (error) {
    if (!isMissing(error) && !isHostError(error, 'ENOTEMPTY', 'EBUSY', 'EEXIST')) throw error;
  }
}
