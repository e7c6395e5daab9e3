/** The error of every configuration that cannot be run: the message is what the user sees before exit 1. */

export interface ConfigurationErrorOptions extends ErrorOptions {
  /** What to try instead; printed after the message, whose wording other programs may look for. */
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

/** The hint of a wrapped error, so that wrapping does not lose it. */
function hintOf(cause: unknown): string | undefined {
  return cause instanceof ConfigurationError ? cause.hint : undefined;
}

/** Several problems as one text: alone as it is, together as `[a, b]`. */
export function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  const [only = ''] = distinct;
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : only;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
