/** A machine in memory behind the Host port, with faults for tests. */
import { throwIfCancelled } from '../../async/index.js';
import type { Host, HostFiles, HostMounts } from '../host.js';
import { makeShared } from '../make-shared.js';
import { isBind, mountCalls } from '../mount-command.js';
import { simulatedBlockDevices } from './block-devices.js';
import {
  type AroundHostCall,
  CallRecord,
  type FaultCaller,
  type HostCall,
  type HostFault,
  type MakeCall,
} from './faults.js';
import { FileCalls } from './file-calls.js';
import { heldPath } from './held-path.js';
import { SimulatedMachine } from './machine.js';
import { MountCalls } from './mount-calls.js';
import { systemError } from './nodes.js';
import { watchNames } from './watches.js';

export interface SimulatedHostOptions {
  /** The machine of an earlier host, as after a process restart. Default: a new one. */
  readonly machine?: SimulatedMachine;
  readonly faults?: readonly HostFault[];
  /** Takes the place of `faults`. */
  readonly around?: AroundHostCall;
  /** Default: 022. */
  readonly umask?: number;
  /** Default: `6.18.0`. */
  readonly kernelRelease?: string;
  /** Default: false. */
  readonly inUserNamespace?: boolean;
  /** How many of the last changing calls to keep. Default: 10 000. */
  readonly rememberedCalls?: number;
}

export interface SimulatedHost extends Host {
  readonly machine: SimulatedMachine;
  /** The last `rememberedCalls` changing calls, in order. */
  readonly calls: readonly HostCall[];
  /** Whether a fault has ended the process. */
  readonly dead: boolean;
  /** Adds a fault from now on; call numbers count from the host's start. */
  inject(fault: HostFault): void;
}

export function simulatedHost(options: SimulatedHostOptions = {}): SimulatedHost {
  const machine = options.machine ?? new SimulatedMachine();
  const processId = machine.startProcess();
  const record = new CallRecord({
    faults: options.faults ?? [],
    around: options.around,
    rememberedCalls: options.rememberedCalls ?? 10_000,
    onDeath: () => machine.endProcess(processId),
  });
  const fileCalls = new FileCalls(machine, options.umask ?? 0o022);
  const by = (caller: FaultCaller): Pick<Host, 'files' | 'hold'> => {
    const make = record.by(caller);
    return {
      files: simulatedFiles(make, fileCalls),
      hold: (path) =>
        make('hold', path, false, () =>
          heldPath({ machine, processId, make, fileCalls }, machine.resolve(trimmed(path), false), path),
        ),
    };
  };
  const { files, hold } = by('pool');
  return {
    files,
    hold,
    ownFiles: files,
    apart: () => by('apart'),
    mounts: simulatedMounts(record.by('command'), new MountCalls(machine), files),
    blockDevices: simulatedBlockDevices(record.by('command'), machine),
    watch: (directory, onChange) => {
      const { node } = machine.resolve(`${trimmed(directory)}/`, true);
      return watchNames(node, () => {
        if (!record.dead) onChange();
      });
    },
    kernelRelease: options.kernelRelease ?? '6.18.0',
    inUserNamespace: options.inUserNamespace ?? false,
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

function simulatedFiles(make: MakeCall, calls: FileCalls): HostFiles {
  const read = <T>(operation: string, path: string, effect: () => T): Promise<T> =>
    make(operation, path, false, effect);
  const change = (operation: string, path: string, effect: () => void): Promise<void> =>
    make(operation, path, true, effect);
  const mkdir = (path: string, mode: number): Promise<void> =>
    change('mkdir', path, () => calls.mkdir(path, mode));
  return {
    stat: (path) => read('stat', path, () => calls.stat(path)),
    lstat: (path) => read('lstat', path, () => calls.lstat(path)),
    readFile: (path) => read('readFile', path, () => calls.readFile(path)),
    readdir: (path) => read('readdir', path, () => calls.readdir(path)),
    readlink: (path) => read('readlink', path, () => calls.readlink(path)),
    realpath: (path) => read('realpath', path, () => calls.realpath(path)),
    writeFile: async (path, data, { mode = 0o666, exclusive = false, sync = false, onWritten } = {}) => {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
      await change('writeFile', path, () => calls.writeFile(path, bytes, mode, exclusive));
      // A separate call, so that a power cut or a disk failure can happen between the two.
      if (!sync) return;
      onWritten?.();
      await change('syncFile', path, () => calls.syncFile(path));
    },
    syncDirectory: (path) => change('syncDirectory', path, () => calls.syncDirectory(path)),
    mkdir: async (path, { mode = 0o777, recursive = false } = {}) => {
      if (!recursive) return mkdir(path, mode);
      for (const dir of ancestry(path)) {
        const kind = kindAt(calls, dir);
        if (kind === undefined) await mkdir(dir, mode);
        else if (kind !== 'directory') throw systemError(dir === path ? 'EEXIST' : 'ENOTDIR', path, 'mkdir');
      }
    },
    symlink: (target, path) => change('symlink', path, () => calls.symlink(target, path)),
    rename: (from, to) => change('rename', to, () => calls.rename(from, to)),
    unlink: (path) => change('unlink', path, () => calls.unlink(path)),
    rmdir: (path) => change('rmdir', path, () => calls.rmdir(path)),
    chmod: (path, mode) => change('chmod', path, () => calls.chmod(path, mode)),
    lchown: (path, uid, gid) => change('lchown', path, () => calls.lchown(path, uid, gid)),
    statFileSystem: (path) => read('statfs', path, () => calls.statFileSystem(path)),
  };
}

/** The path and its parent directories, from the top. */
function ancestry(path: string): string[] {
  const names = trimmed(path).split('/').slice(1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}

function kindAt(calls: FileCalls, path: string): string | undefined {
  const { position } = calls.machine.walk(path, true);
  return position?.node.content.kind;
}

function simulatedMounts(make: MakeCall, calls: MountCalls, files: HostFiles): HostMounts {
  const mounts: HostMounts = {
    list: () => make('list mounts', '/', false, () => calls.list()),
    mount: async (request, signal) => {
      throwIfCancelled(signal);
      const flags = isBind(request) && request.source !== undefined ? flagsAt(calls, request.source) : [];
      for (const call of mountCalls(request, flags)) {
        await make('mount', call.target, true, () => calls.mount(call));
        throwIfCancelled(signal);
      }
    },
    unmount: (target, { lazy } = {}) => make('unmount', target, true, () => calls.unmount(target, lazy)),
    makeShared: (path) => makeShared({ files, mounts }, path),
  };
  return mounts;
}

/** A missing source has no flags; the mount itself reports it. */
function flagsAt(calls: MountCalls, path: string): readonly string[] {
  try {
    return calls.flagsAt(path);
  } catch {
    return [];
  }
}
