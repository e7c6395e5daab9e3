import { describe, expect, it } from 'vitest';
import { orderPodIps, parseIp } from './ip-address.js';

describe('parseIp', () => {
  it.each<[string, string | undefined]>([
    ['10.0.0.1', '10.0.0.1'],
    ['010.000.0.01', '10.0.0.1'],
    ['256.0.0.1', undefined],
    ['fd01:0:0:0:0:0:0:1', 'fd01::1'],
    ['FD01::A', 'fd01::a'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['fe80::1%eth0', undefined],
    ['', undefined],
    ['web', undefined],
  ])('%s', (text, expected) => {
    expect(parseIp(text)?.text).toBe(expected);
  });
});

describe('orderPodIps', () => {
  const both = ['fd01::1', '10.0.0.1', '10.0.0.2', 'fd01::2'];
  it.each<[string, string[], string[], string[]]>([
    ['IPv4 first without a node address', both, [], ['10.0.0.1', 'fd01::1']],
    ['IPv4 first with an IPv4 node', both, ['192.168.0.1'], ['10.0.0.1', 'fd01::1']],
    ['IPv6 first with an IPv6 node', both, ['fd00::1'], ['fd01::1', '10.0.0.1']],
    ['one family alone', ['fd01::1'], [], ['fd01::1']],
    ['one that is none voids all', ['10.0.0.1', 'x'], [], []],
    ['none', [], [], []],
  ])('%s', (_, runtimeIps, nodeIps, expected) => {
    expect(orderPodIps(runtimeIps, nodeIps)).toEqual(expected);
  });
});
