import { describe, expect, it } from 'vitest';
import { pemBlocks } from './pem.js';

const block = (body: string, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`;

describe('pemBlocks', () => {
  it.each<[string, string, string[]]>([
    [
      'blocks of the label, without the text between',
      `x\n${block('a')}\ny\n${block('b')}z`,
      ['\na\n', '\nb\n'],
    ],
    ['nothing in other labels', block('a', 'PRIVATE KEY'), []],
    ['nothing without an END line', '-----BEGIN CERTIFICATE-----\na', []],
    [
      'a BEGIN line inside a block as part of it',
      `-----BEGIN CERTIFICATE-----\n${block('a')}`,
      ['\n-----BEGIN CERTIFICATE-----\na\n'],
    ],
    ['an empty block', '-----BEGIN CERTIFICATE----------END CERTIFICATE-----', ['']],
  ])('returns %s', (_, text, bodies) => {
    expect(pemBlocks(text, 'CERTIFICATE').map(({ body }) => body)).toEqual(bodies);
  });
  it('is fast for a megabyte of BEGIN lines', () => {
    expect(pemBlocks('-----BEGIN CERTIFICATE-----\n'.repeat(40_000), 'CERTIFICATE')).toEqual([]);
  });
});
