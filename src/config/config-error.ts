/** The error for a configuration that cannot run. The user sees its message, then the agent exits with 1. */

export interface ConfigurationErrorOptions extends ErrorOptions {
  /** What to try instead. Printed after the message: other programs may match the message itself. */
  readonly hint?: string;
}

export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly hint: string | undefined;

  constructor(message: string, options: ConfigurationErrorOptions = {}) {
    super(message, options);
    this.hint = options.hint ?? hintOf(options.cause);
  }
}

/** Keeps the hint of a wrapped error. */
function hintOf(cause: unknown): string | undefined {
  return cause instanceof ConfigurationError ? cause.hint : undefined;
}

/** Joins problems to one text: one stays as it is, several become `[a, b]`. */
export function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  const [only = ''] = distinct;
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : only;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
