/** The message of any thrown value. */

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The thrown value as an Error, for callers that need its type. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error), { cause: error });
}

/** The code of the system error (`ENOENT`) that the error is or was caused by. */
export function systemErrorCode(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if ('code' in current && typeof current.code === 'string' && 'syscall' in current) return current.code;
    current = current.cause;
  }
  return undefined;
}

/** Joins distinct texts: a single text as it is, several in brackets. */
export function aggregateText(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  return different.length === 1 ? different.join() : `[${different.join(', ')}]`;
}
