/**
 * The directory in which the process runtime keeps everything that must outlive the agent:
 *
 *     owner.json                  the agent that works in it
 *     sandboxes/<id>.json         one file a sandbox
 *     containers/<id>/            one directory a container, see `ContainerFiles`
 *
 * A container's directory appears and disappears by a rename, so that a half-made or half-removed
 * one is never taken for a container.
 */
import { chmod, link, lstat, mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type ContainerFiles, containerFiles, isFileError, replaceFile } from './container-files.js';
import { type ProcessIdentity, parseAgentIdentity } from './container-state.js';
import { identify, isAlive } from './identity.js';
import { removeTree } from './remove-tree.js';

const idPattern = /^[0-9a-f]{64}$/;
/** What was being made or removed when an agent died. */
const leftoverPattern = /^[0-9a-f]{64}\.(?:new|removed)$/;
const ownerTries = 3;

export class StateDirectory {
  readonly path: string;
  readonly #sandboxes: string;
  readonly #containers: string;
  readonly #owner: string;

  private constructor(path: string) {
    this.path = path;
    this.#sandboxes = join(path, 'sandboxes');
    this.#containers = join(path, 'containers');
    this.#owner = join(path, 'owner.json');
  }

  /** Makes the directory and takes it for this process; fails when another agent that lives has it. */
  static async open(path: string): Promise<StateDirectory> {
    const directory = new StateDirectory(resolve(path));
    await mkdir(directory.path, { recursive: true, mode: 0o700 });
    const { uid, mode } = await lstatDirectory(directory.path);
    if (uid !== process.geteuid?.()) {
      throw new Error(`${directory.path} belongs to user ${uid}: choose a state directory of your own`);
    }
    if ((mode & 0o777) !== 0o700) await chmod(directory.path, 0o700);
    await directory.#own();
    await mkdir(directory.#sandboxes, { recursive: true, mode: 0o700 });
    await mkdir(directory.#containers, { recursive: true, mode: 0o700 });
    return directory;
  }

  /** Leaves the directory to the next agent. */
  async release(): Promise<void> {
    if ((await this.#readOwner())?.pid === process.pid) await unlink(this.#owner);
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
    return readFile(this.#sandboxPath(id), 'utf8');
  }

  async writeSandbox(id: string, text: string): Promise<void> {
    await replaceFile(this.#sandboxPath(id), text);
  }

  async removeSandbox(id: string): Promise<void> {
    try {
      await unlink(this.#sandboxPath(id));
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error;
    }
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
      await rename(unfinished, this.#containerPath(id));
    } catch (error) {
      await removeTree(unfinished);
      throw error;
    }
  }

  async removeContainer(id: string): Promise<void> {
    const condemned = `${this.#containerPath(id)}.removed`;
    try {
      await rename(this.#containerPath(id), condemned);
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error;
    }
    await removeTree(condemned);
  }

  /** Removes what agents that died left half-made or half-removed. */
  async removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.#containers)) {
      if (leftoverPattern.test(name)) await removeTree(join(this.#containers, name));
    }
    for (const name of await readdir(this.#sandboxes)) {
      if (name.endsWith('.tmp')) await removeTree(join(this.#sandboxes, name));
    }
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
        if (owner !== undefined && owner.pid !== self.pid && (await isAlive(owner))) {
          throw new Error(
            `${this.path} is in use by process ${owner.pid}: stop that agent or choose another state directory`,
          );
        }
        if (owner !== undefined) await unlink(this.#owner);
      }
    } finally {
      await unlink(temporary);
    }
  }

  async #readOwner(): Promise<ProcessIdentity | undefined> {
    try {
      return parseAgentIdentity(await readFile(this.#owner, 'utf8'));
    } catch (error) {
      if (isFileError(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  #sandboxPath(id: string): string {
    return join(this.#sandboxes, `${checkedId(id)}.json`);
  }

  #containerPath(id: string): string {
    return join(this.#containers, checkedId(id));
  }
}

async function lstatDirectory(path: string): Promise<{ readonly uid: number; readonly mode: number }> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a directory: choose another state directory`);
  return found;
}

/** Ids become names of files: one that is not of our making must never leave the directory. */
function checkedId(id: string): string {
  if (!idPattern.test(id)) throw new Error(`"${id}" is not the id of a sandbox or container`);
  return id;
}
