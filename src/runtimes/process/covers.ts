/**
 * Gives a container's user access to its mounts below directories that only root may enter.
 *
 * The directories of the agent and its pods are closed to others, and links do not open them. So a command
 * that runs as another user gets its own view: each closed directory is covered, for that command alone, by
 * one that holds nothing but what the container mounts. The user could not have seen anything else there.
 */
import { dirname, sep } from 'node:path';
import { absolutePath, checkedWord } from '../../programs/checked-word.js';

export interface Cover {
  /** The directory closed to the user. */
  readonly directory: string;
  /** The paths below it that the cover shows. */
  readonly shows: readonly string[];
}

export interface User {
  readonly uid: number;
  readonly gid: number;
  /** Supplemental groups. */
  readonly groups?: readonly number[];
}

export interface DirectoryAccess {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

export function mayPass({ uid, gid, groups = [] }: User, directory: DirectoryAccess): boolean {
  if (uid === 0) return true;
  if (uid === directory.uid) return (directory.mode & 0o100) !== 0;
  if (gid === directory.gid || groups.includes(directory.gid)) return (directory.mode & 0o010) !== 0;
  return (directory.mode & 0o001) !== 0;
}

/** Takes real paths. Nothing can be covered when even the root is closed. */
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
export function directoriesAbove(path: string): string[] {
  const above: string[] = [];
  for (let at = dirname(path); !above.includes(at); at = dirname(at)) above.unshift(at);
  return above;
}

/** Where a cover is assembled; no container mounts anything below it. */
const stage = '/sys';

/** Run by root in its own mount namespace: `sh <working directory> <words of the covers> run <command …>`. */
export const coversScript = `set -e
cwd=$1 dir=
shift
umask 022
put() { [ -z "$dir" ] || mount --move -- ${stage} "$dir"; }
while [ "$1" != run ]; do
  case $1 in
    cover) put; dir=$2; mount -t tmpfs -o mode=755 -- tmpfs ${stage} ;;
    show)
      at=${stage}\${2#"$dir"}
      if [ -d "$2" ]; then mkdir -p -- "$at"; else mkdir -p -- "\${at%/*}"; : > "$at"; fi
      mount --rbind -- "$2" "$at" ;;
  esac
  shift 2
done
put
shift
cd -- "$cwd" 2> /dev/null || :
exec "$@"`;

export function coverWords(covers: readonly Cover[]): string[] {
  return covers.flatMap(({ directory, shows }) => [
    'cover',
    checkedWord(absolutePath, 'a covered directory', directory),
    ...shows.flatMap((path) => ['show', checkedWord(absolutePath, 'a mounted path', path)]),
  ]);
}
