import { describe, expect, it } from 'vitest';
import { FlagError } from './flag-error.js';
import { bool, type FlagSpecs, type FlagType, string, strings } from './flag-spec.js';
import { parseFlags } from './parse-flags.js';

const list: FlagType<readonly string[]> = {
  valueName: 'A,B',
  unset: [],
  parse: (text) => text.split(','),
  join: (earlier, later) => [...earlier, ...later],
};

const password: FlagType = {
  valueName: 'TEXT',
  unset: undefined,
  secret: true,
  parse() {
    throw new Error('too short');
  },
};

const specs = {
  follow: { type: bool, shorthand: 'f', about: '' },
  tty: { type: bool, shorthand: 't', about: '' },
  container: { type: string, shorthand: 'c', about: '' },
  'root-dir': { type: string, alias: 'dir', about: '' },
  each: { type: strings, about: '' },
  dns: { type: list, about: '' },
  password: { type: password, shorthand: 'p', about: '' },
} as const satisfies FlagSpecs;

describe('values', () => {
  it.each<[rule: string, argv: string[], expected: Partial<Record<keyof typeof specs, unknown>>]>([
    ['a value after an equals sign', ['--container=app'], { container: 'app' }],
    ['a value in the next word', ['--container', 'app'], { container: 'app' }],
    ['an empty value', ['--container='], { container: '' }],
    ['a value that looks like a flag', ['--container', '--follow'], { container: '--follow' }],
    ['a boolean without a value', ['--follow'], { follow: true }],
    ['a boolean with a value', ['--follow', '--follow=False'], { follow: false }],
    ['a shorthand with a value in the same word', ['-capp'], { container: 'app' }],
    ['a shorthand with an equals sign', ['-c=app', '-t=false'], { container: 'app', tty: false }],
    ['a row of shorthands', ['-ftc', 'app'], { follow: true, tty: true, container: 'app' }],
    ['underscores count as hyphens', ['--root_dir=/r'], { 'root-dir': '/r' }],
    ['an alias', ['--dir', '/r'], { 'root-dir': '/r' }],
    ['the last occurrence of a string wins', ['-c', 'a', '-c', 'b'], { container: 'b' }],
    ['a repeatable flag collects its occurrences', ['--each=a,b', '--each', 'c'], { each: ['a,b', 'c'] }],
    ['a type joins its occurrences', ['--dns=a,b', '--dns', 'c'], { dns: ['a', 'b', 'c'] }],
  ])('%s', (_, argv, expected) => {
    expect(parseFlags(argv, specs).values).toMatchObject(expected);
  });

  it('of flags that are not given are those of their types', () => {
    expect(parseFlags([], specs).values).toEqual({
      follow: false,
      tty: false,
      container: undefined,
      'root-dir': undefined,
      each: [],
      dns: [],
      password: undefined,
    });
  });
});

it('names the given flags in the order of their first occurrence', () => {
  const { given } = parseFlags(['--each=a', '-f', '--each=b', '--dir=x'], specs);
  expect([...given]).toEqual(['each', 'follow', 'root-dir']);
});

it.each<[rule: string, argv: string[], positionals: string[], rest: string[] | undefined]>([
  ['flags and arguments mix', ['a', '-f', 'b'], ['a', 'b'], undefined],
  ['a lone dash is an argument', ['-'], ['-'], undefined],
  ['a boolean does not take the next word', ['--follow', 'false'], ['false'], undefined],
  ['-- ends the flags', ['a', '--', '-f', '--'], ['a'], ['-f', '--']],
  ['-- at the end', ['a', '--'], ['a'], []],
  ['-- can be a value', ['-c', '--', 'a'], ['a'], undefined],
])('%s', (_, argv, positionals, rest) => {
  expect(parseFlags(argv, specs)).toMatchObject({ positionals, rest });
});

describe('refuses', () => {
  it.each<[problem: string, argv: string[], message: string, kind: string]>([
    ['an unknown flag', ['--x_y=1'], 'unknown flag: --x_y', 'unknown-flag'],
    ["a name of JavaScript's objects", ['--constructor'], 'unknown flag: --constructor', 'unknown-flag'],
    ['an unknown shorthand', ['-fx'], "unknown shorthand flag: 'x' in -fx", 'unknown-shorthand'],
    ['a flag without a name', ['--=x'], 'bad flag syntax: --=x', 'bad-syntax'],
    ['three dashes', ['---follow'], 'bad flag syntax: ---follow', 'bad-syntax'],
    ['a missing value', ['--dir'], 'flag needs an argument: --dir', 'missing-value'],
    ['a missing value of a shorthand', ['-fc'], "flag needs an argument: 'c' in -fc", 'missing-value'],
    [
      'a wrong boolean',
      ['-t=maybe'],
      'invalid argument "maybe" for "-t, --tty" flag: "maybe" is neither true nor false',
      'invalid-value',
    ],
    [
      'a secret, without repeating it',
      ['--password=x'],
      'invalid argument for "-p, --password" flag: too short',
      'invalid-value',
    ],
  ])('%s', (_, argv, message, kind) => {
    const error = errorOf(argv);
    expect(error.message).toBe(message);
    expect(error.problem.kind).toBe(kind);
  });

  it.each([
    ['--folow', 'follow'],
    ['--root_dri', 'root-dir'],
    ['--zzzzzz', undefined],
  ])('%s and suggests %s', (word, nearest) => {
    expect(errorOf([word]).problem).toMatchObject({ kind: 'unknown-flag', nearest });
  });
});

function errorOf(argv: string[]): FlagError {
  try {
    parseFlags(argv, specs);
  } catch (error) {
    if (error instanceof FlagError) return error;
    throw error;
  }
  throw new Error('expected a FlagError');
}
