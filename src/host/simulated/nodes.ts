/** The parts of a simulated file system: file systems, their entries, and the mounts that show them. */

import type { FileFacts, FileKind, MountPoint } from '../host.js';
import { HostError } from '../host.js';
import { namesChanged } from './watches.js';

export interface FileSystem {
  readonly device: bigint;
  readonly type: string;
  readonly source: string;
  /** In the kernel's order, `rw` or `ro` first. */
  superOptions: readonly string[];
  readonly root: FileNode;
  nextInode: bigint;
}

export type SpecialKind = 'socket' | 'fifo' | 'character-device' | 'block-device';

export type FileNodeContent =
  | {
      readonly kind: 'directory';
      readonly entries: Map<string, FileNode>;
      /** The entries that survive a power cut. */
      synced: ReadonlyMap<string, FileNode>;
    }
  | { readonly kind: 'file'; data: Uint8Array; isSynced: boolean }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: SpecialKind };

export interface FileNode {
  readonly fs: FileSystem;
  readonly inode: bigint;
  readonly content: FileNodeContent;
  mode: number;
  uid: number;
  gid: number;
  /** Undefined for the root of a file system and for removed entries. */
  parent: FileNode | undefined;
  name: string;
}

export interface Mount {
  /** Undefined for the root mount. */
  readonly parent: Mount | undefined;
  /** The entry that this mount covers in its parent. */
  readonly mountpoint: FileNode | undefined;
  readonly root: FileNode;
  flags: ReadonlySet<MountFlag>;
  propagation: MountPoint['propagation'];
}

/** An entry as reached through one mount. */
export interface MountedNode {
  readonly mount: Mount;
  readonly node: FileNode;
}

/** The flags of one mount, in the kernel's order. */
export const mountFlags = ['ro', 'nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime'] as const;
export type MountFlag = (typeof mountFlags)[number];

/** The mount flags that result from options. */
export function flagsOf(options: readonly string[]): ReadonlySet<MountFlag> {
  const flags = new Set<MountFlag>(['relatime']);
  for (const option of options) {
    switch (option) {
      case 'ro':
      case 'nosuid':
      case 'nodev':
      case 'noexec':
      case 'nodiratime':
        flags.add(option);
        break;
      case 'rw':
        flags.delete('ro');
        break;
      case 'suid':
      case 'dev':
      case 'exec':
      case 'diratime':
        for (const flag of mountFlags) if (flag === `no${option}`) flags.delete(flag);
        break;
      case 'noatime':
        flags.add('noatime').delete('relatime');
        break;
      case 'relatime':
        flags.add('relatime').delete('noatime');
        break;
      case 'strictatime':
        flags.delete('noatime');
        flags.delete('relatime');
        break;
    }
  }
  return flags;
}

export function fileSystem(
  device: bigint,
  type: string,
  source: string,
  superOptions: readonly string[],
  rootMode: number,
): FileSystem {
  // The root node and its file system refer to each other; the cycle is closed only here.
  const root: { -readonly [key in keyof FileNode]?: FileNode[key] } = {
    inode: 2n,
    content: emptyDirectory(),
    mode: rootMode,
    uid: 0,
    gid: 0,
    parent: undefined,
    name: '',
  };
  const fs: FileSystem = { device, type, source, superOptions, root: root as FileNode, nextInode: 3n };
  root.fs = fs;
  return fs;
}

export function emptyDirectory(): FileNodeContent {
  return { kind: 'directory', entries: new Map(), synced: new Map() };
}

/**
 * Adds an entry to a directory. Below a setgid directory it gets the directory's group, and new directories
 * are setgid, too.
 */
export function addNode(parent: FileNode, name: string, content: FileNodeContent, mode: number): FileNode {
  const inherits = (parent.mode & 0o2000) !== 0;
  const node: FileNode = {
    fs: parent.fs,
    inode: parent.fs.nextInode++,
    content,
    mode: inherits && content.kind === 'directory' ? mode | 0o2000 : mode,
    uid: 0,
    gid: inherits ? parent.gid : 0,
    parent,
    name,
  };
  entriesOf(parent).set(name, node);
  namesChanged(parent);
  return node;
}

export function detach(node: FileNode): void {
  if (node.parent !== undefined) {
    entriesOf(node.parent).delete(node.name);
    namesChanged(node.parent);
  }
  node.parent = undefined;
}

export function attach(node: FileNode, parent: FileNode, name: string): void {
  detach(node);
  node.parent = parent;
  node.name = name;
  entriesOf(parent).set(name, node);
  namesChanged(parent);
}

export function entriesOf(node: FileNode): Map<string, FileNode> {
  if (node.content.kind !== 'directory') throw systemError('ENOTDIR', node.name);
  return node.content.entries;
}

export function isInside(node: FileNode, directory: FileNode): boolean {
  for (let at: FileNode | undefined = node; at !== undefined; at = at.parent)
    if (at === directory) return true;
  return false;
}

/** The path of an entry in its file system. */
export function pathInFileSystem(node: FileNode): string {
  const names: string[] = [];
  let at = node;
  for (; at.parent !== undefined; at = at.parent) names.unshift(at.name);
  return `/${names.join('/')}${at === node.fs.root ? '' : '//deleted'}`;
}

export function factsOf(node: FileNode): FileFacts {
  const { content } = node;
  const kind: FileKind = content.kind;
  return {
    kind,
    mode: node.mode,
    uid: node.uid,
    gid: node.gid,
    sizeBytes: sizeOf(content),
    allocatedBytes: Math.ceil(sizeOf(content) / blockBytes) * blockBytes,
    // Simulated files have no timestamps.
    modifiedMs: 0,
    device: node.fs.device,
    inode: node.inode,
    links: linksOf(node),
  };
}

export const blockBytes = 4096;

function sizeOf(content: FileNodeContent): number {
  if (content.kind === 'file') return content.data.length;
  if (content.kind === 'symlink') return Buffer.byteLength(content.target);
  return content.kind === 'directory' ? 4096 : 0;
}

/** What the files of a tree take, in whole blocks. */
export function treeBytes({ content }: FileNode): number {
  if (content.kind !== 'directory') return Math.ceil(sizeOf(content) / blockBytes) * blockBytes;
  return [...content.entries.values()].reduce((sum, node) => sum + treeBytes(node), 0);
}

function linksOf(node: FileNode): number {
  const removed = node.parent === undefined && node !== node.fs.root;
  if (removed) return 0;
  if (node.content.kind !== 'directory') return 1;
  let links = 2;
  for (const { content } of node.content.entries.values()) if (content.kind === 'directory') links++;
  return links;
}

const descriptions: Readonly<Record<string, string>> = {
  EBUSY: 'resource busy or locked',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EISDIR: 'illegal operation on a directory',
  ELOOP: 'too many symbolic links encountered',
  ENAMETOOLONG: 'name too long',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EROFS: 'read-only file system',
  EXDEV: 'cross-device link not permitted',
};

/** An error with the text of Node's own calls. */
export function systemError(code: string, path: string, operation?: string): HostError {
  const call = operation === undefined ? '' : `, ${operation} '${path}'`;
  return new HostError(code, path, `${code}: ${descriptions[code] ?? 'failed'}${call}`);
}
