/** Writes a volume's files atomically: a reader sees either all old files or all new ones. */
import { randomInt } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { Clock } from '../async/index.js';
import { type HostFiles, isHostError, isMissing } from '../host/index.js';
import {
  dataLink,
  entriesToRemove,
  isTimestampName,
  linkTarget,
  newDataLink,
  normalPayload,
  payloadDiffers,
  planRoot,
  timestampName,
  topLevelNames,
} from './atomic-writer-plan.js';

export interface PayloadFile {
  readonly data: Uint8Array | string;
  /** Exactly these permission bits. */
  readonly mode: number;
  readonly fsUser?: number | undefined;
}

/** Files by path relative to the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface AtomicWrite {
  readonly files: HostFiles;
  readonly clock: Pick<Clock, 'now'>;
  /** The root of the volume; must exist. */
  readonly directory: string;
  readonly payload: Payload;
  /** Runs when all new files are written and none is visible: the place for the ownership walk over `directory`. */
  readonly beforeSwitch?: () => Promise<void>;
  /** The suffix of the timestamp directory; for tests. */
  readonly randomSuffix?: () => string;
}

export interface AtomicWriteOutcome {
  /** False if everything was up to date; visible links are repaired anyway. */
  readonly written: boolean;
}

const nameAttempts = 100;

/**
 * Repairs what an interrupted write left: its timestamp directory, its temporary link, missing or dangling
 * links. A failure before the switch leaves the current files untouched.
 */
export async function writeAtomically(write: AtomicWrite): Promise<AtomicWriteOutcome> {
  const payload = normalPayload(write.payload);
  const old = await currentDirectory(write);
  const written = old === undefined || (await needsWrite(write, payload, old));
  const current = written ? await writeAndSwitch(write, payload) : old;
  await putRootInOrder(write, payload, current);
  return { written };
}

/** The name of the current timestamp directory, if any. */
async function currentDirectory({ files, directory }: AtomicWrite): Promise<string | undefined> {
  try {
    const target = await files.readlink(`${directory}/${dataLink}`);
    // A link to elsewhere is not the writer's: it is replaced, but its target is left alone.
    return isTimestampName(target) ? target : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function needsWrite(
  { files, directory }: AtomicWrite,
  payload: Payload,
  old: string,
): Promise<boolean> {
  const entries = await listEntries(files, `${directory}/${old}`, payload);
  if (entries === undefined || entriesToRemove(entries, payload).length > 0) return true;
  const contents = new Map<string, Uint8Array>();
  for (const path of payload.keys()) {
    const content = await readIfFile(files, `${directory}/${old}/${path}`);
    if (content !== undefined) contents.set(path, content);
  }
  return payloadDiffers(payload, contents);
}

async function readIfFile(files: HostFiles, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return undefined;
    throw error;
  }
}

/**
 * All entries below the directory by relative path; undefined if it does not exist. Payload files are read
 * anyway, which tells whether each is a file.
 */
async function listEntries(files: HostFiles, root: string, payload: Payload): Promise<string[] | undefined> {
  const entries: string[] = [];
  const visit = async (relative: string): Promise<void> => {
    for (const name of await files.readdir(`${root}${relative}`)) {
      const path = `${relative}/${name}`;
      entries.push(path.slice(1));
      if (payload.has(path.slice(1))) continue;
      if ((await files.lstat(`${root}${path}`)).kind === 'directory') await visit(path);
    }
  };
  try {
    await visit('');
    return entries;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Returns the name of the new timestamp directory. */
async function writeAndSwitch(write: AtomicWrite, payload: Payload): Promise<string> {
  const { files, directory } = write;
  const name = await makeTimestampDirectory(write);
  await files.chmod(`${directory}/${name}`, 0o755);
  const root = `${directory}/${name}`;
  const made = new Set([root]);
  for (const [path, file] of payload) await writePayloadFile(files, { root, made }, path, file);
  await write.beforeSwitch?.();
  const temporary = `${directory}/${newDataLink}`;
  try {
    await unlinkIfThere(files, temporary);
    await files.symlink(name, temporary);
    await files.rename(temporary, `${directory}/${dataLink}`);
  } catch (error) {
    await unlinkIfThere(files, temporary);
    // A rename may report failure and still succeed; then readers already use the new directory.
    if ((await currentDirectory(write)) !== name) await removeDirectory(files, `${directory}/${name}`);
    throw error;
  }
  return name;
}

async function makeTimestampDirectory(write: AtomicWrite): Promise<string> {
  const { files, directory, clock, randomSuffix = () => String(randomInt(2 ** 32)) } = write;
  for (let attempt = 1; ; attempt++) {
    const name = timestampName(clock.now(), randomSuffix());
    try {
      await files.mkdir(`${directory}/${name}`, { mode: 0o700 });
      return name;
    } catch (error) {
      if (!isHostError(error, 'EEXIST') || attempt === nameAttempts) throw error;
    }
  }
}

/** A timestamp directory, and which directories of it are there. */
interface NewDirectory {
  readonly root: string;
  readonly made: Set<string>;
}

async function writePayloadFile(
  files: HostFiles,
  { root, made }: NewDirectory,
  path: string,
  { data, mode, fsUser }: PayloadFile,
): Promise<void> {
  const file = `${root}/${path}`;
  const parent = dirname(file);
  // Most files are at the top, and a directory that is there costs as much as a new one.
  if (!made.has(parent)) await files.mkdir(parent, { mode: 0o777, recursive: true });
  made.add(parent);
  await files.writeFile(file, data, { mode });
  // The umask restricted the mode when the file was created.
  await files.chmod(file, mode);
  if (fsUser !== undefined) await files.lchown(file, fsUser, -1);
}

async function putRootInOrder(write: AtomicWrite, payload: Payload, current: string): Promise<void> {
  const { files, directory } = write;
  const wanted = topLevelNames(payload);
  const entries = await files.readdir(directory);
  const unknown = entries.filter((name) => !wanted.has(name) && !name.startsWith('..'));
  const plan = planRoot(entries, await linkTargets(files, directory, unknown), wanted, current);
  for (const name of plan.links) {
    await files.symlink(linkTarget(name), `${directory}/${name}`);
    const fsUser = payload.get(wanted.get(name) ?? name)?.fsUser;
    if (fsUser !== undefined) await files.lchown(`${directory}/${name}`, fsUser, -1);
  }
  for (const name of plan.staleLinks) await files.unlink(`${directory}/${name}`);
  for (const name of plan.staleDirectories) await removeDirectory(files, `${directory}/${name}`);
  if (entries.includes(newDataLink)) await unlinkIfThere(files, `${directory}/${newDataLink}`);
}

async function linkTargets(
  files: HostFiles,
  directory: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>();
  for (const name of names) {
    try {
      targets.set(name, await files.readlink(`${directory}/${name}`));
    } catch (error) {
      // Directories for nested mounts are not links.
      if (!isHostError(error, 'EINVAL', 'ENOENT')) throw error;
    }
  }
  return targets;
}

async function unlinkIfThere(files: HostFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Only this writer uses a timestamp directory, so nothing is mounted in it or changes it during removal. */
async function removeDirectory(files: HostFiles, path: string): Promise<void> {
  for (const name of await files.readdir(path)) {
    const entry = `${path}/${name}`;
    if ((await files.lstat(entry)).kind === 'directory') await removeDirectory(files, entry);
    else await files.unlink(entry);
  }
  await files.rmdir(path);
}
