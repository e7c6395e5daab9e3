/** Binds a subPath's target to its own path, where no link in the volume can redirect it. */
import { dirname, join } from 'node:path/posix';
import { asError } from '../../async/index.js';
import {
  cleanMountPoint,
  type FileFacts,
  type HeldPath,
  type Host,
  isCorruptedMount,
  isHostError,
  isMissing,
  isMountPoint,
} from '../../host/index.js';
import { holdWithin } from './descend.js';

export interface SubPathBind {
  readonly host: Host;
  readonly volumePath: string;
  readonly subPath: string;
  readonly target: string;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum number of mounts stacked at the target. */
const stackLimit = 16;

/** Idempotent: keeps a mount of the same file, replaces a mount of another. */
export async function bindSubPath(bind: SubPathBind): Promise<void> {
  const { files } = bind.host;
  const base = await files.realpath(bind.volumePath);
  const source = await files.realpath(join(bind.volumePath, bind.subPath));
  const held = await holdWithin(bind.host, base, source);
  try {
    const facts = await held.stat();
    if (await isBoundAlready(bind, facts)) return;
    await bindHeld(bind, held, facts);
  } finally {
    await held.close();
  }
}

/** Whether the target shows the source; takes anything else away from there, without waiting for its server. */
async function isBoundAlready({ host, target }: SubPathBind, source: FileFacts): Promise<boolean> {
  for (let depth = 0; depth < stackLimit && (await isMountPoint(host, target)); depth++) {
    const there = await statMounted(host, target);
    if (there?.inode === source.inode && there.device === source.device) return true;
    await host.mounts.unmount(target, { lazy: true });
  }
  return false;
}

/** Undefined if the mounted file is gone, or its server does not answer while that of the source does. */
async function statMounted({ files }: Host, target: string): Promise<FileFacts | undefined> {
  try {
    return await files.stat(target);
  } catch (error) {
    if (isCorruptedMount(error) || isMissing(error) || isHostError(error, 'ETIMEDOUT')) return undefined;
    throw error;
  }
}

async function bindHeld(
  { host, target, signal }: SubPathBind,
  held: HeldPath,
  facts: FileFacts,
): Promise<void> {
  try {
    await prepareTarget(host, target, facts.kind === 'directory');
    const request = { source: held.procPath, target, options: ['bind'], noCanonicalize: true };
    await host.mounts.mount(request, signal);
  } catch (error) {
    try {
      await cleanMountPoint(host, target);
      await removeEmptyParents(host, target);
    } catch (cleaningError) {
      throw new AggregateError([error, cleaningError], asError(error).message, { cause: error });
    }
    throw error;
  }
}

/** Makes an empty directory, or an empty file for everything else. */
async function prepareTarget({ files }: Host, target: string, asDirectory: boolean): Promise<void> {
  await files.mkdir(dirname(target), { mode: 0o750, recursive: true });
  const there = await kindAt(files, target);
  if (there === (asDirectory ? 'directory' : 'file')) return;
  if (there === 'directory') await files.rmdir(target);
  else if (there !== undefined) await files.unlink(target);
  if (asDirectory) await files.mkdir(target, { mode: 0o750 });
  else await files.writeFile(target, '', { mode: 0o640, exclusive: true });
}

async function kindAt(files: Host['files'], path: string): Promise<FileFacts['kind'] | undefined> {
  try {
    return (await files.lstat(path)).kind;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Removes the directories of the container, the volume and all subPaths, as far as they are empty. */
export async function removeEmptyParents({ files }: Host, target: string): Promise<void> {
  const container = dirname(target);
  for (const dir of [container, dirname(container), dirname(dirname(container))]) {
    try {
      await files.rmdir(dir);
    } catch (error) {
      if (isMissing(error)) continue;
      if (isHostError(error, 'ENOTEMPTY', 'EEXIST')) return;
      throw error;
    }
  }
}
