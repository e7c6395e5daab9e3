import { describe, expect, it } from 'vitest';
import { parseSource } from './document.js';
import { maxDepth } from './document-limits.js';
import { JsonProblem, parseJson } from './json-text.js';

describe('parseJson', () => {
  it.each([
    ['text that is not JSON', '{"password": hunter2}', /^is not JSON$/],
    ['nothing', '', /^is not JSON$/],
    ['more levels than allowed', '['.repeat(maxDepth + 1) + ']'.repeat(maxDepth + 1), /^is nested more than/],
    [
      'a level too deep in text without an end',
      `"${'['.repeat(500)}" ${'['.repeat(500)}`,
      /^is nested more than/,
    ],
  ])('rejects %s without quoting it', (_, text, message) => {
    expect(() => parseJson(text)).toThrow(JsonProblem);
    expect(() => parseJson(text)).toThrow(message);
  });
  it('rejects more characters than allowed', () => {
    expect(() => parseJson('[1, 2]', { maxLength: 5 })).toThrow('has more than 5 characters');
  });
  it('parses the rest as JSON.parse does', () => {
    const text = `{"a": [1, "[[\\"[", null], "__proto__": {"x": ${'[1,'.repeat(90)}1${']'.repeat(90)}}}`;
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });
});

describe('places in JSON', () => {
  const text = '{\n  "a": {"b": [10, {"c\\"d": "x,]}"}], "b2": 1},\n  "last": true, "list": []\n}\n';
  it.each<[string, (string | number)[], { line: number; column: number }]>([
    ['the document', [], { line: 1, column: 1 }],
    ['a member', ['a'], { line: 2, column: 3 }],
    ['an item', ['a', 'b', 1], { line: 2, column: 19 }],
    ['a member with an escaped name', ['a', 'b', 1, 'c"d'], { line: 2, column: 20 }],
    ['what follows a nested value', ['a', 'b2'], { line: 2, column: 38 }],
    ['the last member', ['last'], { line: 3, column: 3 }],
    ['an item that is not there', ['list', 0], { line: 3, column: 17 }],
    ['a member that is not there', ['a', 'zz', 'y'], { line: 2, column: 3 }],
    ['a member of a scalar', ['last', 'y'], { line: 3, column: 3 }],
  ])('%s', (_, path, place) => {
    expect(parseSource(text, 'x.json')[0]?.locate(path)).toEqual(place);
  });
  it('names duplicate keys at their second position, per object', () => {
    const [document] = parseSource('{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}],\n "a": 2}', 'x.json');
    expect(document?.duplicateKeys).toEqual([{ key: 'a', line: 2, column: 2 }]);
    expect(document?.value).toEqual({ a: 2, b: [{ a: 1 }, { a: 1 }] });
  });
});
