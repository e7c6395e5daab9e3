import { describe, expect, it } from 'vitest';
import { BoundedMap, textBytes } from './bounded-map.js';

const filled = (options: { maxEntries: number; maxBytes?: number }, ...sizes: number[]) => {
  const map = new BoundedMap<string, number>({ ...options, bytesOf: (_, value) => value });
  for (const [index, size] of sizes.entries()) map.set('abcdef'[index]!, size);
  return map;
};

describe('BoundedMap', () => {
  it.each<[string, { maxEntries: number; maxBytes?: number }, number[], string, number]>([
    ['keeps entries that fit', { maxEntries: 3, maxBytes: 10 }, [1, 2, 3], 'abc', 6],
    ['drops the oldest beyond its entry limit', { maxEntries: 2 }, [1, 2, 3], 'bc', 5],
    ['drops as many as the byte limit requires', { maxEntries: 9, maxBytes: 6 }, [2, 2, 2, 5], 'd', 5],
    ['keeps the newest, however large', { maxEntries: 9, maxBytes: 6 }, [2, 99], 'b', 99],
    ['drops an oversized entry at the next set', { maxEntries: 9, maxBytes: 6 }, [99, 2], 'b', 2],
  ])('%s', (_, options, sizes, kept, bytes) => {
    const map = filled(options, ...sizes);
    expect([...map.keys()].join('')).toBe(kept);
    expect(map.bytes).toBe(bytes);
  });
  it('set and use refresh an entry, get does not', () => {
    const map = filled({ maxEntries: 3 }, 1, 1, 1);
    map.get('a');
    map.set('d', 1);
    expect([...map.keys()].join('')).toBe('bcd');
    map.use('b');
    map.set('c', 2);
    map.set('e', 1);
    expect([...map.keys()].join('')).toBe('bce');
  });
  it('counts the bytes of an entry once, and none after its removal', () => {
    const map = filled({ maxEntries: 3 }, 1, 2);
    map.set('a', 5);
    expect(map.bytes).toBe(7);
    expect(map.delete('a')).toBe(true);
    expect(map.delete('a')).toBe(false);
    expect(map.bytes).toBe(2);
    map.clear();
    expect([map.size, map.bytes]).toEqual([0, 0]);
  });
  it('keeps undefined like any other value', () => {
    const map = new BoundedMap<string, undefined>({ maxEntries: 1 });
    map.set('a', undefined);
    expect(map.has('a')).toBe(true);
    map.set('b', undefined);
    expect([...map]).toEqual([['b', undefined]]);
  });
});

it.each([
  ['one byte per Latin-1 character', ['été', undefined, ''], 35],
  ['two bytes per character if one is beyond Latin-1', ['abc→'], 24],
])('textBytes: %s', (_, texts, bytes) => {
  expect(textBytes(...texts)).toBe(bytes);
});
