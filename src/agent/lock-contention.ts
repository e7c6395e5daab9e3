/** What the kernel tells of a lock file: which lock a descriptor holds, and whether another process waits for it. */

/** The device and inode of the lock that `/proc/self/fdinfo/N` tells of, as `/proc/locks` names them; undefined without a lock. */
export function heldLock(fdinfo: string): string | undefined {
  return /^lock:\t\d+: FLOCK +ADVISORY +WRITE +\S+ (\S+) 0 EOF$/m.exec(fdinfo)?.[1];
}

export type LockContention =
  | { readonly kind: 'alone' }
  | { readonly kind: 'wanted'; readonly byPid: number }
  /** The kernel leaves out locks whose owner has no number in this PID namespace. */
  | { readonly kind: 'not-shown' };

/** Reads `/proc/locks`: a line with an arrow is a process that waits for the lock of the line before. */
export function lockContention(locks: string, lock: string): LockContention {
  let isShown = false;
  for (const line of locks.split('\n')) {
    const [, arrow, pid, named] = /^\d+: ( *-> )?FLOCK +ADVISORY +\w+ +(-?\d+) (\S+) /.exec(line) ?? [];
    if (named !== lock) continue;
    if (arrow !== undefined) return { kind: 'wanted', byPid: Number(pid) };
    isShown = true;
  }
  return { kind: isShown ? 'alone' : 'not-shown' };
}
