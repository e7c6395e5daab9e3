/** Formats file errors as node users know them: `open /x: no such file or directory`. */
import { getSystemErrorMap } from 'node:util';
import { errorText } from '../../async/index.js';
import { HostError } from '../../host/index.js';

/** Takes operation and path from the error where it has them. */
export function describeFileError(error: unknown, operation: string, path: string): string {
  if (!isErrno(error)) return errorText(error);
  const errno = error.errno ?? (isErrno(error.cause) ? error.cause.errno : undefined);
  const text = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  // Refused by the host, not the kernel: the error has its own message.
  if (text === undefined && error instanceof HostError) return error.message;
  return `${operation} ${error.path ?? path}: ${text ?? error.code ?? error.message}`;
}

export function isMissing(error: unknown): boolean {
  return isErrno(error) && error.code === 'ENOENT';
}

export function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
