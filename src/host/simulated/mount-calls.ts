/** The mount calls of a simulated machine, each one call of `mount` or `umount`. */
import type { HostError, MountPoint } from '../host.js';
import { type MountCall, mountFailure, unmountFailure } from '../mount-command.js';
import type { SimulatedMachine } from './machine.js';
import {
  type FileNode,
  type FileSystem,
  flagsOf,
  type Mount,
  type MountedNode,
  mountFlags,
  treeBytes,
} from './nodes.js';

const knownTypes = new Set(['tmpfs', 'hugetlbfs', 'nfs', 'nfs4', 'ext2', 'ext3', 'ext4', 'xfs', 'btrfs']);
/** Options of the mount or the command, not of the file system. */
const mountOptions = new Set<string>([
  ...mountFlags,
  ...[
    'rw',
    'suid',
    'dev',
    'exec',
    'diratime',
    'strictatime',
    'bind',
    'rbind',
    'remount',
    '_netdev',
    'defaults',
  ],
]);
const pageBytes = 4096n;

export class MountCalls {
  constructor(readonly machine: SimulatedMachine) {}

  list(): readonly MountPoint[] {
    return this.machine.mounts.map((mount) => this.machine.describe(mount));
  }

  /** The flags of the mount that holds a path. */
  flagsAt(path: string): readonly string[] {
    return [...this.machine.resolve(path, true).mount.flags];
  }

  mount(call: MountCall): void {
    const target = this.#find(call, call.target, `mount point does not exist.`);
    const options: readonly string[] = call.options;
    if (options.includes('remount')) this.#remount(call, target);
    else if (options.includes('bind')) this.#bind(call, target, false);
    else if (options.includes('rbind')) this.#bind(call, target, true);
    else if (call.propagation.length === 0 || call.fsType !== undefined) this.#mountNew(call, target);
    for (const change of call.propagation) this.#changePropagation(call, change);
  }

  unmount(path: string, isLazy = false): void {
    let position: MountedNode;
    try {
      position = this.machine.resolve(path, true);
    } catch {
      throw unmountFailed(path, 'no mount point specified.');
    }
    const { mount, node } = position;
    if (node !== mount.root || mount.parent === undefined) return;
    if (!isLazy && this.machine.isBusy(mount)) throw unmountFailed(path, 'target is busy.');
    this.machine.removeMountTree(mount);
  }

