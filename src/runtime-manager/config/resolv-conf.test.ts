import { describe, expect, it } from 'vitest';
import { parseResolvConf, type ResolvConf, resolvConfLimitProblem } from './resolv-conf.js';

describe('parseResolvConf', () => {
  const rows: [rule: string, text: string, expected: Partial<ResolvConf>][] = [
    ['an empty file says nothing', '', { servers: [], searches: [], options: [] }],
    [
      'name servers add up, first value only',
      'nameserver 1.1.1.1 x\n nameserver  2.2.2.2',
      { servers: ['1.1.1.1', '2.2.2.2'] },
    ],
    [
      'comments and blank lines are skipped',
      '# nameserver 9.9.9.9\n\n  # x\nnameserver 1.1.1.1',
      { servers: ['1.1.1.1'] },
    ],
    ['the last search line counts', 'search a b\nsearch c', { searches: ['c'] }],
    [
      'a lone dot is dropped, one trailing dot is stripped',
      'search . corp. deep..',
      { searches: ['corp', 'deep.'] },
    ],
    [
      'options add up by name, the last one wins',
      'options ndots:1 rotate\noptions ndots:3',
      { options: ['ndots:3', 'rotate'] },
    ],
    ['other keywords are ignored', 'domain x\nsortlist y', { servers: [], searches: [], options: [] }],
    ['carriage returns and tabs are blanks', 'nameserver\t1.1.1.1\r\n', { servers: ['1.1.1.1'] }],
  ];
  it.each(rows)('%s', (_rule, text, expected) => {
    expect(parseResolvConf(text)).toMatchObject(expected);
  });

  it('rejects a name server without an address', () => {
    expect(() => parseResolvConf('search a\nnameserver')).toThrow('line 2: nameserver without an address');
  });
});

describe('resolvConfLimitProblem', () => {
  const many = (count: number, text = 'x'): string[] =>
    Array.from({ length: count }, (_, i) => `${text}${i}`);
  const rows: [rule: string, searches: string[], clusterDomain: string, problem: string | undefined][] = [
    ['32 are fine without a cluster domain', many(32), '', undefined],
    [
      '33 are not',
      many(33),
      '',
      `Resolv.conf file '/r' contains search line consisting of more than 32 domains!`,
    ],
    [
      '30 are too many beside the three of the cluster',
      many(30),
      'cluster.local',
      `Resolv.conf file '/r' contains search line consisting of more than 29 domains!`,
    ],
    [
      'one over 253',
      ['a'.repeat(254)],
      '',
      'Resolv.conf file "/r" contains a search path which length is more than allowed 253 chars!',
    ],
    [
      'a line over 2048',
      many(10, 'a'.repeat(210)),
      '',
      `Resolv.conf file '/r' contains search line which length is more than allowed 2048 chars!`,
    ],
  ];
  it.each(rows)('%s', (_rule, searches, clusterDomain, problem) => {
    expect(resolvConfLimitProblem('/r', { servers: [], searches, options: [] }, clusterDomain)).toBe(problem);
  });
});
