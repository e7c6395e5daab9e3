/** Failures that a command shows without a stack, and the exit codes that go with them. */

/** The command line is not right: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What was asked for could not be done: exit code 1. The message says what to do. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
