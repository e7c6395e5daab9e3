/** Errors that a command prints without a stack trace, with their exit codes. */

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command failed: exit code 1. The message says what to do. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
