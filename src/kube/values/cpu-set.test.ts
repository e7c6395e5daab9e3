/** Sets of CPUs: their text and their arithmetic. */
import { describe, expect, it } from 'vitest';
import { CpuSet } from './cpu-set.js';

const set = (text: string): CpuSet => CpuSet.parse(text);

describe('the text of a set', () => {
  it.each([
    ['', '', 0],
    ['0', '0', 1],
    ['0-3,7', '0-3,7', 5],
    ['7,3,2,1,0', '0-3,7', 5],
    ['1-1', '1', 1],
    ['0-3,2-5', '0-5', 6],
    ['31-33,63-64', '31-33,63-64', 5],
    ['65535', '65535', 1],
  ])('%j is written as %j and has %d CPUs', (text, written, size) => {
    expect(String(set(text))).toBe(written);
    expect(set(text).size).toBe(size);
    expect([...set(text)]).toHaveLength(size);
  });

  it.each([
    ['3-1', 'invalid range "3-1" (3 > 1)'],
    ['0-', '"0-" is neither a CPU number nor a range such as 0-3'],
    ['0,,1', '"" is neither a CPU number nor a range such as 0-3'],
    ['-1', '"-1" is neither a CPU number nor a range such as 0-3'],
    ['0-4000000000', 'CPU 4000000000 is beyond any machine'],
    ['65536', 'CPU 65536 is beyond any machine'],
  ])('%j is refused: %s', (text, message) => expect(() => set(text)).toThrow(message));

  it('a long list of the same CPUs is refused at once', () => {
    const text = Array(20_000).fill('0-65535').join();
    const startMs = performance.now();
    expect(() => set(text)).toThrow('the list names the same CPUs too often');
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

it.each([
  ['0-3', '2-5', '0-5', '2-3', '0-1'],
  ['0-3', '', '0-3', '', '0-3'],
  ['', '64-65', '64-65', '', ''],
  ['0-127', '32-95', '0-127', '32-95', '0-31,96-127'],
  ['31', '32', '31-32', '', '31'],
])('%j and %j: union %j, intersection %j, difference %j', (a, b, union, intersection, difference) => {
  expect(String(set(a).union(set(b)))).toBe(union);
  expect(String(set(a).intersection(set(b)))).toBe(intersection);
  expect(String(set(a).difference(set(b)))).toBe(difference);
  expect(set(a).isSubsetOf(set(b))).toBe(difference === '');
  expect(set(a).equals(set(b))).toBe(a === b);
});

it('removing the CPUs of the last word leaves an equal set, not a longer one', () => {
  expect(set('0-64').difference(set('32-64')).equals(set('0-31'))).toBe(true);
  expect(set('40').difference(set('40')).isEmpty).toBe(true);
});
