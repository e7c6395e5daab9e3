/**
 * The directory in which the process runtime keeps everything that must outlive the agent:
 *
 *     owner.json                  the agent that uses it
 *     sandboxes/<id>.json         one file per sandbox
 *     containers/<id>/            one directory per container, see `ContainerFiles`
 *
 * A container's directory appears and disappears by a rename, so that a half-made or half-removed
 * one is never taken for a container. Records are on disk before the call that made them returns; unreadable
 * ones are set aside as <name>.corrupt-<time>.
 */
import { chmod, link, lstat, mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../async/index.js';
import {
  DurableFiles,
  isSetAside,
  isShortage,
  linuxHost,
  readWholeFile,
  removeTreeHere,
  setAside,
} from '../../host/index.js';
import { type ContainerFiles, containerFiles, isFileError } from './container-files.js';
import { type ProcessIdentity, parseAgentIdentity } from './container-state.js';
import { identify, isAlive } from './identity.js';

const idPattern = /^[0-9a-f]{64}$/;
/** Left half-made or half-removed by an agent that died. */
const leftoverPattern = /^[0-9a-f]{64}\.(?:new|removed)$/;
const ownerTries = 3;
/** How many of the newest set-aside sandboxes, and containers, are kept. */
const keptAside = 8;
const { files } = linuxHost();

export class StateDirectory {
  readonly path: string;
  readonly #sandboxes: string;
  readonly #containers: string;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #store: DurableFiles;

  private constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    // The writer gets its failure, and `setAside…` handles broken files.
    const observer = { setAside: () => {}, failing: () => {}, recovered: () => {} };
    this.#store = new DurableFiles({ files, clock, observer });
    this.#sandboxes = join(path, 'sandboxes');
    this.#containers = join(path, 'containers');
    this.#owner = join(path, 'owner.json');
  }

  /** Creates the directory and takes it for this process; throws if another running agent has it. */
  static async open(path: string, clock: Clock = systemClock): Promise<StateDirectory> {
    const directory = new StateDirectory(resolve(path), clock);
    await mkdir(directory.path, { recursive: true, mode: 0o700 });
    const { uid, mode } = await lstatDirectory(directory.path);
    if (uid !== process.geteuid?.()) {
      throw new Error(`${directory.path} belongs to user ${uid}: choose a state directory of your own`);
    }
    if ((mode & 0o777) !== 0o700) await chmod(directory.path, 0o700);
    await directory.#own();
    await mkdir(directory.#sandboxes, { recursive: true, mode: 0o700 });
    await mkdir(directory.#containers, { recursive: true, mode: 0o700 });
    await files.syncDirectory(directory.path);
    return directory;
  }

  /** Releases the directory for the next agent. */
  async release(): Promise<void> {
    const owner = await this.#readOwner();
    if (owner !== 'broken' && owner?.pid === process.pid) await unlink(this.#owner);
  }

  filesOf(containerId: string): ContainerFiles {
    return containerFiles(this.#containerPath(containerId));
  }

  async sandboxIds(): Promise<string[]> {
    return (await readdir(this.#sandboxes)).flatMap((name) => {
      const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
      return idPattern.test(id) ? [id] : [];
    });
  }

  readSandbox(id: string): Promise<string> {
    return readRecord(this.#sandboxPath(id));
  }

  async writeSandbox(id: string, text: string): Promise<void> {
    await this.#store.write(this.#sandboxPath(id), text);
  }

  async removeSandbox(id: string): Promise<void> {
    await this.#store.remove(this.#sandboxPath(id));
  }

  /** Sets an unreadable sandbox aside; undefined when it cannot be moved. */
  setAsideSandbox(id: string): Promise<string | undefined> {
    return this.#setAside(this.#sandboxPath(id), this.#sandboxes);
  }

  async containerIds(): Promise<string[]> {
    return (await readdir(this.#containers)).filter((name) => idPattern.test(name));
  }

  /** `fill` works in a directory that becomes the container's when it is complete. */
  async createContainer(id: string, fill: (files: ContainerFiles) => Promise<void>): Promise<void> {
    const unfinished = `${this.#containerPath(id)}.new`;
    await mkdir(unfinished, { mode: 0o700 });
    try {
      await fill(containerFiles(unfinished));
      await files.syncDirectory(unfinished);
      await rename(unfinished, this.#containerPath(id));
      await files.syncDirectory(this.#containers);
    } catch (error) {
      await removeTreeHere(unfinished);
      throw error;
    }
  }

  async writeContainer(id: string, text: string): Promise<void> {
    await this.#store.write(this.filesOf(id).record, text);
  }

  /** As `setAsideSandbox`, for a container with all its files. */
  setAsideContainer(id: string): Promise<string | undefined> {
    return this.#setAside(this.#containerPath(id), this.#containers);
  }

  async removeContainer(id: string): Promise<void> {
    const condemned = `${this.#containerPath(id)}.removed`;
    try {
      await rename(this.#containerPath(id), condemned);
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error;
    }
    await removeTreeHere(condemned);
  }

  /** Removes what dead agents left half-made or half-removed. */
  async removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.#containers)) {
      if (leftoverPattern.test(name)) await removeTreeHere(join(this.#containers, name));
    }
    for (const name of await readdir(this.#sandboxes)) {
      if (name.endsWith('.tmp')) await removeTreeHere(join(this.#sandboxes, name));
    }
  }

  async #setAside(path: string, directory: string): Promise<string | undefined> {
    const moved = await setAside(files, path, this.#clock.now());
    const aside = (await readdir(directory)).filter(isSetAside);
    const byTime = aside.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
    for (const name of byTime.slice(0, -keptAside)) await removeTreeHere(join(directory, name));
    return moved;
  }

  async #own(): Promise<void> {
    const self = identify(process.pid);
    const temporary = `${this.#owner}.${process.pid}.tmp`;
    await writeFile(temporary, JSON.stringify(self), { mode: 0o600 });
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          await link(temporary, this.#owner);
          return;
        } catch (error) {
          if (!isFileError(error, 'EEXIST') || attempt === ownerTries) throw error;
        }
        const owner = await this.#readOwner();
        if (isOther(owner, self) && (await isAlive(owner))) {
          throw new Error(
            `${this.path} is in use by process ${owner.pid}: stop that agent or choose another state directory`,
          );
        }
        if (owner === 'broken') await this.#setAside(this.#owner, this.path);
        else if (owner !== undefined) await unlink(this.#owner);
      }
    } finally {
      await unlink(temporary);
    }
  }

  /** Files appear whole: a broken one was cut by a power failure, which its agent did not survive. */
  async #readOwner(): Promise<ProcessIdentity | 'broken' | undefined> {
    try {
      const text = await readWholeFile(files, this.#owner);
      return text === undefined ? undefined : parseAgentIdentity(text);
    } catch (error) {
      if (isShortage(error)) throw error;
      return 'broken';
    }
  }

  #sandboxPath(id: string): string {
    return join(this.#sandboxes, `${checkedId(id)}.json`);
  }

  #containerPath(id: string): string {
    return join(this.#containers, checkedId(id));
  }
}

/** Reads a required file of the directory; never opens anything but a file, such as a pipe. */
export async function readRecord(path: string): Promise<string> {
  const text = await readWholeFile(files, path).catch((error: unknown) => {
    if (isShortage(error)) throw error;
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  });
  if (text === undefined) throw new Error(`${path}: it is missing`);
  return text;
}

/** Writes a file of a container being created: its name is synced with the directory's. */
export async function writeNewRecord(path: string, text: string): Promise<void> {
  await files.writeFile(path, text, { mode: 0o600, exclusive: true, sync: true });
}

function timeOf(name: string): string {
  return name.slice(name.lastIndexOf('-') + 1);
}

function isOther(
  owner: ProcessIdentity | 'broken' | undefined,
  self: ProcessIdentity,
): owner is ProcessIdentity {
  return owner !== undefined && owner !== 'broken' && owner.pid !== self.pid;
}

async function lstatDirectory(path: string): Promise<{ readonly uid: number; readonly mode: number }> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a directory: choose another state directory`);
  return found;
}

/** Ids become file names: a foreign one must never escape the directory. */
function checkedId(id: string): string {
  if (!idPattern.test(id)) throw new Error(`"${id}" is not the id of a sandbox or container`);
  return id;
}
