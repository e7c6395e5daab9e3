/** Kinds of values passed to programs as arguments, each with its check. */
import { isIP } from 'node:net';

declare const checkedAs: unique symbol;

/** A value checked to be of one kind. None begins with `-`, so none can be taken for an option. */
export type CheckedWord<Kind extends string = string> = string & { readonly [checkedAs]: Kind };

/** Says what is wrong with a value; undefined when it is valid. */
export type WordRule = (value: string) => string | undefined;

export interface WordKind<Kind extends string> {
  readonly kind: Kind;
  readonly problem: WordRule;
}

export type WordOf<T> = T extends WordKind<infer Kind> ? CheckedWord<Kind> : never;

/** A value that must not reach a program. The message names its field and what to write instead. */
export class BadProgramWord extends Error {
  override readonly name = 'BadProgramWord';

  constructor(
    readonly field: string,
    value: string,
    problem: string,
  ) {
    super(`${field}: ${shown(value)} ${problem}`);
  }
}

/** `field` is where the user wrote the value, such as `nfs.server`. */
export function checkedWord<Kind extends string>(
  { problem }: WordKind<Kind>,
  field: string,
  value: string,
): CheckedWord<Kind> {
  const found = wordProblem(value) ?? (value.startsWith('-') ? 'must not begin with "-"' : problem(value));
  if (found !== undefined) throw new BadProgramWord(field, value, found);
  // The brand exists only for the compiler; the checks above earn it.
  return value as CheckedWord<Kind>;
}

/** The kernel's limit for one argument, without its terminating NUL. */
const longestWordBytes = 128 * 1024 - 1;

/** Rules that every program argument must meet. */
export const wordProblem: WordRule = (value) => {
  if (value.includes('\0')) return 'must not have a NUL byte';
  return Buffer.byteLength(value) > longestWordBytes
    ? `must be no longer than ${longestWordBytes} bytes`
    : undefined;
};

const longestShown = 100;

/** Quoted, truncated, and with control characters escaped. */
export function shown(value: string): string {
  const cut = value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;
  return JSON.stringify(cut);
}

function kind<const Kind extends string>(name: Kind, problem: WordRule): WordKind<Kind> {
  return { kind: name, problem };
}

const longestPathBytes = 4095;

export const absolutePath = kind('absolute path', (value) => {
  if (!value.startsWith('/')) return 'must be an absolute path, which begins with "/"';
  return Buffer.byteLength(value) > longestPathBytes
    ? `must be no longer than ${longestPathBytes} bytes`
    : undefined;
});
export type AbsolutePath = WordOf<typeof absolutePath>;

const hostLabel = /^[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?$/;
const longestHostName = 253;

/** An IPv6 address may be in brackets. */
export const hostNameOrAddress = kind('host name or address', (value) => {
  const inBrackets = /^\[(.*)\]$/s.exec(value)?.[1];
  if (inBrackets === undefined ? isIP(value) !== 0 : isIP(inBrackets) === 6) return undefined;
  const labels = value.replace(/\.$/, '').split('.');
  if (value.length <= longestHostName && labels.every((label) => hostLabel.test(label))) return undefined;
  return 'must be a host name or an IP address, for example files.example.com, 192.0.2.7 or 2001:db8::7';
});
export type HostNameOrAddress = WordOf<typeof hostNameOrAddress>;

/** `nfs`, `ext4`, `fuse.sshfs`; it becomes part of program names such as `mkfs.ext4`. */
export const fileSystemType = kind('file system type', (value) =>
  /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$/.test(value)
    ? undefined
    : 'must be the name of a file system, for example ext4, of letters, digits, "_", ".", "+" and "-"',
);
export type FileSystemType = WordOf<typeof fileSystemType>;

/** The name of a virtual file system in the mount table: `tmpfs`, `nodev`. */
export const pseudoDevice = kind('pseudo device', (value) =>
  /^[a-z][a-z0-9_]{0,31}$/.test(value) ? undefined : 'must be a plain name such as tmpfs',
);

/** One mount option. A comma outside double quotes would begin another. */
export const mountOption = kind('mount option', (value) => {
  if (value === '') return 'must not be empty';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  if (/[\u0000-\u001f\u007f]/.test(value)) return 'must not have control characters';
  return /^([^",]|"[^"]*")*$/.test(value) ? undefined : 'must be one mount option, without a comma';
});
export type MountOption = WordOf<typeof mountOption>;

/** A network interface, at most 15 bytes. */
export const linkName = kind('network interface', (value) =>
  /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/.test(value)
    ? undefined
    : 'must be the name of a network interface: at most 15 letters, digits, "_", "." and "-"',
);

/** A range of IPv4 addresses: `10.96.0.0/16`. */
export const addressRange = kind('address range', (value) => {
  const [, address = '', bits = ''] = /^([\d.]{7,15})\/(\d{1,2})$/.exec(value) ?? [];
  return isIP(address) === 4 && Number(bits) <= 32
    ? undefined
    : 'must be a range of IPv4 addresses, for example 10.96.0.0/16';
});

/** A program to look up on the PATH. */
export const programName = kind('program name', (value) =>
  /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}$/.test(value) ? undefined : 'must be the name of a program',
);

export const processIds = kind('process ids', (value) =>
  /^[1-9][0-9]{0,9}(,[1-9][0-9]{0,9})*$/.test(value) ? undefined : 'must be process ids',
);
