/** The part of a simulated machine that outlives a process: files, mounts and path resolution. */
import type { MountPoint } from '../host.js';
import {
  addNode,
  emptyDirectory,
  entriesOf,
  type FileNode,
  type FileSystem,
  fileSystem,
  flagsOf,
  type Mount,
  type MountedNode,
  mountFlags,
  pathInFileSystem,
  type SpecialKind,
  systemError,
} from './nodes.js';
import { losePower, type PowerCut, syncAll } from './power-cut.js';

const linkLimit = 40;
const nameLimitBytes = 255;
const pathLimitBytes = 4096;

/** Where a path ends: at an entry, or at a name its directory lacks. */
export interface WalkedPath {
  readonly position: MountedNode | undefined;
  /** Undefined if the path names no entry of a directory: `/`, `..`, a held path. */
  readonly parent: MountedNode | undefined;
  readonly name: string;
}

/** Propagation is a flag only: a mount below a shared mount does not appear below its peers. */
export class SimulatedMachine {
  readonly #rootMount: Mount;
  #mounts: readonly Mount[] = [];
  /** The entries that have something mounted on them: a walk asks at each of its steps. */
  #covered: ReadonlySet<FileNode> = new Set();
  /** Persistent file systems, such as an NFS share, by type and source. */
  readonly #lasting = new Map<string, FileSystem>();
  readonly #held = new Map<string, MountedNode>();
  readonly #mountIds = new WeakMap<Mount, number>();
  #nextMountId = 20;
  #nextDevice = 40n;
  /** What loop devices show, by device. */
  readonly #loops = new Map<string, MountedNode>();
  #nextProcess = 1000;
  #nextDescriptor = 20;

  constructor() {
    const fs = fileSystem(this.#nextDevice++, 'ext4', '/dev/vda', ['rw'], 0o755);
    this.#rootMount = {
      parent: undefined,
      mountpoint: undefined,
      root: fs.root,
      flags: flagsOf([]),
      propagation: 'private',
    };
    this.#setMounts([this.#rootMount]);
    for (const [name, mode] of [
      ['etc', 0o755],
      ['proc', 0o555],
      ['tmp', 0o1777],
      ['var', 0o755],
    ] as const)
      addNode(fs.root, name, emptyDirectory(), mode);
    syncAll(fs.root);
  }

  /** Drops all mounts and the content of tmpfs; files on disk stay. */
  reboot(): void {
    this.#setMounts([this.#rootMount]);
    this.#rootMount.propagation = 'private';
    this.#held.clear();
    this.#loops.clear();
  }

