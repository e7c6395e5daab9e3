/** Entries of a simulated machine held by a process, and the files opened through them. */
import type { DirectoryEntry, HeldPath, NewFile, OpenedDirectory, OpenedFile } from '../host.js';
import { notRegular } from '../not-regular.js';
import type { MakeCall } from './faults.js';
import type { FileCalls } from './file-calls.js';
import type { SimulatedMachine } from './machine.js';
import { type FileNode, factsOf, type MountedNode, systemError } from './nodes.js';

export interface HoldingProcess {
  readonly machine: SimulatedMachine;
  readonly processId: number;
  readonly make: MakeCall;
  readonly fileCalls: FileCalls;
}

/** Entries per part of a listing. */
const listingLimit = 256;

export function heldPath(holder: HoldingProcess, position: MountedNode, path: string): HeldPath {
  const { machine, make, fileCalls, processId } = holder;
  if (position.node.content.kind === 'symlink') throw systemError('ELOOP', path, 'open');
  const procPath = machine.hold(processId, position);
  const requireHeld = (operation: string): void => {
    if (machine.heldAt(procPath) === undefined) throw systemError('EBADF', path, operation);
  };
  const below = (name: string): string => {
    if (!isName(name)) throw systemError('EINVAL', `${procPath}/${name}`, 'open');
    requireHeld('open');
    return `${procPath}/${name}`;
  };
  const named = (name: string): string => (path === '/' ? `/${name}` : `${path}/${name}`);
  const open = (name: string): HeldPath => heldPath(holder, machine.resolve(below(name), false), named(name));
  return {
    procPath,
    stat: () =>
      make('fstat', path, false, () => {
        requireHeld('fstat');
        return factsOf(position.node);
      }),
    child: (name) => make('child', named(name), false, () => open(name)),
    makeDirectory: async (name, mode) => {
      await make('mkdir', named(name), true, () => fileCalls.mkdir(below(name), mode));
      const made = await make('child', named(name), false, () => open(name));
      try {
        if (machine.heldAt(made.procPath)?.node.content.kind !== 'directory')
          throw systemError('ENOTDIR', named(name), 'open');
        await make('chmod', named(name), true, () => fileCalls.chmod(made.procPath, mode));
      } catch (error) {
        machine.release(made.procPath);
        throw error;
      }
      return made;
    },
    createFile: (name, mode) =>
      make('createFile', named(name), true, () =>
        newFile(holder, fileCalls.createFile(below(name), mode), named(name)),
      ),
    openFile: () =>
      make('openFile', path, false, () => {
        requireHeld('open');
        const { kind } = position.node.content;
        if (kind !== 'file') throw notRegular(path, kind);
        return openedFile(holder, position, path);
      }),
    openDirectory: () =>
      make('openDirectory', path, false, () => {
        requireHeld('opendir');
        return openedDirectory(holder, position, path);
      }),
    readlink: (name) => make('readlink', named(name), false, () => fileCalls.readlink(below(name))),
    mountId: () =>
      make('mountId', path, false, () => {
        requireHeld('fdinfo');
        return machine.mountId(position.mount);
      }),
    close: async () => machine.release(procPath),
  };
}

/** An open file is held like any other entry and keeps its mount busy. */
function openedFile(holder: HoldingProcess, position: MountedNode, path: string): OpenedFile {
  const { make } = holder;
  const { requireOpen, close } = opened(holder, position, path);
  return {
    stat: () =>
      make('fstat', path, false, () => {
        requireOpen();
        return factsOf(position.node);
      }),
    read: (buffer, at) =>
      make('read', path, false, () => {
        requireOpen();
        const { content } = position.node;
        const part = content.kind === 'file' ? content.data.subarray(at, at + buffer.length) : [];
        buffer.set(part);
        return part.length;
      }),
    close,
  };
}

function openedDirectory(holder: HoldingProcess, position: MountedNode, path: string): OpenedDirectory {
  const { content } = position.node;
  if (content.kind !== 'directory') throw systemError('ENOTDIR', path, 'opendir');
  const { requireOpen, close } = opened(holder, position, path);
  const names = [...content.entries.keys()];
  return {
    next: () =>
      holder.make('readdir', path, false, () => {
        requireOpen();
        const part: DirectoryEntry[] = [];
        while (part.length < listingLimit && names.length > 0) {
          const name = names.shift() ?? '';
          const node = content.entries.get(name);
          if (node !== undefined) part.push({ name, kind: node.content.kind });
        }
        return part;
      }),
    close,
  };
}

function newFile({ make }: HoldingProcess, { content }: FileNode, path: string): NewFile {
  let isOpen = true;
  return {
    write: (bytes) =>
      make('write', path, true, () => {
        if (!isOpen || content.kind !== 'file') throw systemError('EBADF', path, 'write');
        const grown = new Uint8Array(content.data.length + bytes.length);
        grown.set(content.data);
        grown.set(bytes, content.data.length);
        content.data = grown;
        content.isSynced = false;
      }),
    close: async () => {
      isOpen = false;
    },
  };
}

function opened(
  { machine, processId }: HoldingProcess,
  position: MountedNode,
  path: string,
): { readonly requireOpen: () => void; readonly close: () => Promise<void> } {
  const procPath = machine.hold(processId, position);
  return {
    requireOpen: () => {
      if (machine.heldAt(procPath) === undefined) throw systemError('EBADF', path, 'read');
    },
    close: async () => machine.release(procPath),
  };
}

/** One element of a path, neither `.` nor `..`. */
function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/');
}
