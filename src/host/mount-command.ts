/** The arguments and error texts of `mount` and `umount`, shared by both implementations of the port. */
import {
  type AbsolutePath,
  absolutePath,
  BadProgramWord,
  type CheckedWord,
  CommandLine,
  checkedWord,
  type FileSystemType,
  fileSystemType,
  type MountOption,
  mountOption,
  type ProgramFailure,
  parseNfsSource,
  pseudoDevice,
} from '../programs/index.js';
import { HostError, type MountRequest } from './host.js';

const propagationFlags = {
  shared: '--make-shared',
  slave: '--make-slave',
  private: '--make-private',
  unbindable: '--make-unbindable',
  rshared: '--make-rshared',
  rslave: '--make-rslave',
  rprivate: '--make-rprivate',
  runbindable: '--make-runbindable',
} as const;

export type PropagationChange = keyof typeof propagationFlags;

/** One call of `mount`, with no argument the command could misread. */
export interface MountCall {
  readonly propagation: readonly PropagationChange[];
  readonly fsType: FileSystemType | undefined;
  readonly options: readonly MountOption[];
  readonly source: CheckedWord | undefined;
  readonly target: AbsolutePath;
  readonly noCanonicalize: boolean;
}

/** Flags of a bind's source that a remount drops unless they are repeated. */
const inheritedFlags = new Set(['ro', 'nodev', 'noexec', 'nosuid', 'noatime', 'relatime', 'nodiratime']);

/**
 * The calls for a request: one call, or a bind and its remount with the other options and the source's flags.
 * Throws a HostError (EINVAL) that names the part `mount` must not be given.
 */
export function mountCalls(request: MountRequest, sourceFlags: readonly string[]): readonly MountCall[] {
  const { noCanonicalize = false } = request;
  const { source, target, fsType, options } = checkedRequest(request);
  const propagation = (request.options ?? []).filter(isPropagationChange);
  const others = options.filter((option) => !isPropagationChange(option));
  const call = { source, target, fsType, noCanonicalize };
  if (!isBind(request)) return [{ ...call, propagation, options: others }];
  const kind = others.some((option) => option === 'rbind') ? 'rbind' : 'bind';
  const rest = others.filter((option) => !['bind', 'rbind', 'remount'].includes(option));
  const wanted = new Set<string>(rest);
  const flags = sourceFlags.filter((flag) => inheritedFlags.has(flag) && !wanted.has(flag));
  const network = wanted.has('_netdev') ? ['_netdev'] : [];
  return [
    { ...call, propagation: [], options: optionsOf([kind, ...network]) },
    { ...call, propagation, options: optionsOf(['bind', 'remount', ...rest, ...flags]) },
  ];
}

/** Whether the request makes a new bind mount. */
export function isBind({ options = [] }: MountRequest): boolean {
  return (options.includes('bind') || options.includes('rbind')) && !options.includes('remount');
}

function isPropagationChange(option: string): option is PropagationChange {
  return Object.hasOwn(propagationFlags, option);
}

function optionsOf(options: readonly string[]): readonly MountOption[] {
  return options.map((option) => checkedWord(mountOption, 'mount option', option));
}

function checkedRequest(request: MountRequest): Pick<MountCall, 'source' | 'target' | 'fsType' | 'options'> {
  const { source, target, fsType } = request;
  try {
    return {
      source: source === undefined || source === '' ? undefined : checkedSource(request, source),
      target: checkedWord(absolutePath, 'mount target', target),
      fsType:
        fsType === undefined || fsType === ''
          ? undefined
          : checkedWord(fileSystemType, 'file system type', fsType),
      options: optionsOf(request.options ?? []),
    };
  } catch (error) {
    if (!(error instanceof BadProgramWord)) throw error;
    throw new HostError('EINVAL', target, `cannot mount: ${error.message}`, { cause: error });
  }
}

/**
 * A source is an absolute path, an NFS export or the name of a file system in memory. The command accepts
 * more, but `LABEL=…` and `UUID=…` name disks by their content, and a relative path depends on the working
 * directory.
 */
function checkedSource(request: MountRequest, source: string): CheckedWord {
  if (request.fsType === 'nfs' || request.fsType === 'nfs4') return parseNfsSource(source);
  const isPath = isBind(request) || request.options?.includes('remount') || source.startsWith('/');
  return checkedWord(isPath ? absolutePath : pseudoDevice, 'mount source', source);
}

