/** The file calls of a simulated machine, each atomic, as root on Linux. */
import type { FileFacts, FileSystemFacts } from '../host.js';
import type { SimulatedMachine, WalkedPath } from './machine.js';
import {
  addNode,
  attach,
  blockBytes,
  detach,
  emptyDirectory,
  entriesOf,
  type FileNode,
  type FileNodeContent,
  factsOf,
  isInside,
  type Mount,
  type MountedNode,
  systemError,
} from './nodes.js';

export class FileCalls {
  constructor(
    readonly machine: SimulatedMachine,
    readonly umask: number,
  ) {}

  stat(path: string): FileFacts {
    return factsOf(this.machine.resolve(path, true).node);
  }

  lstat(path: string): FileFacts {
    return factsOf(this.machine.resolve(path, false).node);
  }

  readFile(path: string): Uint8Array {
    const { content } = this.machine.resolve(path, true).node;
    if (content.kind === 'directory') throw systemError('EISDIR', path, 'read');
    if (content.kind !== 'file') throw systemError('ENXIO', path, 'open');
    return content.data.slice();
  }

  writeFile(path: string, data: Uint8Array, mode: number, exclusive: boolean): void {
    // Without `exclusive`, a write goes through a link to a missing target.
    const walked = this.machine.walk(path, !exclusive);
    const { position } = walked;
    if (position === undefined) {
      const parent = this.#writableParent(walked, path);
      const content: FileNodeContent = { kind: 'file', data: data.slice(), isSynced: false };
      addNode(parent.node, walked.name, content, mode & 0o7777 & ~this.umask);
      return;
    }
    if (exclusive) throw systemError('EEXIST', path, 'open');
    const { content } = position.node;
    if (content.kind === 'directory') throw systemError('EISDIR', path, 'open');
    if (content.kind !== 'file') throw systemError('ENXIO', path, 'open');
    requireWritable(position.mount, path);
    content.data = data.slice();
    content.isSynced = false;
  }

  syncFile(path: string): void {
    const { content } = this.machine.resolve(path, true).node;
    if (content.kind === 'file') content.isSynced = true;
  }

  syncDirectory(path: string): void {
    const { content } = this.machine.resolve(path, true).node;
    if (content.kind !== 'directory') throw systemError('ENOTDIR', path, 'open');
    content.synced = new Map(content.entries);
  }

  mkdir(path: string, mode: number): void {
    const walked = this.machine.walk(path, false);
    if (walked.position !== undefined) throw systemError('EEXIST', path, 'mkdir');
    const parent = this.#writableParent(walked, path);
    addNode(parent.node, walked.name, emptyDirectory(), mode & 0o1777 & ~this.umask);
  }

  readdir(path: string): readonly string[] {
    const { node } = this.machine.resolve(path, true);
    if (node.content.kind !== 'directory') throw systemError('ENOTDIR', path, 'scandir');
    return [...node.content.entries.keys()];
  }

