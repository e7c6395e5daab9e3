import { describe, expect, it } from 'vitest';
import { globMatches } from './glob.js';

describe('a glob', () => {
  it.each<[string, string, string, boolean]>([
    ['plain text is itself', 'registry', 'registry', true],
    ['plain text is nothing else', 'registry', 'registry1', false],
    ['a star is any text', 'a*c', 'abbbc', true],
    ['a star is no text, too', 'a*c', 'ac', true],
    ['a star does not hide the end', 'a*c', 'acd', false],
    ['several stars', '*a*b*', 'xxaxxbxx', true],
    ['several stars in another order', '*a*b*', 'xxbxxaxx', false],
    ['a star at the end', 'a*', 'a', true],
    ['a question mark is one character', 'a?c', 'abc', true],
    ['a question mark is not none', 'a?c', 'ac', false],
    ['a set', 'r[abx-z]', 'ry', true],
    ['what is not in a set', 'r[abx-z]', 'rw', false],
    ['a negated set', 'r[^a-c]', 'rd', true],
    ['what a negated set leaves out', 'r[^a-c]', 'rb', false],
    ['an escaped star', 'a\\*', 'a*', true],
    ['an escaped star is no star', 'a\\*', 'ab', false],
    ['an escaped bracket in a set', '[\\]]', ']', true],
    ['a set without an end', '[abc', 'a', false],
    ['an empty set', '[]', ']', false],
    ['a range without an end', '[a-]', 'a', false],
    ['an escape of nothing', 'a*\\', 'a', false],
    ['a dot is a dot', 'a.*', 'abc', false],
  ])('%s', (_, glob, text, expected) => {
    expect(globMatches(glob, text)).toBe(expected);
  });

  it.each([
    [
      'stars that a regular expression would try again and again',
      `${'a*'.repeat(200)}c`,
      `${'a'.repeat(250)}b`,
    ],
    ['brackets without an end', '['.repeat(500), '[['],
    ['a set of a million characters', `[${'a'.repeat(1_000_000)}]`, 'a'],
    ['a million brackets', '['.repeat(1_000_000), '['],
  ])('costs little whatever it is: %s', (_, glob, text) => {
    const before = process.cpuUsage();
    expect(globMatches(glob, text)).toBe(false);
    const { user, system } = process.cpuUsage(before);
    // A backtracking matcher takes years for the first, and seconds for the last.
    expect(user + system).toBeLessThan(1_000_000);
  });
});
