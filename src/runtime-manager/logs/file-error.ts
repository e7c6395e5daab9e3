/** Words errors of file operations the way users of a node know them: `open /x: no such file or directory`. */
import { getSystemErrorMap } from 'node:util';
import { errorText } from '../../async/index.js';
import { HostError } from '../../host/index.js';

/** Operation and path are those of the error where it has them. */
export function describeFileError(error: unknown, operation: string, path: string): string {
  if (!isErrno(error)) return errorText(error);
  const errno = error.errno ?? (isErrno(error.cause) ? error.cause.errno : undefined);
  const text = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  // What was refused by its kind, and not by the kernel, says so itself.
  if (text === undefined && error instanceof HostError) return error.message;
  return `${operation} ${error.path ?? path}: ${text ?? error.code ?? error.message}`;
}

export function isMissing(error: unknown): boolean {
  return isErrno(error) && error.code === 'ENOENT';
}

export function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