  symlink(target: string, path: string): void {
    if (target === '') throw systemError('ENOENT', path, 'symlink');
    const walked = this.machine.walk(path, false);
    if (walked.position !== undefined) throw systemError('EEXIST', path, 'symlink');
    addNode(this.#writableParent(walked, path).node, walked.name, { kind: 'symlink', target }, 0o777);
  }

  readlink(path: string): string {
    const { content } = this.machine.resolve(path, false).node;
    if (content.kind !== 'symlink') throw systemError('EINVAL', path, 'readlink');
    return content.target;
  }

  realpath(path: string): string {
    return this.machine.pathOf(this.machine.resolve(path, true));
  }

  rename(from: string, to: string): void {
    const source = this.machine.walk(from, false);
    const target = this.machine.walk(to, false);
    if (source.position === undefined) throw systemError('ENOENT', from, 'rename');
    const sourceParent = this.#writableParent(source, from);
    const targetParent = this.#writableParent(target, to);
    if (sourceParent.mount !== targetParent.mount) throw systemError('EXDEV', to, 'rename');
    const moved = childOf(sourceParent, source.name, from);
    const replaced = target.position === undefined ? undefined : childOf(targetParent, target.name, to);
    if (moved === replaced) return;
    if (isInside(targetParent.node, moved)) throw systemError('EINVAL', to, 'rename');
    if (this.machine.isMountpoint(moved)) throw systemError('EBUSY', from, 'rename');
    if (replaced !== undefined) this.#requireReplaceable(moved, replaced, to);
    if (replaced !== undefined) detach(replaced);
    attach(moved, targetParent.node, target.name);
  }

  unlink(path: string): void {
    const walked = this.machine.walk(path, false);
    const { parent, node } = this.#existing(walked, path);
    if (node.content.kind === 'directory') throw systemError('EISDIR', path, 'unlink');
    if (this.machine.isMountpoint(node)) throw systemError('EBUSY', path, 'unlink');
    requireWritable(parent.mount, path);
    detach(node);
  }

  rmdir(path: string): void {
    const walked = this.machine.walk(path, false);
    const { parent, node } = this.#existing(walked, path);
    if (node.content.kind !== 'directory') throw systemError('ENOTDIR', path, 'rmdir');
    if (this.machine.isMountpoint(node)) throw systemError('EBUSY', path, 'rmdir');
    requireWritable(parent.mount, path);
    if (node.content.entries.size > 0) throw systemError('ENOTEMPTY', path, 'rmdir');
    detach(node);
  }

  chmod(path: string, mode: number): void {
    const { mount, node } = this.machine.resolve(path, true);
    requireWritable(mount, path);
    node.mode = mode & 0o7777;
  }

  lchown(path: string, uid: number, gid: number): void {
    const { mount, node } = this.machine.resolve(path, false);
    requireWritable(mount, path);
    if (uid !== -1) node.uid = uid;
    if (gid !== -1) node.gid = gid;
    const { kind } = node.content;
    if (kind === 'directory' || kind === 'symlink') return;
    node.mode &= ~0o4000;
    if ((node.mode & 0o010) !== 0) node.mode &= ~0o2000;
  }

  /** Every file system has the same size. */
  statFileSystem(path: string): FileSystemFacts {
    this.machine.resolve(path, true);
    return {
      blockBytes,
      blocks: 1_000_000,
      freeBlocks: 600_000,
      availableBlocks: 500_000,
      inodes: 100_000,
      freeInodes: 90_000,
    };
  }

  /** A new file with exactly this mode. */
  createFile(path: string, mode: number): FileNode {
    const walked = this.machine.walk(path, false);
    if (walked.position !== undefined) throw systemError('EEXIST', path, 'open');
    const parent = this.#writableParent(walked, path);
    const content: FileNodeContent = { kind: 'file', data: new Uint8Array(), isSynced: false };
    return addNode(parent.node, walked.name, content, mode & 0o7777);
  }

  #writableParent({ parent }: WalkedPath, path: string): MountedNode {
    if (parent === undefined) throw systemError('EBUSY', path);
    // A directory that was removed while held takes no new entries.
    if (parent.node.parent === undefined && parent.node !== parent.node.fs.root)
      throw systemError('ENOENT', path);
    requireWritable(parent.mount, path);
    return parent;
  }

  /** The entry itself, beneath anything mounted on it. */
  #existing({ position, parent, name }: WalkedPath, path: string): { parent: MountedNode; node: FileNode } {
    if (position === undefined) throw systemError('ENOENT', path);
    if (parent === undefined) throw systemError('EBUSY', path);
    return { parent, node: childOf(parent, name, path) };
  }

  #requireReplaceable(moved: FileNode, replaced: FileNode, to: string): void {
    if (this.machine.isMountpoint(replaced)) throw systemError('EBUSY', to, 'rename');
    const { content } = replaced;
    if (moved.content.kind === 'directory') {
      if (content.kind !== 'directory') throw systemError('ENOTDIR', to, 'rename');
      if (content.entries.size > 0) throw systemError('ENOTEMPTY', to, 'rename');
    } else if (content.kind === 'directory') throw systemError('EISDIR', to, 'rename');
  }
}

function childOf(parent: MountedNode, name: string, path: string): FileNode {
  const node = entriesOf(parent.node).get(name);
  if (node === undefined) throw systemError('ENOENT', path);
  return node;
}

export function requireWritable(mount: Mount, path: string): void {
  if (mount.flags.has('ro') || mount.root.fs.superOptions[0] === 'ro') throw systemError('EROFS', path);
}
