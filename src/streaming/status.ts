/** Writes and reads the status of a command on its error stream. */
import { errorText } from '../async/index.js';
import type { RemoteCommandResult } from './contracts.js';
import { cutText } from './limits.js';

export type CommandEnd =
  | { readonly kind: 'exit'; readonly code: number }
  /** The attached container has ended. */
  | { readonly kind: 'detached' }
  | { readonly kind: 'failed'; readonly during: 'exec' | 'attach'; readonly error: unknown };

/** From version 4 of the protocol, the status is always sent, as JSON. */
export function statusJson(end: CommandEnd): string {
  switch (end.kind) {
    case 'detached':
      return JSON.stringify({ metadata: {}, status: 'Success' });
    case 'exit':
      if (end.code === 0) return JSON.stringify({ metadata: {}, status: 'Success' });
      return JSON.stringify({
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: ${exitText(end.code)}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(end.code) }] },
      });
    case 'failed':
      return JSON.stringify({
        metadata: {},
        status: 'Failure',
        message: `Internal error occurred: ${failureText(end)}`,
        reason: 'InternalError',
        details: { causes: [{ message: failureText(end) }] },
        code: 500,
      });
  }
}

/** Before version 4, only failures are sent, as text. Empty: nothing is sent. */
export function statusText(end: CommandEnd): string {
  switch (end.kind) {
    case 'detached':
      return '';
    case 'exit':
      return end.code === 0 ? '' : exitText(end.code);
    case 'failed':
      return failureText(end);
  }
}

/** Parses the status of a version 4 server. Throws the failure when there is no exit code. */
export function parseStatus(text: string): RemoteCommandResult {
  const status = jsonObject(text);
  if (status === undefined)
    throw new Error(`error stream protocol error: ${JSON.stringify(text.slice(0, 200))}`);
  if (status.status === 'Success') return { exitCode: 0 };
  const message = typeof status.message === 'string' ? status.message : '';
  if (status.reason === 'NonZeroExitCode') {
    const exitCode = Number(exitCause(status.details));
    if (Number.isInteger(exitCode)) return { exitCode, message };
  }
  throw new Error(message || `the command ended with ${JSON.stringify(text.slice(0, 200))}`);
}

function exitText(code: number): string {
  return `command terminated with exit code ${code}`;
}

function failureText({ during, error }: { during: 'exec' | 'attach'; error: unknown }): string {
  const what = during === 'exec' ? 'error executing command in container' : 'error attaching to container';
  return cutText(`${what}: ${errorText(error)}`);
}

function exitCause(details: unknown): unknown {
  if (typeof details !== 'object' || details === null || !('causes' in details)) return undefined;
  const causes: unknown[] = Array.isArray(details.causes) ? details.causes : [];
  for (const cause of causes) {
    if (typeof cause !== 'object' || cause === null || !('reason' in cause)) continue;
    if (cause.reason === 'ExitCode' && 'message' in cause) return cause.message;
  }
  return undefined;
}

function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Any object can be read as a record of unknown values.
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // The caller reports text that is not JSON.
  }
  return undefined;
}
