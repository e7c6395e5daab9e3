/** Holds directory entries by O_PATH descriptors, which name them without opening them; /proc leads back to them. */
import { constants, readFileSync } from 'node:fs';
import {
  type FileFacts,
  type HeldPath,
  HostError,
  type NewFile,
  type OpenedDirectory,
  type OpenedFile,
} from '../host.js';
import { notRegular } from '../not-regular.js';
import { attempt } from './linux-files.js';
import { newFile, openedDirectory, openedFile } from './opened.js';
import { factsOfStats } from './stats.js';
import type { SystemCalls } from './system-calls.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
// Node's constants lack O_PATH; its value is the same on every architecture Node supports.
const O_PATH = 0o10000000;

/** Holds entries through the given system calls. */
export function holdBy(calls: SystemCalls): (path: string) => Promise<HeldPath> {
  return async (path) => {
    // A trailing slash would make the kernel follow a link.
    const trimmed = path.replace(/(?<=.)\/+$/, '');
    return await attempt(trimmed, () => holdEntry(calls, trimmed, trimmed));
  };
}

/** `path` names the entry in errors; `way` leads to it. */
async function holdEntry(calls: SystemCalls, way: string, path: string): Promise<HeldPath> {
  const descriptor = await attempt(path, () => calls.open(way, O_PATH | O_NOFOLLOW));
  const held = new LinuxHeldPath(calls, descriptor, path);
  try {
    if ((await held.stat()).kind === 'symlink')
      throw new HostError('ELOOP', path, `ELOOP: too many symbolic links encountered, open '${path}'`);
  } catch (error) {
    await held.close();
    throw error;
  }
  return held;
}

class LinuxHeldPath implements HeldPath {
  readonly procPath: string;
  readonly #calls: SystemCalls;
  readonly #descriptor: number;
  readonly #path: string;
  /** The path to the entry for calls of this process. */
  readonly #way: string;
  #closing: Promise<void> | undefined;

  constructor(calls: SystemCalls, descriptor: number, path: string) {
    this.#calls = calls;
    this.#descriptor = descriptor;
    this.#path = path;
    this.#way = `/proc/self/fd/${descriptor}`;
    this.procPath = `/proc/${process.pid}/fd/${descriptor}`;
  }

  async stat(): Promise<FileFacts> {
    this.#requireHeld();
    return await attempt(this.#path, async () => factsOfStats(await this.#calls.fstat(this.#descriptor)));
  }

  async child(name: string): Promise<HeldPath> {
    return await holdEntry(this.#calls, this.#below(name), this.#named(name));
  }

  async makeDirectory(name: string, mode: number): Promise<HeldPath> {
    const calls = this.#calls;
    const way = this.#below(name);
    const path = this.#named(name);
    await attempt(path, () => calls.mkdir(way, mode, false));
    const made = await holdEntry(calls, way, path);
    try {
      if ((await made.stat()).kind !== 'directory')
        throw new HostError('ENOTDIR', path, `ENOTDIR: not a directory, open '${path}'`);
      // The umask and a setgid parent changed the mode; the descriptor addresses exactly the directory just
      // made.
      await attempt(path, () => calls.chmod(made.procPath, mode));
    } catch (error) {
      await made.close();
      throw error;
    }
    return made;
  }

  async createFile(name: string, mode: number): Promise<NewFile> {
    const calls = this.#calls;
    const way = this.#below(name);
    const path = this.#named(name);
    return await attempt(path, async () => {
      const descriptor = await calls.open(way, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
      try {
        await calls.chmod(`/proc/self/fd/${descriptor}`, mode);
      } catch (error) {
        await calls.close(descriptor);
        throw error;
      }
      return newFile(calls, descriptor, path);
    });
  }

  async openFile(): Promise<OpenedFile> {
    const { kind } = await this.stat();
    if (kind !== 'file') throw notRegular(this.#path, kind);
    // The descriptor, not the name, leads here, so the file checked is the file opened.
    const descriptor = await attempt(this.#path, () => this.#calls.open(this.#way, O_RDONLY | O_NONBLOCK));
    return openedFile(this.#calls, descriptor, this.#path);
  }

  async openDirectory(): Promise<OpenedDirectory> {
    const { kind } = await this.stat();
    if (kind !== 'directory')
      throw new HostError('ENOTDIR', this.#path, `ENOTDIR: not a directory, opendir '${this.#path}'`);
    const reading = await attempt(this.#path, () => this.#calls.opendir(this.#way));
    return openedDirectory(reading, this.#path);
  }

  async readlink(name: string): Promise<string> {
    const way = this.#below(name);
    return await attempt(this.#named(name), () => this.#calls.readlink(way));
  }

  async mountId(): Promise<number> {
    this.#requireHeld();
    return mountIdOfDescriptor(this.#descriptor, this.#path);
  }

  async close(): Promise<void> {
    this.#closing ??= this.#calls.close(this.#descriptor);
    await this.#closing;
  }

  #named(name: string): string {
    return this.#path === '/' ? `/${name}` : `${this.#path}/${name}`;
  }

  #below(name: string): string {
    if (name === '' || name === '.' || name === '..' || name.includes('/'))
      throw new HostError('EINVAL', this.#named(name), `EINVAL: "${name}" is not the name of one entry`);
    this.#requireHeld();
    return `${this.#way}/${name}`;
  }

  /** A closed descriptor's number may already belong to another file. */
  #requireHeld(): void {
    if (this.#closing === undefined) return;
    const message = `EBADF: bad file descriptor, '${this.#path}' is no longer held`;
    throw new HostError('EBADF', this.#path, message);
  }
}

/** The id of the mount that holds a path, as in the mount table. */
export async function mountIdOf(calls: SystemCalls, path: string): Promise<number> {
  const descriptor = await calls.open(path, O_PATH);
  try {
    return mountIdOfDescriptor(descriptor, path);
  } finally {
    await calls.close(descriptor);
  }
}

/** The kernel answers from memory, without asking the file system. */
function mountIdOfDescriptor(descriptor: number, path: string): number {
  const facts = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  const id = /^mnt_id:\s*([0-9]+)$/m.exec(facts)?.[1];
  if (id === undefined) throw new HostError('EIO', path, `EIO: the kernel reports no mount for '${path}'`);
  return Number(id);
}
