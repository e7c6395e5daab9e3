/** Reads one word of a command line: which flags it names, and whether the next word is a value. */
import { FlagError, type WrittenFlag } from './flag-error.js';
import type { FlagSpec, FlagSpecs } from './flag-spec.js';
import { nearestName } from './nearest-name.js';

/** A flag with the text of its value. */
export interface FlagOccurrence extends WrittenFlag {
  readonly text: string;
}

export interface FlagWord {
  /** Flags whose value is known from this word. */
  readonly complete: readonly FlagOccurrence[];
  /** The flag whose value is the next word. */
  readonly awaitsValue?: WrittenFlag;
}

interface NamedFlag {
  readonly name: string;
  readonly spec: FlagSpec;
}

/** The flags of a table by everything they can be called. */
export class FlagNames {
  readonly #long = new Map<string, NamedFlag>();
  readonly #short = new Map<string, NamedFlag>();

  constructor(specs: FlagSpecs) {
    for (const [name, spec] of Object.entries(specs)) {
      const flag = { name, spec };
      this.#long.set(name, flag);
      if (spec.alias !== undefined) this.#long.set(spec.alias, flag);
      if (spec.shorthand !== undefined) this.#short.set(spec.shorthand, flag);
    }
  }

  /** Throws a FlagError for a word that is not a known flag. */
  read(word: string): FlagWord {
    return word.startsWith('--') ? this.#readLong(word) : this.#readShorthands(word);
  }

  #readLong(word: string): FlagWord {
    const body = word.slice(2);
    const equals = body.indexOf('=');
    const given = equals < 0 ? body : body.slice(0, equals);
    if (given === '' || given.startsWith('-')) throw new FlagError({ kind: 'bad-syntax', word });
    const normalized = given.replaceAll('_', '-');
    const found = this.#long.get(normalized);
    if (found === undefined) {
      const nearest = nearestName(normalized, this.#long.keys());
      throw new FlagError({ kind: 'unknown-flag', name: given, nearest });
    }
    const flag = { ...found, written: `--${given}`, word };
    const text = equals < 0 ? found.spec.type.bareText : body.slice(equals + 1);
    return text === undefined ? { complete: [], awaitsValue: flag } : { complete: [{ ...flag, text }] };
  }

  /** `-it`, `-c app`, `-capp`, `-c=app`: a row of letters, which ends at the first one with a value. */
  #readShorthands(word: string): FlagWord {
    const complete: FlagOccurrence[] = [];
    for (let at = 1; at < word.length; at++) {
      const letter = word.charAt(at);
      const found = this.#short.get(letter);
      if (found === undefined) throw new FlagError({ kind: 'unknown-shorthand', letter, word });
      const flag = { ...found, written: `-${letter}`, word };
      const tail = word.slice(at + 1);
      const { bareText } = found.spec.type;
      if (tail.startsWith('=')) return { complete: [...complete, { ...flag, text: tail.slice(1) }] };
      if (bareText !== undefined) complete.push({ ...flag, text: bareText });
      else if (tail === '') return { complete, awaitsValue: flag };
      else return { complete: [...complete, { ...flag, text: tail }] };
    }
    return { complete };
  }
}

/** `-` alone is an argument: it stands for standard input. */
export function isFlagWord(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}
