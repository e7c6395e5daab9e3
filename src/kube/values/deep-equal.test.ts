import { describe, expect, it } from 'vitest';
import { clone, semanticEqual } from './deep-equal.js';

describe('semanticEqual', () => {
  const rows: [rule: string, a: unknown, b: unknown, equal: boolean][] = [
    ['same scalars', 1, 1, true],
    ['different scalars', 1, 2, false],
    ['number and its text', 1, '1', false],
    ['undefined member is missing', { a: undefined }, {}, true],
    ['null is missing', { a: null }, {}, true],
    ['empty list is missing', { a: [] }, {}, true],
    ['empty mapping is missing', {}, { a: {} }, true],
    ['mapping of undefined members is empty', { a: { b: undefined } }, {}, true],
    ['empty text is not missing', { a: '' }, {}, false],
    ['false is not missing', { a: false }, {}, false],
    ['zero is not missing', {}, { a: 0 }, false],
    ['order of keys is free', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['order of a list counts', [1, 2], [2, 1], false],
    ['length of a list counts', [1], [1, {}], false],
    ['list and mapping differ', { a: [1] }, { a: { 0: 1 } }, false],
    ['nested', { a: [{ b: { c: 1 } }] }, { a: [{ b: { c: 1, d: [] } }] }, true],
    ['inherited names are not members', { a: 1 }, { a: 1, toString: 'x' }, false],
  ];
  it.each(rows)('%s', (_rule, a, b, equal) => {
    expect(semanticEqual(a, b)).toBe(equal);
    expect(semanticEqual(b, a)).toBe(equal);
  });
});

describe('clone', () => {
  it('shares nothing with the original', () => {
    const original = { a: [{ b: 1 }], c: { d: 'x' }, e: null };
    const copy = clone(original);
    expect(copy).toEqual(original);
    copy.a[0]!.b = 2;
    expect(original.a[0]!.b).toBe(1);
  });
  it('keeps a key called __proto__ an ordinary field', () => {
    const copy = clone(JSON.parse('{"__proto__": {"x": 1}}'));
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"x":1}}');
  });
});
