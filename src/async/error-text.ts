/** The words of whatever was thrown, for messages. */

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What was thrown as an Error, for those who need its type. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error), { cause: error });
}

/** Several texts as one, each said once: the text itself, or all in brackets. */
export function aggregateText(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  return different.length === 1 ? different.join() : `[${different.join(', ')}]`;
}
