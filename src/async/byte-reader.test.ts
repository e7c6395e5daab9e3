import { describe, expect, it } from 'vitest';
import { ByteReader } from './byte-reader.js';

const text = Buffer.from('the quick brown fox jumps over the lazy dog, again and again and again');

/** Takes pieces of these sizes in turn, as far as they have arrived. */
function* pieces(reader: ByteReader, sizes: number[]): Generator<string> {
  for (;;) {
    const piece = reader.take(sizes[0] ?? 1);
    if (piece === undefined) return;
    sizes.push(sizes.shift() ?? 1);
    yield piece.toString();
  }
}

describe('pieces', () => {
  it.each([1, 2, 3, 7, 64, 1000])('are the same for chunks of %i bytes', (chunkBytes) => {
    const reader = new ByteReader();
    const sizes = [1, 5, 2, 9];
    const taken: string[] = [];
    for (let at = 0; at < text.length; at += chunkBytes) {
      reader.push(text.subarray(at, at + chunkBytes));
      taken.push(...pieces(reader, sizes));
    }
    expect(taken.slice(0, 5)).toEqual(['t', 'he qu', 'ic', 'k brown f', 'o']);
    expect(taken.join('').length + reader.length).toBe(text.length);
  });

  it('may be empty, or whatever has arrived', () => {
    const reader = new ByteReader();
    expect(reader.take(0)).toEqual(Buffer.alloc(0));
    expect(reader.takeSome(10)).toEqual(Buffer.alloc(0));
    reader.push(Buffer.from('abc'));
    expect(reader.take(5)).toBeUndefined();
    reader.push(Buffer.from('defgh'));
    expect(reader.takeSome(10).toString()).toBe('abc');
    expect(reader.takeSome(2).toString()).toBe('de');
    expect(reader.takeSome(10).toString()).toBe('fgh');
    expect(reader.length).toBe(0);
  });

  it('stay in order when chunks arrive faster than they are taken', () => {
    const reader = new ByteReader();
    for (const byte of text) reader.push(Buffer.from([byte]));
    expect(reader.length).toBe(text.length);
    expect(reader.take(9)?.toString()).toBe('the quick');
    expect(reader.take(text.length - 9)?.toString()).toBe(text.toString('utf8', 9));
  });

  it('within one chunk are not copied', () => {
    const reader = new ByteReader();
    reader.push(text);
    expect(reader.take(10)?.buffer).toBe(text.buffer);
  });

  it('that are only announced take no memory', () => {
    const reader = new ByteReader();
    reader.push(Buffer.from('a'));
    const before = process.memoryUsage().arrayBuffers;
    expect(reader.take(1 << 30)).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
  });
});
