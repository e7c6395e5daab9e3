import { describe, expect, it } from 'vitest';
import { focusOn, shareOut } from './batches.js';

const specs = (count: number, { serial = false, slow = false } = {}) =>
  Array.from({ length: count }, (_, at) => ({
    name: `${serial ? 's' : slow ? 'w' : 'p'}${at}`,
    serial,
    slow,
  }));

describe('sharing specs out', () => {
  it.each<[string, number, number, number[]]>([
    ['nothing is no batch', 0, 4, []],
    ['fewer specs than processes get one each', 3, 4, [1, 1, 1]],
    ['a few specs are spread over all processes', 10, 4, [3, 3, 2, 2]],
    ['many specs come in more batches than processes', 40, 4, [8, 8, 8, 8, 8]],
  ])('%s', (_rule, count, procs, sizes) => {
    expect(shareOut(specs(count), procs).parallel.map(({ length }) => length)).toEqual(sizes);
  });

  it('puts neighbours into different batches', () => {
    expect(shareOut(specs(4), 2).parallel).toEqual([
      ['p0', 'p2'],
      ['p1', 'p3'],
    ]);
  });

  it('lets slow ones begin first, each by itself', () => {
    expect(shareOut([...specs(2), ...specs(2, { slow: true })], 1).parallel).toEqual([
      ['w0'],
      ['w1'],
      ['p0', 'p1'],
    ]);
  });

  it('keeps those that must run alone apart', () => {
    const { parallel, serial } = shareOut([...specs(2), ...specs(2, { serial: true, slow: true })], 2);
    expect(parallel.flat()).toEqual(['p0', 'p1']);
    expect(serial).toEqual(['s0', 's1']);
  });
});

describe('the focus on a batch', () => {
  const names = ['[sig-node] Pods (a+b) start', '[sig-node] Pods stop'];
  it.each([
    ['a spec of it', 'Suite [sig-node] Pods (a+b) start', true],
    ['the other spec of it', '[sig-node] Pods stop', true],
    ['a longer name', 'Suite [sig-node] Pods stop twice', false],
    ['another name', 'Suite [sig-node] Pods aab start', false],
  ])('%s', (_rule, text, matches) => {
    expect(new RegExp(focusOn(names)).test(text)).toBe(matches);
  });
});
