/** What a refusal says: a node answers with the words alone, an API server with an object that has them. */
export function refusalWords(body: string): string {
  const said = body.trim();
  try {
    const { kind, message } = JSON.parse(said) as { readonly kind?: unknown; readonly message?: unknown };
    if (kind === 'Status' && typeof message === 'string') return message;
  } catch {
    // No object, so these are the words.
  }
  return said;
}
