import { describe, expect, it } from 'vitest';
import { decodeLogQuery } from './log-query.js';

const decode = (query: string) => decodeLogQuery(new URLSearchParams(query));

describe('decodeLogQuery', () => {
  it.each([
    ['not a number', 'tailLines=abc', 'undecodable'],
    ['an empty number', 'limitBytes=', 'undecodable'],
    ['a number beyond 64 bits', 'tailLines=9223372036854775808', 'undecodable'],
    ['not a time', 'sinceTime=yesterday', 'undecodable'],
    ['a negative tail by its older name', 'tail=-1', 'invalid'],
    ['no byte at all', 'limitBytes=0', 'invalid'],
    ['no second at all', 'sinceSeconds=0', 'invalid'],
    ['two starting times', 'sinceSeconds=5&sinceTime=2024-01-01T00:00:00Z', 'invalid'],
    ['an unknown stream', 'stream=invalid', 'invalid'],
    ['an empty stream', 'stream=', 'invalid'],
    ['one stream with a tail', 'stream=Stdout&tailLines=1', 'invalid'],
    ['a tail of nothing', 'tailLines=0', 'query'],
    ['one stream', 'stream=Stderr', 'query'],
    ['all streams with a tail', 'stream=All&tailLines=1', 'query'],
  ])('%s: %s is %s', (_, query, kind) => {
    expect(decode(query).kind).toBe(kind);
  });

  it.each([
    ['nothing', '', { follow: false, timestamps: false }],
    ['an empty value is a yes', 'follow=', { follow: true, timestamps: false }],
    ['no in any case', 'follow=False&timestamps=0', { follow: false, timestamps: false }],
    ['anything else is a yes', 'timestamps=no', { follow: false, timestamps: true }],
    ['the older name replaces', 'tail=3&tailLines=5', { follow: false, timestamps: false, tailLines: 3 }],
    ['all by the older name removes', 'tail=all&tailLines=5', { follow: false, timestamps: false }],
    [
      'a time with a fraction',
      'sinceTime=2024-01-01T00:00:00.5Z',
      { follow: false, timestamps: false, sinceTimeMs: Date.UTC(2024, 0, 1) + 500 },
    ],
  ])('%s', (_, query, request) => {
    expect(decode(query)).toEqual({
      kind: 'query',
      query: { previous: false, stream: undefined, request },
    });
  });

  it('parses the requested instance and stream', () => {
    expect(decode('previous=true&stream=Stdout')).toMatchObject({
      query: { previous: true, stream: 'Stdout' },
    });
  });
});
