/** The naming rules of Kubernetes: each returns what is wrong with a text, or undefined when it is valid. */
import { isIP } from 'node:net';
import { absolutePath, hostNameOrAddress, mountOption, wordProblem } from '../../../programs/index.js';

type NameRule = (value: string) => string | undefined;

const longestSubdomain = 253;
const longestLabel = 63;

export const dnsLabel: NameRule = (value) =>
  tooLong(value, longestLabel) ??
  (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value)
    ? undefined
    : 'must be lower-case letters, digits and "-", and begin and end with a letter or digit');

export const dnsSubdomain: NameRule = (value) =>
  tooLong(value, longestSubdomain) ??
  (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value)
    ? undefined
    : 'must be lower-case letters, digits, "-" and ".", and each part between dots must begin and end with a letter or digit');

/** Search domains may also contain underscores. */
export const dnsSearchDomain: NameRule = (value) =>
  tooLong(value, longestSubdomain) ??
  (/^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/.test(value)
    ? undefined
    : 'must be a domain of lower-case letters, digits, "-", "_" and "."');

/** `[prefix/]name`, the form of label keys and resource names. */
export const qualifiedName: NameRule = (value) => {
  const slash = value.indexOf('/');
  if (slash !== value.lastIndexOf('/')) return 'must be a name with at most one "/" after an optional domain';
  if (slash === 0) return 'the domain before "/" must not be empty';
  if (slash > 0) {
    const detail = dnsSubdomain(value.slice(0, slash));
    if (detail !== undefined) return `the domain before "/" ${detail}`;
  }
  const name = value.slice(slash + 1);
  if (name === '') return 'the name must not be empty';
  return (
    tooLong(name, longestLabel) ??
    (/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name)
      ? undefined
      : 'the name must be letters, digits, "-", "_" and ".", and begin and end with a letter or digit')
  );
};

export const labelValue: NameRule = (value) =>
  tooLong(value, longestLabel) ??
  (value === '' || /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(value)
    ? undefined
    : 'must be empty or letters, digits, "-", "_" and ".", and begin and end with a letter or digit');

/** Any printable ASCII but `=`. */
export const envVarName: NameRule = (value) =>
  /^[ -<>-~]+$/.test(value) ? undefined : 'must be printable ASCII characters other than "="';

export const configMapKey: NameRule = (value) => {
  const detail = tooLong(value, longestSubdomain);
  if (detail !== undefined) return detail;
  if (!/^[-._a-zA-Z0-9]+$/.test(value)) return 'must be letters, digits, "-", "_" and "."';
  if (value === '.') return 'must not be "."';
  return value.startsWith('..') ? 'must not begin with ".."' : undefined;
};

export const portName: NameRule = (value) => {
  const detail = tooLong(value, 15);
  if (detail !== undefined) return detail;
  if (!/^[-a-z0-9]+$/.test(value)) return 'must be lower-case letters, digits and "-"';
  if (!/[a-z]/.test(value)) return 'must contain at least one letter';
  if (value.includes('--')) return 'must not contain two "-" in a row';
  return value.startsWith('-') || value.endsWith('-') ? 'must not begin or end with "-"' : undefined;
};

export const httpHeaderName: NameRule = (value) =>
  /^[-A-Za-z0-9]+$/.test(value) ? undefined : 'must be letters, digits and "-"';

export const ipAddress: NameRule = (value) =>
  isIP(value) === 0 ? 'must be an IP address, for example 10.9.8.7 or 2001:db8::ffff' : undefined;

/** An argument of `mount`; a name that begins with "-" would be an option. */
export const nfsServer: NameRule = hostNameOrAddress.problem;

export const nfsPath: NameRule = (value) => wordProblem(value) ?? absolutePath.problem(value);

/** An entry of a PersistentVolume's mountOptions, which may hold several options. */
export const mountOptions: NameRule = (value) =>
  value.startsWith('-') ? 'must not begin with "-"' : mountOption.problem(value.replaceAll(',', ';'));

export const sysctlName: NameRule = (value) =>
  tooLong(value, longestSubdomain) ??
  (/^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/.test(value)
    ? undefined
    : 'must be lower-case words of letters, digits, "-" and "_", separated by "." or "/"');

/** Relative, and never leaves its directory. */
export const localPath: NameRule = (value) => {
  if (value.startsWith('/')) return 'must be a relative path';
  return noBacksteps(value);
};

/** Like `localPath`; names that begin with two dots are reserved for the atomic writer. */
export const localNonReservedPath: NameRule = (value) => {
  const detail = localPath(value);
  if (detail !== undefined) return detail;
  return value.startsWith('..') ? 'must not begin with ".."' : undefined;
};

export const noBacksteps: NameRule = (value) =>
  value.split('/').includes('..') ? 'must not contain ".."' : undefined;

function tooLong(value: string, limitBytes: number): string | undefined {
  return Buffer.byteLength(value) > limitBytes ? `must be no more than ${limitBytes} bytes` : undefined;
}
