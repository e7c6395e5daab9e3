import { expect, it } from 'vitest';
import { cursorWord } from './complete-flags.js';
import { bool, type FlagSpecs, string } from './flag-spec.js';

const specs: FlagSpecs = {
  tty: { type: bool, shorthand: 't', about: '' },
  container: { type: string, shorthand: 'c', alias: 'in', about: '' },
};

it.each<[rule: string, line: string, expected: object]>([
  ['the first argument', '', { kind: 'positional', positionals: [] }],
  ['an argument after others', 'a -t b ', { kind: 'positional', positionals: ['a', 'b'] }],
  ['an argument after a flag with its value', '--container=x -c y ', { kind: 'positional', positionals: [] }],
  ['a flag', 'a -', { kind: 'flag', names: ['--tty', '--container'] }],
  ['a value', 'a --container x', { kind: 'value', name: 'container', positionals: ['a'] }],
  ['a value after an alias', '--in ', { kind: 'value', name: 'container' }],
  ['a value after a row of shorthands', '-tc ', { kind: 'value', name: 'container' }],
  ['a value that looks like a flag', '-c -', { kind: 'value', name: 'container' }],
  ['a word after --', 'a -- -', { kind: 'rest' }],
  ['an argument after an unknown flag', '--what a ', { kind: 'positional', positionals: ['a'] }],
])('%s', (_, line, expected) => {
  expect(cursorWord(line.split(' '), specs)).toMatchObject(expected);
});
