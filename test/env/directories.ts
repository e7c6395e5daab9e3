/** Where the environment keeps its files: one directory for each process that uses it, named so that the dead are known. */
import { lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readProcess } from './processes.js';
import { removeIfEmpty } from './vanishing.js';

/** Short, because the socket paths below it must fit into the 107 bytes of a unix address. */
const environmentPath = '/tmp/nodelet-env';

export function environmentDir(): string {
  mkdirSync(environmentPath, { recursive: true, mode: 0o711 });
  const found = lstatSync(environmentPath);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new Error(`${environmentPath} must be a directory of the user who runs the tests; remove it`);
  }
  return environmentPath;
}

/** Archives that any process may use again. */
export function cacheDir(): string {
  const path = join(environmentDir(), 'cache');
  mkdirSync(path, { recursive: true });
  return path;
}

function ownersDir(): string {
  return join(environmentDir(), 'run');
}

/** The directory of this process, present when this returns. */
export function ownDir(): string {
  const self = readProcess(process.pid);
  if (self === undefined) {
    throw new Error('cannot read /proc/self');
  }
  const path = join(ownersDir(), `${self.pid}.${self.startTicks}`);
  mkdirSync(path, { recursive: true, mode: 0o711 });
  return path;
}

/** Removes the directory of this process once nothing is in it. */
export function dropOwnDirIfEmpty(): void {
  removeIfEmpty(ownDir());
}

export interface OwnerDir {
  readonly path: string;
  readonly alive: boolean;
}

/** The directories of all processes that use, or died while using, the environment. */
export function listOwnerDirs(): OwnerDir[] {
  const parent = ownersDir();
  mkdirSync(parent, { recursive: true, mode: 0o711 });
  return readdirSync(parent).map((name) => {
    const [pid, startTicks] = name.split('.');
    return { path: join(parent, name), alive: readProcess(Number(pid))?.startTicks === startTicks };
  });
}
