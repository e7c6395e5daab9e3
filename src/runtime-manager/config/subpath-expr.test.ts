import { describe, expect, it } from 'vitest';
import { expandedSubPath } from './subpath-expr.js';

const environment = new Map<string, string | Uint8Array>([
  ['POD', 'web-0'],
  ['EMPTY', ''],
  ['RAW', new Uint8Array([255])],
]);

describe('expandedSubPath', () => {
  it.each([
    ['no subPath is none', {}, ''],
    ['a subPath stays as it is', { subPath: '$(POD)/x' }, '$(POD)/x'],
    ['variables are filled in', { subPathExpr: 'logs/$(POD)' }, 'logs/web-0'],
    ['an escaped one is not', { subPathExpr: '$$(POD)' }, '$(POD)'],
  ])('%s', (_, mount, expected) => {
    expect(expandedSubPath(mount, environment)).toBe(expected);
  });
  it.each([
    ['unset', '$(NONE)', 'missing value for NONE'],
    ['empty', '$(EMPTY)', 'missing value for EMPTY'],
    ['no text', '$(RAW)', 'missing value for RAW'],
    ['several, sorted', '$(Z)/$(POD)/$(A)', 'missing value for A, Z'],
  ])('a variable that is %s is an error', (_, subPathExpr, message) => {
    expect(() => expandedSubPath({ subPathExpr }, environment)).toThrow(message);
  });
});
