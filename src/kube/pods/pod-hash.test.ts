import { describe, expect, it } from 'vitest';
import { canonicalJson, fnv32a, fnv128a, hashContainer, hashStaticPod } from './pod-hash.js';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('FNV-1a', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('32 bits of %j', (text, expected) => expect(fnv32a(bytes(text))).toBe(expected));
  it.each([
    ['', '6c62272e07bb014262b821756295c58d'],
    ['a', 'd228cb696f1a8caf78912b704e4a8964'],
    ['foobar', '343e1662793c64bf6f0d3597ba446f18'],
  ])('128 bits of %j', (text, expected) => expect(fnv128a(bytes(text))).toBe(expected));
  it('128 bits agree with plain arithmetic', () => {
    let expected = 0x6c62272e07bb014262b821756295c58dn;
    const input = bytes('the quick brown fox — jumps over 13 lazy dogs'.repeat(5));
    for (const byte of input) {
      expected = BigInt.asUintN(128, (expected ^ BigInt(byte)) * 0x0000000001000000000000000000013bn);
    }
    expect(fnv128a(input)).toBe(expected.toString(16).padStart(32, '0'));
  });
});

describe('container hash', () => {
  it('matches the known value', () => {
    expect(hashContainer({ name: 'test_container', image: 'foo/image:v1' })).toBe('8e45cbd0');
  });
  it('sees only name and image', () => {
    const other = { name: 'test_container', image: 'foo/image:v1', command: ['x'] };
    expect(hashContainer(other)).toBe('8e45cbd0');
    expect(hashContainer({ ...other, image: 'foo/image:v2' })).not.toBe('8e45cbd0');
  });
});

describe('static pod hash', () => {
  it('ignores the order of keys', () => {
    expect(canonicalJson({ b: [1, { d: 1, c: undefined }], a: null })).toBe('{"a":null,"b":[1,{"d":1}]}');
    expect(hashStaticPod({ a: 1, b: 2 }, ['host:n'])).toBe(hashStaticPod({ b: 2, a: 1 }, ['host:n']));
  });
  it.each([
    ['content', { a: 2 }, ['host:n', 'file:/x']],
    ['node name', { a: 1 }, ['host:m', 'file:/x']],
    ['path', { a: 1 }, ['host:n', 'file:/y']],
  ])('changes with the %s', (_rule, pod, origins) => {
    expect(hashStaticPod(pod, origins)).toMatch(/^[0-9a-f]{32}$/);
    expect(hashStaticPod(pod, origins)).not.toBe(hashStaticPod({ a: 1 }, ['host:n', 'file:/x']));
  });
});
