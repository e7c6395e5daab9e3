/** Makes text from outside safe for a terminal. */

/** Removes control characters: names and messages come from outside and must not move the cursor. */
export function cleanText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it removes
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
