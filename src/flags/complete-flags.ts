/** Says what the word at the cursor of a shell can be, by the same table that parses the command line. */
import { FlagError } from './flag-error.js';
import type { FlagSpec, FlagSpecs } from './flag-spec.js';
import { FlagNames, type FlagWord, isFlagWord } from './flag-words.js';

export type CursorWord =
  /** The name of a flag; these are all there are. */
  | { readonly kind: 'flag'; readonly names: readonly string[] }
  | {
      readonly kind: 'value';
      readonly name: string;
      readonly spec: FlagSpec;
      readonly positionals: readonly string[];
    }
  /** An argument, after these others. */
  | { readonly kind: 'positional'; readonly positionals: readonly string[] }
  /** A word after `--`. */
  | { readonly kind: 'rest' };

/** `words` are those of one command; the last one, which may be empty, is at the cursor. */
export function cursorWord(words: readonly string[], specs: FlagSpecs): CursorWord {
  const names = new FlagNames(specs);
  const positionals: string[] = [];
  const before = words.slice(0, -1);
  for (let at = 0; at < before.length; at++) {
    const word = before[at] ?? '';
    if (word === '--') return { kind: 'rest' };
    if (!isFlagWord(word)) {
      positionals.push(word);
      continue;
    }
    const flag = readLeniently(names, word).awaitsValue;
    if (flag === undefined) continue;
    at++;
    if (at === before.length) return { kind: 'value', name: flag.name, spec: flag.spec, positionals };
  }
  return words.at(-1)?.startsWith('-')
    ? { kind: 'flag', names: Object.keys(specs).map((name) => `--${name}`) }
    : { kind: 'positional', positionals };
}

/** An unknown flag earlier on the line does not stop completion. */
function readLeniently(names: FlagNames, word: string): FlagWord {
  try {
    return names.read(word);
  } catch (error) {
    if (error instanceof FlagError) return { complete: [] };
    throw error;
  }
}
