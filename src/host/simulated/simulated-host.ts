/** A machine in memory behind the Host port, with faults where a test wants them. */
import { throwIfCancelled } from '../../async/index.js';
import type { HeldPath, Host, HostFiles, HostMounts } from '../host.js';
import { makeShared } from '../make-shared.js';
import { isBind, mountCalls } from '../mount-command.js';
import { CallRecord, type HostCall, type HostFault } from './faults.js';
import { FileCalls } from './file-calls.js';
import { SimulatedMachine } from './machine.js';
import { MountCalls } from './mount-calls.js';
import { factsOf, type Position, systemError } from './nodes.js';

export interface SimulatedHostOptions {
  /** The machine of an earlier host taken over, as after a restart of the process; a fresh one otherwise. */
  readonly machine?: SimulatedMachine;
  readonly faults?: readonly HostFault[];
  /** 022 */
  readonly umask?: number;
  /** `6.18.0` */
  readonly kernelRelease?: string;
}

export interface SimulatedHost extends Host {
  readonly machine: SimulatedMachine;
  /** The changing calls made so far, in order; the last 10 000 of them. */
  readonly calls: readonly HostCall[];
  /** Whether a fault has ended the process. */
  readonly dead: boolean;
  /** Adds a fault from here on; numbers of calls count from the start of the host. */
  inject(fault: HostFault): void;
}

export function simulatedHost(options: SimulatedHostOptions = {}): SimulatedHost {
  const machine = options.machine ?? new SimulatedMachine();
  const processId = machine.startProcess();
  const record = new CallRecord(options.faults ?? [], () => machine.endProcess(processId));
  const fileCalls = new FileCalls(machine, options.umask ?? 0o022);
  const files = simulatedFiles(record, fileCalls);
  return {
    files,
    ownFiles: files,
    mounts: simulatedMounts(record, new MountCalls(machine), files),
    hold: (path) =>
      record.make('hold', path, false, () =>
        heldPath({ machine, processId, record, fileCalls }, machine.resolve(trimmed(path), false), path),
      ),
    kernelRelease: options.kernelRelease ?? '6.18.0',
    machine,
    get calls() {
      return record.calls;
    },
    get dead() {
      return record.dead;
    },
    inject: (fault) => record.inject(fault),
  };
}

function trimmed(path: string): string {
  return path.replace(/(?<=.)\/+$/, '');
}

function simulatedFiles(record: CallRecord, calls: FileCalls): HostFiles {
  const read = <T>(operation: string, path: string, effect: () => T): Promise<T> =>
    record.make(operation, path, false, effect);
  const change = (operation: string, path: string, effect: () => void): Promise<void> =>
    record.make(operation, path, true, effect);
  const mkdir = (path: string, mode: number): Promise<void> =>
    change('mkdir', path, () => calls.mkdir(path, mode));
  return {
    stat: (path) => read('stat', path, () => calls.stat(path)),
    lstat: (path) => read('lstat', path, () => calls.lstat(path)),
    readFile: (path) => read('readFile', path, () => calls.readFile(path)),
    readdir: (path) => read('readdir', path, () => calls.readdir(path)),
    readlink: (path) => read('readlink', path, () => calls.readlink(path)),
    realpath: (path) => read('realpath', path, () => calls.realpath(path)),
    writeFile: (path, data, { mode = 0o666, exclusive = false } = {}) => {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
      return change('writeFile', path, () => calls.writeFile(path, bytes, mode, exclusive));
    },
    mkdir: async (path, { mode = 0o777, recursive = false } = {}) => {
      if (!recursive) return mkdir(path, mode);
      for (const folder of ancestry(path)) {
        const kind = kindAt(calls, folder);
        if (kind === undefined) await mkdir(folder, mode);
        else if (kind !== 'directory')
          throw systemError(folder === path ? 'EEXIST' : 'ENOTDIR', path, 'mkdir');
      }
    },
    symlink: (target, path) => change('symlink', path, () => calls.symlink(target, path)),
    rename: (from, to) => change('rename', to, () => calls.rename(from, to)),
    unlink: (path) => change('unlink', path, () => calls.unlink(path)),
    rmdir: (path) => change('rmdir', path, () => calls.rmdir(path)),
    chmod: (path, mode) => change('chmod', path, () => calls.chmod(path, mode)),
    lchown: (path, uid, gid) => change('lchown', path, () => calls.lchown(path, uid, gid)),
  };
}

/** The path and the folders above it, from the top. */
function ancestry(path: string): string[] {
  const names = trimmed(path).split('/').slice(1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}

function kindAt(calls: FileCalls, path: string): string | undefined {
  const { position } = calls.machine.walk(path, true);
  return position?.node.content.kind;
}

function simulatedMounts(record: CallRecord, calls: MountCalls, files: HostFiles): HostMounts {
  const mounts: HostMounts = {
    list: () => record.make('list mounts', '/', false, () => calls.list()),
    mount: async (request, signal) => {
      throwIfCancelled(signal);
      const flags = isBind(request) && request.source !== undefined ? flagsAt(calls, request.source) : [];
      for (const call of mountCalls(request, flags)) {
        await record.make('mount', call.target, true, () => calls.mount(call));
        throwIfCancelled(signal);
      }
    },
    unmount: (target) => record.make('unmount', target, true, () => calls.unmount(target)),
    makeShared: (path) => makeShared({ files, mounts }, path),
  };
  return mounts;
}

/** A source that is not there has no flags; the mount itself tells of it. */
function flagsAt(calls: MountCalls, path: string): readonly string[] {
  try {
    return calls.flagsAt(path);
  } catch {
    return [];
  }
}

interface HoldingProcess {
  readonly machine: SimulatedMachine;
  readonly processId: number;
  readonly record: CallRecord;
  readonly fileCalls: FileCalls;
}

function heldPath(holder: HoldingProcess, position: Position, path: string): HeldPath {
  const { machine, record, fileCalls, processId } = holder;
  if (position.node.content.kind === 'symlink') throw systemError('ELOOP', path, 'open');
  const procPath = machine.hold(processId, position);
  const below = (name: string): string => {
    if (!isName(name)) throw systemError('EINVAL', `${procPath}/${name}`, 'open');
    if (machine.heldAt(procPath) === undefined) throw systemError('EBADF', procPath, 'open');
    return `${procPath}/${name}`;
  };
  const open = (name: string): HeldPath =>
    heldPath(holder, machine.resolve(below(name), false), `${path}/${name}`);
  return {
    procPath,
    stat: () =>
      record.make('fstat', path, false, () => {
        if (machine.heldAt(procPath) === undefined) throw systemError('EBADF', path, 'fstat');
        return factsOf(position.node);
      }),
    child: (name) => record.make('child', `${path}/${name}`, false, () => open(name)),
    makeDirectory: async (name, mode) => {
      await record.make('mkdir', `${path}/${name}`, true, () => fileCalls.mkdir(below(name), mode));
      const made = await record.make('child', `${path}/${name}`, false, () => open(name));
      try {
        if (machine.heldAt(made.procPath)?.node.content.kind !== 'directory')
          throw systemError('ENOTDIR', `${path}/${name}`, 'open');
        await record.make('chmod', `${path}/${name}`, true, () => fileCalls.chmod(made.procPath, mode));
      } catch (error) {
        machine.release(made.procPath);
        throw error;
      }
      return made;
    },
    close: async () => machine.release(procPath),
  };
}

/** One element of a path, and no way up or down. */
function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/');
}
