import { describe, expect, it } from 'vitest';
import { BoundedMap, textBytes } from './bounded-map.js';

const filled = (options: { maxEntries: number; maxBytes?: number }, ...sizes: number[]) => {
  const map = new BoundedMap<string, number>({ ...options, bytesOf: (_, value) => value });
  for (const [index, size] of sizes.entries()) map.set('abcdef'[index]!, size);
  return map;
};

describe('BoundedMap', () => {
  it.each<[string, { maxEntries: number; maxBytes?: number }, number[], string, number]>([
    ['keeps what fits', { maxEntries: 3, maxBytes: 10 }, [1, 2, 3], 'abc', 6],
    ['forgets the oldest beyond its entries', { maxEntries: 2 }, [1, 2, 3], 'bc', 5],
    ['forgets as many as the bytes ask for', { maxEntries: 9, maxBytes: 6 }, [2, 2, 2, 5], 'd', 5],
    ['keeps the newest however large it is', { maxEntries: 9, maxBytes: 6 }, [2, 99], 'b', 99],
    ['forgets what was too large with the next', { maxEntries: 9, maxBytes: 6 }, [99, 2], 'b', 2],
  ])('%s', (_, options, sizes, kept, bytes) => {
    const map = filled(options, ...sizes);
    expect([...map.keys()].join('')).toBe(kept);
    expect(map.bytes).toBe(bytes);
  });
  it('forgets later what was set again or used, and not what was only looked at', () => {
    const map = filled({ maxEntries: 3 }, 1, 1, 1);
    map.get('a');
    map.set('d', 1);
    expect([...map.keys()].join('')).toBe('bcd');
    map.use('b');
    map.set('c', 2);
    map.set('e', 1);
    expect([...map.keys()].join('')).toBe('bce');
  });
  it('counts an entry once however often it is set, and not at all when it is gone', () => {
    const map = filled({ maxEntries: 3 }, 1, 2);
    map.set('a', 5);
    expect(map.bytes).toBe(7);
    expect(map.delete('a')).toBe(true);
    expect(map.delete('a')).toBe(false);
    expect(map.bytes).toBe(2);
    map.clear();
    expect([map.size, map.bytes]).toEqual([0, 0]);
  });
  it('keeps a value that is undefined like any other', () => {
    const map = new BoundedMap<string, undefined>({ maxEntries: 1 });
    map.set('a', undefined);
    expect(map.has('a')).toBe(true);
    map.set('b', undefined);
    expect([...map]).toEqual([['b', undefined]]);
  });
});

it.each([
  ['a byte for each character of Latin-1', ['été', undefined, ''], 35],
  ['two for each when one is beyond it', ['abc→'], 24],
])('textBytes: %s', (_, texts, bytes) => {
  expect(textBytes(...texts)).toBe(bytes);
});
