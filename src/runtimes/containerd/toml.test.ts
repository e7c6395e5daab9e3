import { expect, it } from 'vitest';
import { formatToml, mergeToml } from './toml.js';

it('writes values before tables and quotes keys with dots', () => {
  const table = { version: 2, plugins: { 'a.b': { on: true, list: ['x', 'y'] } }, name: 'say "hi"' };
  expect(formatToml(table)).toBe(
    [
      'version = 2',
      'name = "say \\"hi\\""',
      '',
      '[plugins]',
      '',
      '[plugins."a.b"]',
      'on = true',
      'list = ["x","y"]',
    ]
      .join('\n')
      .concat('\n'),
  );
});

it('merges tables key by key and replaces lists', () => {
  const base = { a: { b: 1, c: ['x'] }, d: 1 };
  expect(mergeToml(base, { a: { c: ['y'] }, e: true })).toEqual({ a: { b: 1, c: ['y'] }, d: 1, e: true });
});
