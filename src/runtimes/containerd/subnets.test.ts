import { describe, expect, it } from 'vitest';
import { chooseSubnet, formatSubnet, overlaps, parseRoutes, parseSubnet } from './subnets.js';

describe('overlaps', () => {
  it.each([
    ['the same', '10.88.1.0/24', '10.88.1.0/24', true],
    ['neighbours', '10.88.1.0/24', '10.88.2.0/24', false],
    ['one inside the other', '10.88.1.0/24', '10.88.0.0/16', true],
    ['an address inside', '10.88.1.77/32', '10.88.1.0/24', true],
    ['high addresses', '192.168.0.0/16', '192.168.255.0/24', true],
    ['everything', '0.0.0.0/0', '10.88.1.0/24', true],
  ])('%s: %s, %s: %s', (_, a, b, expected) => {
    expect(overlaps(parseSubnet(a), parseSubnet(b))).toBe(expected);
    expect(overlaps(parseSubnet(b), parseSubnet(a))).toBe(expected);
  });
});

describe('chooseSubnet', () => {
  it.each<[rule: string, taken: string[], start: number, expected: string]>([
    ['the one asked for when it is free', [], 7, '10.88.7.0/24'],
    ['the next one when it is taken', ['10.88.7.0/24'], 7, '10.88.8.0/24'],
    ['past a wider route in the pool', ['10.88.0.0/20'], 3, '10.88.16.0/24'],
    ['a route to one address is in the way', ['10.88.7.9/32'], 7, '10.88.8.0/24'],
    ['from the end back to the start', ['10.88.255.0/24'], 255, '10.88.0.0/24'],
    ['any number to start from', [], 0xffffff, '10.88.255.0/24'],
    ['a route wider than the pool is not in the way', ['10.0.0.0/8', '0.0.0.0/0'], 7, '10.88.7.0/24'],
  ])('%s', (_, taken, start, expected) => {
    expect(formatSubnet(chooseSubnet(taken.map(parseSubnet), start))).toBe(expected);
  });

  it('throws when none is left', () => {
    expect(() => chooseSubnet([parseSubnet('10.88.0.0/16')], 0)).toThrow('no free /24 in 10.88.0.0/16');
  });
});

it('parseRoutes reads the kernel’s table', () => {
  const text = [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
    'cni0\t0005580A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
    '',
  ].join('\n');
  expect(parseRoutes(text).map(formatSubnet)).toEqual(['0.0.0.0/0', '10.88.5.0/24']);
});
