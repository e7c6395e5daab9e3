/** Holds directory entries by descriptors that name them without opening them, reached again through /proc. */
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { type HeldPath, HostError } from '../host.js';
import { attempt, factsOfStats } from './linux-files.js';

const { O_NOFOLLOW } = constants;
// Node's constants lack this one; the kernel has the same number on all the architectures that Node runs on.
const O_PATH = 0o10000000;

export async function hold(path: string): Promise<HeldPath> {
  // A slash at the end would follow a link all the same.
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  return await attempt(trimmed, () => holdEntry(trimmed, trimmed));
}

/** `path` names the entry in errors; `way` leads to it. */
async function holdEntry(way: string, path: string): Promise<HeldPath> {
  const handle = await attempt(path, () => open(way, O_PATH | O_NOFOLLOW));
  try {
    if ((await handle.stat()).isSymbolicLink())
      throw new HostError('ELOOP', path, `ELOOP: too many symbolic links encountered, open '${path}'`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return new LinuxHeldPath(handle, path);
}

class LinuxHeldPath implements HeldPath {
  readonly procPath: string;
  readonly #handle: FileHandle;
  readonly #path: string;
  /** The way to the entry for calls of this process. */
  readonly #way: string;
  #closing: Promise<void> | undefined;

  constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
    this.#way = `/proc/self/fd/${handle.fd}`;
    this.procPath = `/proc/${process.pid}/fd/${handle.fd}`;
  }

  async stat() {
    return await attempt(this.#path, async () => factsOfStats(await this.#handle.stat({ bigint: true })));
  }

  async child(name: string): Promise<HeldPath> {
    return await holdEntry(this.#below(name), `${this.#path}/${name}`);
  }

  async makeDirectory(name: string, mode: number): Promise<HeldPath> {
    const way = this.#below(name);
    const path = `${this.#path}/${name}`;
    await attempt(path, () => mkdir(way, mode));
    const made = await holdEntry(way, path);
    try {
      if ((await made.stat()).kind !== 'directory')
        throw new HostError('ENOTDIR', path, `ENOTDIR: not a directory, open '${path}'`);
      // The umask and a setgid parent had their say; through the descriptor this is about what was made and held.
      await attempt(path, () => chmod(made.procPath, mode));
    } catch (error) {
      await made.close();
      throw error;
    }
    return made;
  }

  async close(): Promise<void> {
    this.#closing ??= this.#handle.close();
    await this.#closing;
  }

  #below(name: string): string {
    if (name === '' || name === '.' || name === '..' || name.includes('/'))
      throw new HostError('EINVAL', `${this.#path}/${name}`, `EINVAL: "${name}" is no name of one entry`);
    // The number of a closed descriptor may be another file's by now.
    if (this.#closing !== undefined)
      throw new HostError(
        'EBADF',
        this.#path,
        `EBADF: bad file descriptor, '${this.#path}' is no longer held`,
      );
    return `${this.#way}/${name}`;
  }
}

/** The number of the mount that a path lies in, as the mount table has it. */
export async function mountIdOf(path: string): Promise<number> {
  const handle = await open(path, O_PATH);
  try {
    const facts = await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8');
    return Number(/^mnt_id:\s*([0-9]+)$/m.exec(facts)?.[1]);
  } finally {
    await handle.close();
  }
}
