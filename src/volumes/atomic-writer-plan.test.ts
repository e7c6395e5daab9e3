/** The decisions of an atomic write. */
import { describe, expect, it } from 'vitest';
import {
  entriesToRemove,
  isTimestampName,
  normalPayload,
  payloadDiffers,
  payloadPathProblem,
  planRoot,
  timestampName,
  topLevelNames,
} from './atomic-writer-plan.js';

const long = 'x'.repeat(256);
const manyNames = Array.from({ length: 2049 }, () => 'x').join('/');

describe('payload paths', () => {
  const rows: readonly [rule: string, path: string, problem: string | undefined][] = [
    ['a name', 'x', undefined],
    ['a nested path', 'path/to/data-2', undefined],
    ['dots inside a name', 'x..y', undefined],
    ['a hidden file', '.hidden', undefined],
    ['a longest name', 'x'.repeat(255), undefined],
    ['a nested name that starts with dots', 'x/..y', undefined],
    ['empty', '', 'invalid path: must not be empty: ""'],
    ['the volume itself', './', 'invalid path: must not be empty: "./"'],
    ['absolute', '/x', 'invalid path: must be relative path: /x'],
    ['up', '../x', "invalid path: must not contain '..': ../x"],
    ['`..` in the middle', 'a/../b', "invalid path: must not contain '..': a/../b"],
    ['`..` at the end', 'a/..', "invalid path: must not contain '..': a/.."],
    ['starting with dots', '..x/y', "invalid path: must not start with '..': ..x/y"],
    ['the link itself', '..data', "invalid path: must not start with '..': ..data"],
    ['the link itself in disguise', './..data/x', "invalid path: must not start with '..': ./..data/x"],
    ['a name too long', `a/${long}`, 'invalid path: filenames must be less than or equal to 255 characters'],
    ['a path too long', manyNames, 'invalid path: must be less than or equal to 4096 characters'],
  ];
  it.each(rows)('%s', (_, path, problem) => expect(payloadPathProblem(path)).toBe(problem));

  it('are normalized', () => {
    const payload = new Map([
      ['a//b/./c', 1],
      ['d/', 2],
    ]);
    expect([...normalPayload(payload)]).toEqual([
      ['a/b/c', 1],
      ['d', 2],
    ]);
    expect(() => normalPayload(new Map([['..', 1]]))).toThrow("invalid path: must not contain '..': ..");
  });
});

describe('timestamp directories', () => {
  it('are named in UTC', () =>
    expect(timestampName(Date.UTC(2025, 0, 31, 23, 59, 59, 999), '42')).toBe('..2025_01_31_23_59_59.42'));

  const rows: readonly [name: string, is: boolean][] = [
    ['..2025_01_31_23_59_59.1234567', true],
    ['..2025_01_31_23_59_59.', false],
    ['..data', false],
    ['..2025_01_31_23_59_59.1/../..', false],
    ['2025_01_31_23_59_59.1', false],
  ];
  it.each(rows)('%s: %s', (name, is) => expect(isTimestampName(name)).toBe(is));
});

describe('changes', () => {
  const payload = (...paths: string[]) => new Map(paths.map((path) => [path, { data: path }]));
  const old = (...paths: string[]) => new Map(paths.map((path) => [path, Buffer.from(path)]));

  it('removes entries that are neither payload files nor their parents', () => {
    expect(entriesToRemove(['a', 'b', 'b/c', 'b/d', 'e', 'e/f'], payload('b/c', 'g'))).toEqual([
      'a',
      'b/d',
      'e',
      'e/f',
    ]);
  });

  const differs: readonly [rule: string, ReturnType<typeof payload>, ReturnType<typeof old>, boolean][] = [
    ['an empty payload and no files', payload(), old(), false],
    ['all the same', payload('a', 'b/c'), old('a', 'b/c'), false],
    ['a file is missing', payload('a', 'b'), old('a'), true],
    ['other bytes', payload('a'), new Map([['a', Buffer.from('x')]]), true],
    ['extra files alone are no difference', payload('a'), old('a', 'b'), false],
  ];
  it.each(differs)('%s', (_, wanted, there, result) => expect(payloadDiffers(wanted, there)).toBe(result));

  it('lists each top-level name once', () =>
    expect([...topLevelNames(payload('a/b', 'a/c', 'd'))]).toEqual([
      ['a', 'a/b'],
      ['d', 'd'],
    ]));

  it('the root gets missing links and loses stale ones, and nothing that is not the writer’s', () => {
    const entries = [
      '..data',
      '..2025_01_31_23_59_59.1',
      '..2025_01_31_23_59_59.2',
      'a',
      'gone',
      'mine',
      'nested',
    ];
    const targets = new Map([
      ['gone', '..data/gone'],
      ['mine', '/elsewhere'],
    ]);
    expect(planRoot(entries, targets, topLevelNames(payload('a', 'b/c')), '..2025_01_31_23_59_59.2')).toEqual(
      {
        links: ['b'],
        staleLinks: ['gone'],
        staleDirectories: ['..2025_01_31_23_59_59.1'],
      },
    );
  });
});
