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
  /** What the content takes on its file system: less than its size where a file has holes. */
  readonly allocatedBytes: number;
  /** When the content last changed. */
  readonly modifiedMs: number;
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

/** One name of a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** A directory that is being listed, a part at a time: a pod may fill one with more names than the memory has room for. */
export interface OpenedDirectory {
  /** Some hundred names at most; none at the end. Names that come or go meanwhile may be told or not. */
  next(): Promise<readonly DirectoryEntry[]>;
  /** May be repeated. */
  close(): Promise<void>;
}

/** A regular file that is open for reading: it stays the same whatever becomes of its name. */
export interface OpenedFile {
  stat(): Promise<FileFacts>;
  /** Reads into the buffer from a position of the file on; how many bytes there were, 0 at the end. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** May be repeated. */
  close(): Promise<void>;
}

/** A new file that is being written, from its beginning on. */
export interface NewFile {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** May be repeated. */
  close(): Promise<void>;
}

/** How full a file system is. */
export interface FileSystemFacts {
  readonly blockBytes: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  /** Of the free blocks, those that are not reserved for root. */
  readonly availableBlocks: number;
  readonly inodes: number;
  readonly freeInodes: number;
}

export interface WriteFileOptions {
  readonly mode?: number;
  readonly exclusive?: boolean;
  readonly sync?: boolean;
}

/** Files as Node's own calls treat them; every failure is a HostError. */
export interface HostFiles {
  /** Follows symbolic links. */
  stat(path: string): Promise<FileFacts>;
  lstat(path: string): Promise<FileFacts>;
  readFile(path: string): Promise<Uint8Array>;
  /**
   * Creates or truncates. `mode` holds as the umask leaves it; `exclusive` refuses an existing file with EEXIST. With
   * `sync` the bytes are on the disk when it resolves; the file's name is not, before `syncDirectory`.
   */
  writeFile(path: string, data: Uint8Array | string, options?: WriteFileOptions): Promise<void>;
  /** Resolves when the names that a directory has now would be found after a power cut. */
  syncDirectory(path: string): Promise<void>;
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
  /** The file system that a path lies on. */
  statFileSystem(path: string): Promise<FileSystemFacts>;
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
  /** Makes a file with exactly this mode; EEXIST where the name is taken, by a link, too. */
  createFile(name: string, mode: number): Promise<NewFile>;
  /**
   * Opens a regular file for reading. Everything else is refused without being opened, which may wait or have
   * effects: EISDIR for a directory, EINVAL for a pipe, a socket or a device.
   */
  openFile(): Promise<OpenedFile>;
  /** ENOTDIR for everything else. */
  openDirectory(): Promise<OpenedDirectory>;
  /** Where a symbolic link in this directory leads, as it stands; EINVAL for everything else. */
  readlink(name: string): Promise<string>;
  /** Tells mounts apart, as long as they are there: two entries are in the same mount if and only if theirs are equal. */
  mountId(): Promise<number>;
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
  /**
   * The same calls for places whose file system may not answer, such as that of a server. A call that does not come back in
   * time fails with ETIMEDOUT, and holds up nothing but later calls of the same key (a volume, a folder), which fail at once
   * until it has come back. It takes a little longer than a plain call.
   */
  apart(key: string): Pick<Host, 'files' | 'hold'>;
  /** What the machine can do, read once: kernel `release` as uname says it. */
  readonly kernelRelease: string;
}
