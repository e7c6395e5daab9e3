import { describe, expect, it } from 'vitest';
import { decodeHeaders, encodeHeaders } from './hpack.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('decodeHeaders', () => {
  it.each<[rule: string, block: string, headers: object]>([
    ['an indexed field', '88', { ':status': '200' }],
    [
      'indexed names and Huffman-coded strings',
      '82 86 84 41 8c f1e3 c2e5 f23a 6ba0 ab90 f4ff',
      { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'www.example.com' },
    ],
    ['a literal without indexing', '04 0c 2f73 616d 706c 652f 7061 7468', { ':path': '/sample/path' }],
    [
      'a literal that is never indexed',
      '10 08 7061 7373 776f 7264 06 7365 6372 6574',
      { password: 'secret' },
    ],
    ['a dynamic table size update', '20 88', { ':status': '200' }],
    ['Huffman codes of many bits', '40 88 9a ca c8 b2 12 34 da 8f 81 07', { 'grpc-status': '0' }],
  ])('%s', (_, block, headers) => {
    expect(decodeHeaders(hex(block))).toEqual(headers);
  });

  it.each<[rule: string, block: string]>([
    ['an index into the empty dynamic table', 'be'],
    ['index 0', '80'],
    ['a truncated string', '04 0c 2f73'],
    ['a truncated integer', '0f'],
    ['an integer without an end', '0f ff ff ff ff ff ff 01'],
    ['a truncated Huffman code', '41 82 f1 e0'],
  ])('refuses %s', (_, block) => {
    expect(() => decodeHeaders(hex(block))).toThrow();
  });
});

it('decodes what it encoded', () => {
  const headers = {
    ':method': 'POST',
    ':path': `/runtime.v1.RuntimeService/${'x'.repeat(300)}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  expect(decodeHeaders(encodeHeaders(headers))).toEqual(headers);
});
