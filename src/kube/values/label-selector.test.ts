import { describe, expect, it } from 'vitest';
import type { LabelSelector } from '../types/meta.js';
import { selectorMatches } from './label-selector.js';

describe('selectorMatches', () => {
  const labels = { app: 'web', tier: 'front' };
  const rows: [rule: string, selector: LabelSelector | undefined, expected: boolean][] = [
    ['no selector matches nothing', undefined, false],
    ['an empty selector matches everything', {}, true],
    ['equal labels', { matchLabels: { app: 'web' } }, true],
    ['all of them count', { matchLabels: { app: 'web', tier: 'back' } }, false],
    ['In', { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'web'] }] }, true],
    ['In needs the label', { matchExpressions: [{ key: 'x', operator: 'In', values: ['a'] }] }, false],
    ['NotIn', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, false],
    [
      'NotIn holds without the label',
      { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['a'] }] },
      true,
    ],
    ['Exists', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
    [
      'Exists knows own labels only',
      { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
      false,
    ],
    ['DoesNotExist', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
  ];
  it.each(rows)('%s', (_rule, selector, expected) => {
    expect(selectorMatches(selector, labels)).toBe(expected);
  });

  it('rejects an unknown operator', () => {
    expect(() => selectorMatches({ matchExpressions: [{ key: 'a', operator: 'Gt' }] }, labels)).toThrow(
      '"Gt" is not a valid label selector operator',
    );
  });
});
