/** Makes the lines of a help text that describe flags. */
import type { FlagSpec, FlagSpecs } from './flag-spec.js';

export interface FlagHelpOptions {
  /** Where descriptions start. Longer flags get a line of their own. Default: behind the longest flag. */
  readonly column?: number;
}

export function flagHelp(specs: FlagSpecs, options: FlagHelpOptions = {}): string[] {
  const rows = Object.entries(specs).map(([name, spec]) => ({ head: flagHead(name, spec), spec }));
  const { column = Math.max(0, ...rows.map(({ head }) => head.length)) + 2 } = options;
  const indent = ' '.repeat(column);
  return rows.map(({ head, spec }) => {
    const start = head.length < column ? head.padEnd(column) : `${head}\n${indent}`;
    return start + spec.about.replaceAll('\n', `\n${indent}`);
  });
}

/** `  -f, --filename FILE`. */
function flagHead(name: string, { shorthand, valueName, type }: FlagSpec): string {
  const short = shorthand === undefined ? '    ' : `-${shorthand}, `;
  const value = valueName ?? type.valueName;
  return `  ${short}--${name}${value === '' ? '' : ` ${value}`}`;
}