  /** Loses power: only synced data is sure to survive on disk. */
  powerCut(cut: PowerCut): void {
    this.reboot();
    losePower(this.#rootMount.root, cut);
  }

  /** Writes everything to disk, as happens in time. */
  settle(): void {
    syncAll(this.#rootMount.root);
  }

  /** Makes entries that no host call can make. */
  makeSpecialFile(path: string, kind: SpecialKind, mode = 0o644): void {
    const { parent, name, position } = this.walk(path, false);
    if (parent === undefined || position !== undefined) throw systemError('EEXIST', path, 'mknod');
    addNode(parent.node, name, { kind }, mode);
  }

  get mounts(): readonly Mount[] {
    return this.#mounts;
  }

  addMount(mount: Mount): void {
    this.#setMounts([...this.#mounts, mount]);
  }

  /** Takes a mount out of sight, with all that is mounted in it; what is held of them stays usable. */
  removeMountTree(mount: Mount): void {
    const isInside = (other: Mount | undefined): boolean =>
      other !== undefined && (other === mount || isInside(other.parent));
    this.#setMounts(this.#mounts.filter((other) => !isInside(other)));
  }

  #setMounts(mounts: readonly Mount[]): void {
    this.#mounts = mounts;
    this.#covered = new Set(mounts.flatMap(({ mountpoint }) => mountpoint ?? []));
  }

  mountId(mount: Mount): number {
    const known = this.#mountIds.get(mount);
    if (known !== undefined) return known;
    const id = this.#nextMountId++;
    this.#mountIds.set(mount, id);
    return id;
  }

  isMountpoint(node: FileNode): boolean {
    return this.#covered.has(node);
  }

  /** Whether a mount has mounts on it, or held paths or files of loop devices in it. */
  isBusy(mount: Mount): boolean {
    if (this.#mounts.some(({ parent }) => parent === mount)) return true;
    return [...this.#held.values(), ...this.#loops.values()].some((position) => position.mount === mount);
  }

  get loops(): ReadonlyMap<string, MountedNode> {
    return this.#loops;
  }

  attachLoop(position: MountedNode): void {
    let number = 0;
    while (this.#loops.has(`/dev/loop${number}`)) number++;
    this.#loops.set(`/dev/loop${number}`, position);
  }

  detachLoop(device: string): void {
    this.#loops.delete(device);
  }

  /** The file system of a mount: a new one if in memory, otherwise the existing one. */
  fileSystemFor(type: string, source: string, superOptions: readonly string[], rootMode: number): FileSystem {
    if (type === 'tmpfs' || type === 'hugetlbfs')
      return fileSystem(this.#nextDevice++, type, source, superOptions, rootMode);
    const key = `${type} ${source}`;
    const known = this.#lasting.get(key);
    if (known !== undefined) return known;
    const fresh = fileSystem(this.#nextDevice++, type, source, superOptions, rootMode);
    this.#lasting.set(key, fresh);
    return fresh;
  }

  startProcess(): number {
    return this.#nextProcess++;
  }

  endProcess(processId: number): void {
    for (const path of this.#held.keys()) {
      if (path.startsWith(`/proc/${processId}/`)) this.#held.delete(path);
    }
  }

  hold(processId: number, position: MountedNode): string {
    const path = `/proc/${processId}/fd/${this.#nextDescriptor++}`;
    this.#held.set(path, position);
    return path;
  }

  release(procPath: string): void {
    this.#held.delete(procPath);
  }

  heldAt(procPath: string): MountedNode | undefined {
    return this.#held.get(procPath);
  }

  /** Paths held by all processes, to detect leaks. */
  get heldPaths(): number {
    return this.#held.size;
  }

  /** The entry at a path; ENOENT if there is none. */
  resolve(path: string, follow: boolean): MountedNode {
    const { position } = this.walk(path, follow);
    if (position === undefined) throw systemError('ENOENT', path);
    return position;
  }

  walk(path: string, follow: boolean): WalkedPath {
    if (path === '') throw systemError('ENOENT', path);
    if (isAtLeast(path, pathLimitBytes)) throw systemError('ENAMETOOLONG', path);
    const throughSlash = path.endsWith('/');
    let { at, rest } = this.#start(path);
    let links = 0;
    for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
      if (at.node.content.kind !== 'directory') throw systemError('ENOTDIR', path);
      if (name === '..') {
        at = this.#above(at);
        continue;
      }
      if (isAtLeast(name, nameLimitBytes + 1)) throw systemError('ENAMETOOLONG', path);
      const isLast = rest.length === 0;
      const child = entriesOf(at.node).get(name);
      if (child === undefined) {
        if (isLast) return { position: undefined, parent: at, name };
        throw systemError('ENOENT', path);
      }
      if (child.content.kind === 'symlink' && (!isLast || follow || throughSlash)) {
        if (++links > linkLimit) throw systemError('ELOOP', path);
        const { target } = child.content;
        const onward = target.startsWith('/') ? this.#start(target) : { at, rest: segments(target) };
        at = onward.at;
        rest = [...rest, ...onward.rest];
        continue;
      }
      const entered = this.#enter({ mount: at.mount, node: child });
      if (isLast) {
        if (throughSlash && child.content.kind !== 'directory') throw systemError('ENOTDIR', path);
        return { position: entered, parent: at, name };
      }
      at = entered;
    }
    return { position: at, parent: undefined, name: '' };
  }

  /** An entry's path without links, as in the mount table. */
  pathOf({ mount, node }: MountedNode): string {
    const names: string[] = [];
    let at = node;
    for (; at !== mount.root && at.parent !== undefined; at = at.parent) names.unshift(at.name);
    const below = names.join('/');
    if (mount.parent === undefined || mount.mountpoint === undefined) return `/${below}`;
    const above = this.pathOf({ mount: mount.parent, node: mount.mountpoint });
    return below === '' ? above : `${above === '/' ? '' : above}/${below}`;
  }

  describe(mount: Mount): MountPoint {
    const { fs } = mount.root;
    return {
      target: this.pathOf({ mount, node: mount.root }),
      source: fs.source,
      fsType: fs.type,
      options: [
        ...(mount.flags.has('ro') ? [] : ['rw']),
        ...mountFlags.filter((flag) => mount.flags.has(flag)),
      ],
      superOptions: fs.superOptions,
      root: pathInFileSystem(mount.root),
      device: `0:${fs.device}`,
      propagation: mount.propagation,
    };
  }

  #start(path: string): { at: MountedNode; rest: string[] } {
    const held = /^\/proc\/[0-9]+\/fd\/[0-9]+(?=\/|$)/.exec(path)?.[0];
    const position = held === undefined ? undefined : this.#held.get(held);
    if (held !== undefined && position !== undefined)
      return { at: position, rest: segments(path.slice(held.length)) };
    return { at: this.#enter({ mount: this.#rootMount, node: this.#rootMount.root }), rest: segments(path) };
  }

  /** Moves to the topmost mount on an entry. */
  #enter(position: MountedNode): MountedNode {
    let at = position;
    for (;;) {
      const { mount, node } = at;
      if (!this.#covered.has(node)) return at;
      const above = this.#mounts.findLast((other) => other.parent === mount && other.mountpoint === node);
      if (above === undefined) return at;
      at = { mount: above, node: above.root };
    }
  }

  #above({ mount, node }: MountedNode): MountedNode {
    if (node !== mount.root)
      return node.parent === undefined ? { mount, node } : this.#enter({ mount, node: node.parent });
    if (mount.parent === undefined || mount.mountpoint === undefined) return { mount, node };
    return this.#above({ mount: mount.parent, node: mount.mountpoint });
  }
}

/** Most texts are known to be shorter without encoding them: a UTF-16 unit has at most three bytes in UTF-8. */
function isAtLeast(text: string, bytes: number): boolean {
  return text.length * 3 >= bytes && Buffer.byteLength(text) >= bytes;
}

/** The elements of a path, in reverse. */
function segments(path: string): string[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .reverse();
}
