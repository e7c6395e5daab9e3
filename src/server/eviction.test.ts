import { describe, expect, it } from 'vitest';
import { clientOf, type EvictableConnection, placeToGive } from './eviction.js';

/** `a!` is a client's busy connection, `a+` one kept open after an admitted request, `a` a silent one. */
function places(texts: string): (EvictableConnection & { readonly at: number })[] {
  return texts.split(' ').map((text, at) => ({
    at,
    client: text.charAt(0),
    isStranger: text.length === 1,
    isBusy: text.endsWith('!'),
  }));
}

describe('the place for a new connection, which is the last', () => {
  it.each<[string, string, number | undefined]>([
    ['is free while there is room', 'a b c', undefined],
    ['is that of the oldest stranger', 'a b c d', 0],
    ['is that of the client with most strangers', 'b a a d', 1],
    ['is not that of a busy connection', 'a! b! c d', 2],
    ['is that of a stranger before one that is kept', 'a+ b+ c d', 2],
    ['is that of one that is kept before a busy one', 'a! b+ c! d', 1],
    ['is not there when all are busy', 'a! b! c! d', 3],
    ['is that of its own client when that has its share of strangers', 'b a a', undefined],
    ['whoever else was there before', 'c a a b a', 1],
  ])('%s: %s', (_, texts, given) => {
    const all = places(texts);
    const newcomer = all.at(-1)!;
    expect(placeToGive(all, newcomer, { connections: 3, strangersPerAddress: 2 })?.at).toBe(given);
  });
});

describe('a client', () => {
  it.each([
    [undefined, ''],
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('at %s is %s', (address, client) => {
    expect(clientOf(address)).toBe(client);
  });
});
