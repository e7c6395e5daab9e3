import { describe, expect, it } from 'vitest';
import { bool, type FlagSpecs, string, strings } from '../../flags/index.js';
import { parseCommandFlags, wholeNumber } from './flags.js';

const specs = {
  follow: { type: bool, shorthand: 'f', about: '' },
  tty: { type: bool, shorthand: 't', about: '' },
  container: { type: string, shorthand: 'c', about: '' },
  run: { type: string, alias: 'name', about: '' },
  each: { type: strings, about: '' },
} as const satisfies FlagSpecs;

const none = { follow: false, tty: false, container: undefined, run: undefined, each: [] };

describe('parseCommandFlags', () => {
  it.each<[string, string[], Partial<Record<keyof typeof specs, unknown>>, string[], string[] | undefined]>([
    ['nothing', [], {}, [], undefined],
    ['flags and arguments mix', ['web', '-f', 'app'], { follow: true }, ['web', 'app'], undefined],
    ['a row of shorthands', ['-ft'], { follow: true, tty: true }, [], undefined],
    [
      'a shorthand with a value ends the row',
      ['-ftc', 'app'],
      { follow: true, tty: true, container: 'app' },
      [],
      undefined,
    ],
    ['the value in the same word', ['-capp'], { container: 'app' }, [], undefined],
    [
      'the value after an equals sign',
      ['-c=app', '--run=a=b'],
      { container: 'app', run: 'a=b' },
      [],
      undefined,
    ],
    ['a value that looks like a flag', ['--container', '-1'], { container: '-1' }, [], undefined],
    ['a boolean with a value', ['--follow=false', '-t=true'], { tty: true }, [], undefined],
    ['an alias', ['--name', 'x'], { run: 'x' }, [], undefined],
    ['a flag that repeats', ['--each', 'a', '--each=b'], { each: ['a', 'b'] }, [], undefined],
    ['the last occurrence wins', ['-c', 'a', '-c', 'b'], { container: 'b' }, [], undefined],
    ['words after -- are not parsed', ['web', '--', 'ls', '-l', '--'], {}, ['web'], ['ls', '-l', '--']],
    ['a lone dash is an argument', ['-'], {}, ['-'], undefined],
  ])('%s', (_, argv, expected, positionals, rest) => {
    const { given, ...parsed } = parseCommandFlags(argv, specs);
    expect(parsed).toEqual({ values: { ...none, ...expected }, positionals, rest });
  });

  it.each([
    ['an unknown flag', ['--folow'], 'unknown flag: --folow; did you mean --follow?'],
    ['an unknown flag without a similar one', ['--zzzzzz'], 'unknown flag: --zzzzzz'],
    ['an unknown shorthand', ['-fx'], "unknown shorthand flag: 'x' in -fx"],
    ['a missing value', ['--container'], 'flag needs an argument: --container'],
    ['a missing value of a shorthand', ['-c'], 'flag needs an argument: -c'],
    ['a wrong boolean', ['--follow=maybe'], 'invalid argument "maybe" for --follow: true or false'],
  ])('refuses %s', (_, argv, message) => {
    expect(() => parseCommandFlags(argv, specs)).toThrow(message);
  });
});

describe('wholeNumber', () => {
  it.each([
    ['not given', undefined, undefined],
    ['a number', '5', 5],
    ['the minimum', '-1', -1],
  ])('%s', (_, text, value) => {
    expect(wholeNumber('--tail', text, -1)).toBe(value);
  });

  it.each([
    ['a fraction', '1.5', 'invalid argument "1.5" for --tail: a whole number'],
    ['a word', 'all', 'invalid argument "all" for --tail: a whole number'],
    ['too small', '-2', '--tail must be at least -1'],
  ])('refuses %s', (_, text, message) => {
    expect(() => wholeNumber('--tail', text, -1)).toThrow(message);
  });
});