export function mountCommand(call: MountCall): CommandLine {
  let line = CommandLine.of('mount');
  if (call.noCanonicalize) line = line.literal('--no-canonicalize');
  line = line.literal(...call.propagation.map((change) => propagationFlags[change]));
  if (call.fsType !== undefined) line = line.optionWord('-t', call.fsType);
  // A list of checked options begins with a checked option.
  if (call.options.length > 0) line = line.optionWord('-o', call.options.join(',') as CheckedWord);
  return line.operands(...(call.source === undefined ? [] : [call.source]), call.target);
}

/** Throws a HostError (EINVAL) for anything but an absolute path, such as `LABEL=…`, which `umount` would look up. */
export function unmountCommand(
  target: string,
  { force = false, lazy = false }: { readonly force?: boolean; readonly lazy?: boolean },
): CommandLine {
  try {
    const path = checkedWord(absolutePath, 'mount target', target);
    let line = CommandLine.of('umount');
    if (force) line = line.literal('-f');
    if (lazy) line = line.literal('-l');
    return line.operands(path);
  } catch (error) {
    if (!(error instanceof BadProgramWord)) throw error;
    throw new HostError('EINVAL', target, `cannot unmount: ${error.message}`, { cause: error });
  }
}

export function mountFailure(call: MountCall, failure: ProgramFailure): HostError {
  const text = `mount failed: ${failure.status}\nMounting command: mount\nMounting arguments: ${mountCommand(call).words.join(' ')}\nOutput: ${failure.output}`;
  const named = call.source === undefined ? [call.target] : [call.target, call.source];
  return new HostError(failureCode(failure, named), call.target, text);
}

export function unmountFailure(target: string, failure: ProgramFailure): HostError {
  const text = `unmount failed: ${failure.status}\nUnmounting arguments: ${target}\nOutput: ${failure.output}`;
  return new HostError(failureCode(failure, [target]), target, text);
}

/** The exit status of `mount` and `umount` when the kernel refuses. */
const refused = 32;

/** Whether `umount` (util-linux 2.38) says that nothing is mounted at the target. The mount table decides. */
export function saysNotMounted(target: string, { exitCode, output }: ProgramFailure): boolean {
  const words = `umount: ${target}: not mounted`;
  return exitCode === refused && (output === `${words}.\n` || output === `${words}\n`);
}

/** What the commands print after the reason. */
const hints =
  /\n\s+(dmesg\(1\) may have more information after failed mount system call\.|\(In some cases useful info[^/]*\))$/;

/**
 * The reasons as `mount` and `umount` of util-linux 2.38 print them, which have one exit status for all. They
 * are matched at the very end of the output: paths that pods name come before it and may contain anything. Reasons
 * that themselves end in a path come last.
 */
const codesByReason: readonly (readonly [reason: RegExp, code: string])[] = [
  [
    /(special device .* does not exist|mount point does not exist|no such file or directory|no mount point specified|symbolic link to nowhere)$/is,
    'ENOENT',
  ],
  [/not a directory$/i, 'ENOTDIR'],
  [/(target is busy|already mounted or mount point busy)$/i, 'EBUSY'],
  [/unknown filesystem type '[^']*'$/i, 'ENODEV'],
  [/is not a block device$/i, 'ENOTBLK'],
  [/(read-only|read-only file system|write-protected|read-write mode requested)$/i, 'EROFS'],
  [/(permission denied|must be superuser to use u?mount|operation not permitted)$/i, 'EPERM'],
  [/too many levels of symbolic links$/i, 'ELOOP'],
  [/(bad option|missing codepage or helper program, or other error|invalid argument)$/i, 'EINVAL'],
  [/stale file handle$/i, 'ESTALE'],
  [/connection timed out$/i, 'ETIMEDOUT'],
  [/ already mounted on …$/i, 'EBUSY'],
];

/** The commands report the reason only as text; `named` are the arguments it may repeat. */
export function failureCode(
  { output, timedOut }: Pick<ProgramFailure, 'output' | 'timedOut'>,
  named: readonly string[],
): string {
  if (timedOut) return 'ETIMEDOUT';
  const said = output.trimEnd().replace(hints, '').replace(/\.$/, '');
  const words = named.reduce((text, name) => text.replaceAll(name, '…'), said);
  return codesByReason.find(([reason]) => reason.test(words))?.[1] ?? 'EIO';
}
