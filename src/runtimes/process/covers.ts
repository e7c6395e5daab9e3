/**
 * Ways for the user of a container to what the container mounts, where only root may go.
 *
 * The folders of the agent and of its pods are closed to others, and links do not open them. So a
 * command that runs as another user gets a view of its own: each closed directory is covered, for
 * that command alone, by one that holds nothing but what the container mounts. The user could not
 * have seen anything else there.
 */
import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { findCommand } from './command-lookup.js';
import { isFileError } from './container-files.js';

export interface Cover {
  /** The directory that is closed to the user. */
  readonly directory: string;
  /** What lies below it and is shown nevertheless. */
  readonly shows: readonly string[];
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface DirectoryAccess extends User {
  readonly mode: number;
}

export function mayPass({ uid, gid }: User, directory: DirectoryAccess): boolean {
  if (uid === 0) return true;
  if (uid === directory.uid) return (directory.mode & 0o100) !== 0;
  if (gid === directory.gid) return (directory.mode & 0o010) !== 0;
  return (directory.mode & 0o001) !== 0;
}

/** Paths are real ones. Nothing can be covered when even the root is closed. */
export function planCovers(paths: readonly string[], isClosed: (directory: string) => boolean): Cover[] {
  const covers = new Map<string, Set<string>>();
  for (const path of paths) {
    const closed = directoriesAbove(path).find(isClosed);
    if (closed === undefined || closed === sep) continue;
    covers.set(closed, (covers.get(closed) ?? new Set()).add(path));
  }
  return [...covers].map(([directory, found]) => ({
    directory,
    shows: [...found].filter((path) => !directoriesAbove(path).some((above) => found.has(above))),
  }));
}

/** From the root down. */
function directoriesAbove(path: string): string[] {
  const above: string[] = [];
  for (let at = dirname(path); !above.includes(at); at = dirname(at)) above.unshift(at);
  return above;
}

/** The covers that a user needs to get at these paths; what is not there yet will be made open to all. */
export async function findCovers(paths: readonly string[], user: User): Promise<Cover[]> {
  const access = new Map<string, DirectoryAccess>();
  const reals: string[] = [];
  for (const path of paths) {
    const { real, existing } = await realPath(path);
    reals.push(real);
    for (const directory of directoriesAbove(join(existing, 'x'))) {
      if (!access.has(directory)) access.set(directory, await stat(directory));
    }
  }
  return planCovers(reals, (directory) => {
    const found = access.get(directory);
    return found !== undefined && !mayPass(user, found);
  });
}

/** The path without links as far as it exists, and how far that is. */
async function realPath(path: string): Promise<{ readonly real: string; readonly existing: string }> {
  try {
    const real = await realpath(path);
    return { real, existing: real };
  } catch (error) {
    if (!isFileError(error, 'ENOENT')) throw error;
    const { real, existing } = await realPath(dirname(path));
    return { real: join(real, basename(path)), existing };
  }
}

/** Where a cover is put together; nothing that a container mounts lies below it. */
const stage = '/sys';

const script = `set -e
uid=$1 gid=$2 setpriv=$3 cwd=$4 own=$PATH PATH=$5 dir=
shift 5
umask 022
put() { [ -z "$dir" ] || mount --move ${stage} "$dir"; }
while [ "$1" != run ]; do
  case $1 in
    cover) put; dir=$2; mount -t tmpfs -o mode=755 tmpfs ${stage} ;;
    show)
      at=${stage}\${2#"$dir"}
      if [ -d "$2" ]; then mkdir -p "$at"; else mkdir -p "\${at%/*}"; : > "$at"; fi
      mount --rbind "$2" "$at" ;;
  esac
  shift 2
done
put
shift
cd "$cwd" 2> /dev/null || :
PATH=$own
exec "$setpriv" --reuid "$uid" --regid "$gid" --clear-groups -- "$@"`;

const searchPath = (): string =>
  process.env.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The command in a view of its own, as the user; to be started as root. Throws when the machine lacks the tools. */
export function underCovers(
  command: { readonly path: string; readonly args: readonly string[] },
  view: { readonly covers: readonly Cover[]; readonly user: User; readonly workingDir: string },
): { readonly path: string; readonly args: string[] } {
  const { covers, user, workingDir } = view;
  const words = covers.flatMap(({ directory, shows }) => [
    'cover',
    directory,
    ...shows.flatMap((path) => ['show', path]),
  ]);
  const { uid, gid } = user;
  return {
    path: toolPath('unshare'),
    args: [
      ...['--mount', '--propagation', 'slave', '--', toolPath('sh'), '-c', script, 'sh'],
      ...[String(uid), String(gid), toolPath('setpriv'), workingDir, searchPath()],
      ...[...words, 'run', command.path, ...command.args],
    ],
  };
}

function toolPath(name: string): string {
  const lookup = findCommand(name, searchPath(), '/');
  if (!lookup.found) throw new Error(lookup.problem);
  return lookup.path;
}

/** Whether this machine lets root give commands a view of their own. */
export async function canCover(): Promise<boolean> {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return false;
  try {
    const cover = { directory: '/proc', shows: [] };
    const view = { covers: [cover], user: { uid: 1, gid: 1 }, workingDir: '/' };
    const { path, args } = underCovers({ path: toolPath('true'), args: [] }, view);
    await promisify(execFile)(path, args, { env: { PATH: searchPath() } });
    return true;
  } catch {
    // No such tools, or none of the rights: containers then see what their user may see.
    return false;
  }
}
