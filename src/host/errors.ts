/** Classifies failed calls of the machine. */
import { HostError } from './host.js';

/** Whether a call failed with one of these codes. */
export function isHostError(error: unknown, ...codes: readonly string[]): error is HostError {
  return error instanceof HostError && (codes.length === 0 || codes.includes(error.code));
}

/** Whether a call failed because nothing is at its path. */
export function isMissing(error: unknown): error is HostError {
  return isHostError(error, 'ENOENT');
}

/** Whether a call failed for a shortage on the machine, which says nothing about its file. */
export function isShortage(error: unknown): error is HostError {
  return isHostError(error, 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR', 'ETIMEDOUT');
}

/** Converts a system error to a HostError; `EIO` if it has no code. */
export function toHostError(error: unknown, path: string): HostError {
  if (error instanceof HostError) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return new HostError(code, path, text, { cause: error });
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return 'EIO';
  return typeof error.code === 'string' ? error.code : 'EIO';
}
