/** The flag engine: one table of flags gives parsing with pflag's rules, help and completion. */
export { type CursorWord, cursorWord } from './complete-flags.js';
export { FlagError, type FlagProblem } from './flag-error.js';
export { type FlagHelpOptions, flagHelp } from './flag-help.js';
export {
  bool,
  type FlagSpec,
  type FlagSpecs,
  type FlagType,
  type FlagValues,
  parseBool,
  string,
  strings,
} from './flag-spec.js';
export { editDistance, nearestName } from './nearest-name.js';
export { type ParsedFlags, parseFlags } from './parse-flags.js';