  #mountNew(call: MountCall, target: MountedNode): void {
    const { fsType, source = 'none' } = call;
    const options: readonly string[] = call.options;
    if (fsType === undefined || !knownTypes.has(fsType))
      throw mountFailed(call, `unknown filesystem type '${fsType ?? ''}'.`);
    if (target.node.content.kind !== 'directory')
      throw mountFailed(call, 'mount(2) system call failed: Not a directory.');
    const own = options.filter((option) => !mountOptions.has(option));
    const superOptions = [options.includes('ro') ? 'ro' : 'rw', ...own.map((option) => shown(call, option))];
    const inMemory = fsType === 'tmpfs';
    const rootMode = Number.parseInt(optionValue(own, 'mode') ?? (inMemory ? '1777' : '755'), 8);
    const fs = this.machine.fileSystemFor(fsType, source, superOptions, rootMode);
    fs.root.uid = Number(optionValue(own, 'uid') ?? fs.root.uid);
    fs.root.gid = Number(optionValue(own, 'gid') ?? fs.root.gid);
    this.#place(fs.root, target, flagsOf(options), 'private');
  }

  #bind(call: MountCall, target: MountedNode, recursive: boolean): void {
    const words = `special device ${call.source ?? ''} does not exist.`;
    const source = this.#find(call, call.source ?? '', words);
    const isDirectory = source.node.content.kind === 'directory';
    if (isDirectory !== (target.node.content.kind === 'directory'))
      throw mountFailed(call, 'mount(2) system call failed: Not a directory.');
    const below = recursive ? this.#mountsBelow(source) : [];
    const copy = this.#place(source.node, target, source.mount.flags, source.mount.propagation);
    const copies = new Map<Mount, Mount>([[source.mount, copy]]);
    for (const mount of below) {
      const parent = mount.parent && copies.get(mount.parent);
      if (parent === undefined) continue;
      const clone = { ...mount, parent };
      copies.set(mount, clone);
      this.machine.addMount(clone);
    }
  }

  /** A mount below a shared one is shared, as is the copy of a shared one. */
  #place(
    root: FileNode,
    target: MountedNode,
    flags: Mount['flags'],
    propagation: Mount['propagation'],
  ): Mount {
    const isShared = propagation === 'shared' || target.mount.propagation === 'shared';
    const mount: Mount = {
      parent: target.mount,
      mountpoint: target.node,
      root,
      flags,
      propagation: isShared ? 'shared' : propagation,
    };
    this.machine.addMount(mount);
    return mount;
  }

  #mountsBelow({ mount, node }: MountedNode): Mount[] {
    const from = this.machine.pathOf({ mount, node });
    return this.machine.mounts.filter((other) => {
      const { target } = this.machine.describe(other);
      return other !== mount && target.startsWith(from === '/' ? '/' : `${from}/`);
    });
  }

  #remount(call: MountCall, target: MountedNode): void {
    if (target.node !== target.mount.root) throw mountFailed(call, 'mount point not mounted or bad option.');
    const options: readonly string[] = call.options;
    if (!options.includes('bind')) this.#reconfigure(call, target.mount.root.fs);
    target.mount.flags = flagsOf(call.options);
  }

  /** A file system in memory takes another size, unless it holds more than that. */
  #reconfigure(call: MountCall, fs: FileSystem): void {
    const size = optionValue(call.options, 'size');
    if (fs.type !== 'tmpfs' || size === undefined) return;
    const kibibytes = sizeKibibytes(call, size);
    if (treeBytes(fs.root) > Number(kibibytes) * 1024)
      throw mountFailed(call, 'mount point not mounted or bad option.');
    const [access = 'rw', ...others] = fs.superOptions.filter((option) => !option.startsWith('size='));
    fs.superOptions = [access, `size=${kibibytes}k`, ...others];
  }

  #changePropagation(call: MountCall, change: string): void {
    const { mount, node } = this.machine.resolve(call.target, true);
    if (node !== mount.root) throw mountFailed(call, 'not mount point or bad option.');
    const all = change.startsWith('r') ? [mount, ...this.#mountsBelow({ mount, node })] : [mount];
    const name = change.startsWith('r') ? change.slice(1) : change;
    for (const each of all) {
      if (name === 'shared' || name === 'private' || name === 'unbindable') each.propagation = name;
      // A mount without peers has nothing to receive from.
      else each.propagation = 'private';
    }
  }

  #find(call: MountCall, path: string, words: string): MountedNode {
    try {
      return this.machine.resolve(path, true);
    } catch {
      throw mountFailed(call, words);
    }
  }
}

const wrongOption =
  'wrong fs type, bad option, bad superblock on tmpfs, missing codepage or helper program, or other error.';

/** A size is shown in whole kibibytes of whole pages. */
function shown(call: MountCall, option: string): string {
  const [name, value = ''] = option.split('=');
  if (call.fsType !== 'tmpfs' || name !== 'size') return option;
  return `size=${sizeKibibytes(call, value)}k`;
}

function sizeKibibytes(call: MountCall, value: string): bigint {
  const match = /^([0-9]+)([kmg]?)$/i.exec(value);
  if (match === null) throw mountFailed(call, wrongOption);
  const shift = { '': 0n, k: 10n, m: 20n, g: 30n }[match[2]?.toLowerCase() ?? ''] ?? 0n;
  const bytes = BigInt(match[1] ?? '0') << shift;
  const pages = (bytes + pageBytes - 1n) / pageBytes;
  return (pages * pageBytes) / 1024n;
}

function optionValue(options: readonly string[], name: string): string | undefined {
  return options.findLast((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
}

function mountFailed(call: MountCall, words: string): HostError {
  const output = `mount: ${call.target}: ${words}\n`;
  return mountFailure(call, { status: 'exit status 32', exitCode: 32, output, timedOut: false });
}

function unmountFailed(target: string, words: string): HostError {
  const output = `umount: ${target}: ${words}\n`;
  return unmountFailure(target, { status: 'exit status 32', exitCode: 32, output, timedOut: false });
}
