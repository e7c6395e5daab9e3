/** The machine port: files and mounts, so that code touching them also runs on a simulated machine. */

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
  /** Space taken on the file system; less than the size if the file has holes. */
  readonly allocatedBytes: number;
  /** When the content last changed. */
  readonly modifiedMs: number;
  /** Device and inode together identify a file. */
  readonly device: bigint;
  readonly inode: bigint;
  readonly links: number;
}

/** A failed call, with the system's code (`ENOENT`, `EBUSY`, …) and its path. */
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

/** One entry of a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/** A directory listed in parts: a pod may fill one with more names than fit in memory. */
export interface OpenedDirectory {
  /** A few hundred entries at most; none at the end. Names added or removed meanwhile may or may not appear. */
  next(): Promise<readonly DirectoryEntry[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A regular file open for reading; it stays the same file whatever happens to its name. */
export interface OpenedFile {
  stat(): Promise<FileFacts>;
  /** Reads into the buffer from a file position; returns the number of bytes, 0 at the end. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A new file, written from its beginning. */
export interface NewFile {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** How full a file system is. */
export interface FileSystemFacts {
  readonly blockBytes: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  /** Free blocks not reserved for root. */
  readonly availableBlocks: number;
  readonly inodes: number;
  readonly freeInodes: number;
}

export interface WriteFileOptions {
  readonly mode?: number;
  readonly exclusive?: boolean;
  readonly sync?: boolean;
  /** With `sync`: called when the bytes outlast this process, before they are on disk. */
  readonly onWritten?: (() => void) | undefined;
}

/** File calls with the semantics of Node's own; every failure is a HostError. */
export interface HostFiles {
  /** Follows symbolic links. */
  stat(path: string): Promise<FileFacts>;
  lstat(path: string): Promise<FileFacts>;
  readFile(path: string): Promise<Uint8Array>;
  /**
   * Creates or truncates. The umask applies to `mode`; `exclusive` fails with EEXIST if the file exists. With
   * `sync` the bytes are on disk when it resolves; the file's name is only after `syncDirectory`.
   */
  writeFile(path: string, data: Uint8Array | string, options?: WriteFileOptions): Promise<void>;
  /** Resolves when the directory's current names would survive a power cut. */
  syncDirectory(path: string): Promise<void>;
  /** The umask applies to `mode`. `recursive` also makes parents and accepts an existing directory. */
  mkdir(path: string, options?: { mode?: number; recursive?: boolean }): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
  symlink(target: string, path: string): Promise<void>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  /** Replaces an existing target atomically. */
  rename(from: string, to: string): Promise<void>;
  /** Removes anything but a directory. */
  unlink(path: string): Promise<void>;
  /** Removes an empty directory; otherwise fails with ENOTEMPTY, or EBUSY for a mount point. */
  rmdir(path: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** Never follows a link; -1 leaves an id unchanged. */
  lchown(path: string, uid: number, gid: number): Promise<void>;
  /** The file system that holds a path. */
  statFileSystem(path: string): Promise<FileSystemFacts>;
}

/** A directory entry held open without following links; it stays the same entry whatever happens to its name. */
export interface HeldPath {
  /** A path to this very entry while it is held, valid in other processes of the machine, too. */
  readonly procPath: string;
  stat(): Promise<FileFacts>;
  /** Opens a child by name; ELOOP for a symbolic link. */
  child(name: string): Promise<HeldPath>;
  /** Makes a directory with exactly this mode and holds it. */
  makeDirectory(name: string, mode: number): Promise<HeldPath>;
  /** Creates a file with exactly this mode; EEXIST if the name is taken, even by a link. */
  createFile(name: string, mode: number): Promise<NewFile>;
  /**
   * Opens a regular file for reading. Refuses everything else without opening it, as that may block or have
   * side effects: EISDIR for a directory, EINVAL for a pipe, a socket or a device.
   */
  openFile(): Promise<OpenedFile>;
  /** ENOTDIR for anything but a directory. */
  openDirectory(): Promise<OpenedDirectory>;
  /** The unresolved target of a symbolic link in this directory; EINVAL for anything else. */
  readlink(name: string): Promise<string>;
  /** Two entries are in the same mount if and only if their ids are equal, while both mounts exist. */
  mountId(): Promise<number>;
  /** Idempotent. The holder must close: a held entry keeps its mount busy. */
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
  /** The directory of the file system that is the mount's root; not `/` for most binds. */
  readonly root: string;
  readonly device: string;
  readonly propagation: 'private' | 'shared' | 'slave' | 'unbindable';
}

export interface MountRequest {
  /** Omitted for a remount or a change of propagation. */
  readonly source?: string;
  readonly target: string;
  readonly fsType?: string;
  readonly options?: readonly string[];
  /** Uses the source as it is; for the `procPath` of a held path. */
  readonly noCanonicalize?: boolean;
}

export interface UnmountOptions {
  readonly force?: boolean;
  readonly lazy?: boolean;
  readonly timeoutMs?: number;
}

/** Mounts. A bind with further options becomes a bind and a remount, as the kernel requires. */
export interface HostMounts {
  /** All mounts, or at least those at and below a path, which costs less where there are many. */
  list(below?: string): Promise<readonly MountPoint[]>;
  /** Fails with ETIMEDOUT at its limit. Aborting stops the wait (Cancelled), but the mount may still happen. */
  mount(request: MountRequest, signal?: AbortSignal): Promise<void>;
  /**
   * Does nothing if nothing is mounted; ENOENT if the path does not exist. `force` is for file systems whose
   * server is gone: an unmount that exceeds the limit (1 min by default) is forced. A `lazy` one takes the mount, with
   * all that is mounted in it, out of sight at once, even if it is in use or never answers.
   */
  unmount(target: string, options?: UnmountOptions): Promise<void>;
  /**
   * Makes the mount that holds `path` recursively shared, binding `path` on itself if it is not a mount point; fails with
   * EBUSY if that would hide mounts below it.
   */
  makeShared(path: string): Promise<void>;
}

/** A loop device with the file that it shows as a disk. */
export interface LoopDevice {
  /** `/dev/loop0` */
  readonly device: string;
  /** As the kernel names it now; what was unmounted or removed has no useful name. */
  readonly file: string;
}

/** Disks of the machine. A loop device on a disk keeps that disk's number from being given to another one. */
export interface HostBlockDevices {
  loops(): Promise<readonly LoopDevice[]>;
  /** Makes a loop device of a file or a disk, whose mount stays busy until it is detached. */
  attachLoop(file: string): Promise<void>;
  /** Does nothing if it is not attached. One that is open elsewhere goes when it is closed. */
  detachLoop(device: string): Promise<void>;
  /** Whether a disk is mounted or otherwise claimed; false for a path without a disk. */
  isClaimed(device: string): Promise<boolean>;
}

/** Tells of names that come and go in one directory; not of changed content, nor of what happens further down. */
export interface DirectoryWatch {
  /** Idempotent; nothing is told after it. */
  close(): void;
}

export interface Host {
  readonly files: HostFiles;
  /**
   * The same calls for the agent's own small files, on a local disk or in memory. Synchronous: blocks the
   * event loop, saves the thread-pool round trip.
   */
  readonly ownFiles: HostFiles;
  readonly mounts: HostMounts;
  readonly blockDevices: HostBlockDevices;
  /** Holds a path whose last element is not a symbolic link (ELOOP otherwise). */
  hold(path: string): Promise<HeldPath>;
  /**
   * The same calls for file systems that may not respond, such as a server's. A call that takes too long
   * fails with ETIMEDOUT and holds up only later calls of the same key (a volume, a directory), which fail at
   * once until it returns. Slightly slower than a plain call.
   */
  apart(key: string): Pick<Host, 'files' | 'hold'>;
  /**
   * Calls back soon after names came or went in a directory, once for several changes or more often. ENOENT or ENOTDIR if
   * there is no such directory. Changes may be missed, as when the directory itself is removed: look again from time to time.
   */
  watch(directory: string, onChange: () => void): DirectoryWatch;
  /** The kernel release as uname reports it, read once. */
  readonly kernelRelease: string;
  /** Whether root here is root of a user namespace only, read once. */
  readonly inUserNamespace: boolean;
}
