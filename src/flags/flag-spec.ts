/** Describes a flag as data: parsing, help and completion all read this table. */

/** How the text of a flag becomes a value. */
export interface FlagType<Value = unknown> {
  /** Stands for the value in the help: `NAME`. Empty when the flag may be written without a value. */
  readonly valueName: string;
  /** The text that a flag without a value stands for: `true` for `--follow`. Undefined: the flag needs a value. */
  readonly bareText?: string;
  /** The value of a flag that is not given. */
  readonly unset: Value;
  /** Values are secret, so errors do not repeat them. */
  readonly secret?: true;
  /** Throws an error that says why the text is not a value. */
  parse(text: string): Value;
  /** Joins the values of two occurrences. Without it, the later one replaces the earlier one. */
  join?(earlier: Value, later: Value): Value;
}

export interface FlagSpec<Value = unknown> {
  readonly type: FlagType<Value>;
  /** One letter: `f` for `-f`. */
  readonly shorthand?: string;
  /** A second long name. */
  readonly alias?: string;
  /** Stands for the value in the help, instead of the name that the type gives. */
  readonly valueName?: string;
  /** All values that the flag accepts, for completion. */
  readonly choices?: readonly string[];
  /** What the help says about the flag. Further lines are indented. */
  readonly about: string;
}

/** Flags by their long name. */
export type FlagSpecs = Readonly<Record<string, FlagSpec>>;

export type FlagValues<Specs extends FlagSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name]['type']['unset'];
};

/** `--follow`, `--enable-server=false`. */
export const bool: FlagType<boolean> = {
  valueName: '',
  bareText: 'true',
  unset: false,
  parse: parseBool,
};

/** A text; the last occurrence counts. */
export const string: FlagType<string | undefined> = {
  valueName: 'TEXT',
  unset: undefined,
  parse: (text) => text,
};

/** A text for each occurrence. */
export const strings: FlagType<readonly string[]> = {
  valueName: 'TEXT',
  unset: [],
  parse: (text) => [text],
  join: (earlier, later) => [...earlier, ...later],
};

export function parseBool(text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  throw new Error(`"${text}" is neither true nor false`);
}
