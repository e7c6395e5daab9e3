/** Finds the sockets of plugins: in the registration directory and in directories below it, within bounds. */
import { join } from 'node:path/posix';
import { errorText } from '../async/index.js';
import { type DirectoryEntry, entriesIn, type FileFacts, type Host, isHostError } from '../host/index.js';
import { pluginLimits } from './limits.js';
import type { FoundSockets } from './plan.js';

export interface PluginScan {
  readonly sockets: FoundSockets;
  /** The directories that were looked at, by path, with what tells one from another in its place. */
  readonly directories: ReadonlyMap<string, string>;
  /** What could not be looked at, or was too much; distinct texts. */
  readonly problems: readonly string[];
}

/** Entries may come and go meanwhile. Rejects only if the directory itself cannot be read. */
export async function scanForPlugins(
  host: Pick<Host, 'files' | 'hold'>,
  directory: string,
): Promise<PluginScan> {
  const sockets = new Map<string, string>();
  const directories = new Map<string, string>();
  const problems = new Set<string>();
  let names = 0;

  const look = async (path: string, { name, kind }: DirectoryEntry, depth: number): Promise<void> => {
    if (name.startsWith('.')) return;
    if (kind === 'directory') return enter(path, depth + 1);
    // A link to a socket is as good as the socket; a link to a directory is not followed.
    if (kind !== 'socket' && kind !== 'symlink') return;
    const facts = await factsAt(host, path);
    if (facts?.kind === 'socket') sockets.set(path, identityOf(facts));
  };
  const enter = async (path: string, depth: number): Promise<void> => {
    if (depth > pluginLimits.depth || directories.size > pluginLimits.directories) {
      problems.add(`${path} is not looked into: there are too many directories below ${directory}`);
      return;
    }
    const facts = await factsAt(host, path);
    if (facts?.kind !== 'directory') return;
    directories.set(path, identityOf({ ...facts, modifiedMs: 0 }));
    for await (const part of entriesIn(host, path)) {
      for (const entry of part) {
        if (++names > pluginLimits.names) {
          problems.add(`not all of ${directory} is looked at: it has more than ${pluginLimits.names} names`);
          return;
        }
        await look(join(path, entry.name), entry, depth).catch((error: unknown) => {
          if (!isGone(error)) problems.add(`${join(path, entry.name)}: ${errorText(error)}`);
        });
      }
    }
  };
  await enter(directory, 0);
  return { sockets, directories, problems: [...problems].slice(0, 10) };
}

async function factsAt({ files }: Pick<Host, 'files'>, path: string): Promise<FileFacts | undefined> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return isHostError(error, 'ENOENT', 'ENOTDIR', 'ELOOP');
}

/** An inode is soon used again, but not with the time at which the file before was made. */
function identityOf({ device, inode, modifiedMs }: FileFacts): string {
  return `${device} ${inode} ${modifiedMs}`;
}
