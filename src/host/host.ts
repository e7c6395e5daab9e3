/** The machine as a port: its files and mounts, so that what touches them runs on a simulated one, too. */

export type FileKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'socket'
  | 'fifo'
  | 'character-device'
  | 'block-device';

export interface FileFacts {
  readonly kind: FileKind;
  /** Permission bits with setuid, setgid and sticky: `0o2755`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly sizeBytes: number;
  /** Device and inode together identify a file. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly links: number;
}

/** A failed call, with the code of the system (`ENOENT`, `EBUSY`, …) and the path it was about. */
export class HostError extends Error {
  override readonly name = 'HostError';
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}

/** Files as Node's own calls treat them; every failure is a HostError. */
export interface HostFiles {
  /** Follows symbolic links. */
  stat(path: string): Promise<FileFacts>;
  lstat(path: string): Promise<FileFacts>;
  readFile(path: string): Promise<Uint8Array>;
  /** Creates or truncates. `mode` holds as the umask leaves it; `exclusive` refuses an existing file with EEXIST. */
  writeFile(
    path: string,
    data: Uint8Array | string,
    options?: { mode?: number; exclusive?: boolean },
  ): Promise<void>;
  /** `mode` holds as the umask leaves it. With `recursive` parents are made, too, and an existing directory is fine. */
  mkdir(path: string, options?: { mode?: number; recursive?: boolean }): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
  symlink(target: string, path: string): Promise<void>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  /** Replaces what is there, in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Removes anything but a directory. */
  unlink(path: string): Promise<void>;
  /** Removes an empty directory; ENOTEMPTY or EBUSY (a mount point) otherwise. */
  rmdir(path: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** Never follows a link; -1 leaves a side as it is. */
  lchown(path: string, uid: number, gid: number): Promise<void>;
}

/** A directory entry held open without following links, which stays the same whatever becomes of its name. */
export interface HeldPath {
  /** A path through which this very entry is reached while it is held, also from other processes of the machine. */
  readonly procPath: string;
  stat(): Promise<FileFacts>;
  /** Opens a child by one name, refusing a symbolic link with ELOOP. */
  child(name: string): Promise<HeldPath>;
  /** Makes a directory with exactly this mode and holds it. */
  makeDirectory(name: string, mode: number): Promise<HeldPath>;
  /** May be repeated. Whoever holds must close: while held, the entry keeps its mount busy. */
  close(): Promise<void>;
}

export interface MountPoint {
  readonly target: string;
  /** What is mounted: a device, `tmpfs`, `server:/path` … */
  readonly source: string;
  readonly fsType: string;
  /** Options of this mount (`rw`, `ro`, `nosuid`, `relatime` …). */
  readonly options: readonly string[];
  /** Options of the file system behind it (`size=…`). */
  readonly superOptions: readonly string[];
  /** The directory of the file system that is the mount's root; other than `/` for binds. */
  readonly root: string;
  readonly device: string;
  readonly propagation: 'private' | 'shared' | 'slave' | 'unbindable';
}

export interface MountRequest {
  /** Left out for a remount or a change of propagation. */
  readonly source?: string;
  readonly target: string;
  readonly fsType?: string;
  readonly options?: readonly string[];
  /** Takes the source as it stands; for the `procPath` of a held path. */
  readonly noCanonicalize?: boolean;
}

/** Mounts. A bind with further options becomes a bind and then a remount, as the kernel wants it. */
export interface HostMounts {
  /** All of them, or at least those at and below a path, which costs less where there are many. */
  list(below?: string): Promise<readonly MountPoint[]>;
  /** Ends by itself after a limit (ETIMEDOUT); with the signal it is no longer waited for (Cancelled) and may happen yet. */
  mount(request: MountRequest, signal?: AbortSignal): Promise<void>;
  /**
   * Where nothing is mounted there is nothing to do; a path that is not there is ENOENT. `force` is for file systems
   * whose server is away: what does not end within the limit (1 min if none is given) is forced.
   */
  unmount(target: string, options?: { force?: boolean; timeoutMs?: number }): Promise<void>;
  /** Makes the mount that holds `path` recursively shared, mounting `path` on itself where it is no mount point. */
  makeShared(path: string): Promise<void>;
}

export interface Host {
  readonly files: HostFiles;
  /**
   * The same for small files of the agent's own, on a disk of the node or in memory: nothing else goes on meanwhile, and
   * a call costs a fraction of what one costs that may be held up.
   */
  readonly ownFiles: HostFiles;
  readonly mounts: HostMounts;
  /** Holds a path whose own last element is no symbolic link (ELOOP otherwise). */
  hold(path: string): Promise<HeldPath>;
  /** What the machine can do, read once: kernel `release` as uname says it. */
  readonly kernelRelease: string;
}
