/** The arguments and failure texts of the `mount` and `umount` commands, which both sides of the port tell alike. */
import { HostError, type MountRequest } from './host.js';

const propagationChanges = new Set(
  ['shared', 'slave', 'private', 'unbindable'].flatMap((name) => [name, `r${name}`]),
);

/** One call of `mount`. */
export interface MountCall {
  /** Changes of propagation: `rshared` … */
  readonly propagation: readonly string[];
  readonly fsType: string | undefined;
  readonly options: readonly string[];
  readonly source: string | undefined;
  readonly target: string;
  readonly noCanonicalize: boolean;
}

/** Flags of the file system behind a bind that the remount would drop if they were not said again. */
const inheritedFlags = new Set(['ro', 'nodev', 'noexec', 'nosuid', 'noatime', 'relatime', 'nodiratime']);

/** What to call for a request: one call, or a bind and then its remount with what else is wanted and what the source has. */
export function mountCalls(request: MountRequest, sourceFlags: readonly string[]): readonly MountCall[] {
  const { source, target, fsType, options = [], noCanonicalize = false } = request;
  const propagation = options.filter((option) => propagationChanges.has(option));
  const others = options.filter((option) => !propagationChanges.has(option));
  const call = { source, target, fsType, noCanonicalize };
  if (!isBind(request)) return [{ ...call, propagation, options: others }];
  const kind = others.includes('rbind') ? 'rbind' : 'bind';
  const rest = others.filter((option) => !['bind', 'rbind', 'remount'].includes(option));
  const flags = sourceFlags.filter((flag) => inheritedFlags.has(flag) && !rest.includes(flag));
  const network = rest.includes('_netdev') ? ['_netdev'] : [];
  return [
    { ...call, propagation: [], options: [kind, ...network] },
    { ...call, propagation, options: ['bind', 'remount', ...rest, ...flags] },
  ];
}

/** Whether the request makes a new bind mount. */
export function isBind({ options = [] }: MountRequest): boolean {
  return (options.includes('bind') || options.includes('rbind')) && !options.includes('remount');
}

export function mountArguments(call: MountCall): readonly string[] {
  return [
    ...(call.noCanonicalize ? ['--no-canonicalize'] : []),
    ...call.propagation.map((name) => `--make-${name}`),
    ...(call.fsType === undefined || call.fsType === '' ? [] : ['-t', call.fsType]),
    ...(call.options.length === 0 ? [] : ['-o', call.options.join(',')]),
    ...(call.source === undefined || call.source === '' ? [] : [call.source]),
    call.target,
  ];
}

/** How a command ended that did not succeed. */
export interface CommandFailure {
  /** `exit status 32`, `signal: killed` … */
  readonly status: string;
  readonly output: string;
  readonly timedOut: boolean;
}

export function mountFailure(call: MountCall, failure: CommandFailure): HostError {
  const text = `mount failed: ${failure.status}\nMounting command: mount\nMounting arguments: ${mountArguments(call).join(' ')}\nOutput: ${failure.output}`;
  return new HostError(failureCode(failure), call.target, text);
}

export function unmountFailure(target: string, failure: CommandFailure): HostError {
  const text = `unmount failed: ${failure.status}\nUnmounting arguments: ${target}\nOutput: ${failure.output}`;
  return new HostError(failureCode(failure), target, text);
}

/** Whether `umount` found nothing to do. */
export function wasNotMounted({ output }: CommandFailure): boolean {
  return output.includes('not mounted');
}

const codesByWords: readonly (readonly [words: RegExp, code: string])[] = [
  [/does not exist|no such file|no mount point specified/i, 'ENOENT'],
  [/not a directory/i, 'ENOTDIR'],
  [/is busy|already mounted/i, 'EBUSY'],
  [/unknown filesystem type/i, 'ENODEV'],
  [/is not a block device/i, 'ENOTBLK'],
  [/read-only|write-protected/i, 'EROFS'],
  [/permission denied|must be superuser|operation not permitted/i, 'EPERM'],
  [/too many levels of symbolic links/i, 'ELOOP'],
  [/bad option|wrong fs type|bad superblock|invalid argument/i, 'EINVAL'],
  [/stale file handle/i, 'ESTALE'],
  [/connection timed out/i, 'ETIMEDOUT'],
];

/** The commands tell the reason by words only. */
export function failureCode({ output, timedOut }: CommandFailure): string {
  if (timedOut) return 'ETIMEDOUT';
  return codesByWords.find(([words]) => words.test(output))?.[1] ?? 'EIO';
}
