/** The error for anything but a regular file. */
import { type FileKind, HostError } from './host.js';

export function notRegular(path: string, kind: FileKind): HostError {
  const code = kind === 'directory' ? 'EISDIR' : 'EINVAL';
  return new HostError(code, path, `${code}: '${path}' is a ${kind.replace('-', ' ')}, not a regular file`);
}
