import { describe, expect, it } from 'vitest';
import type { NodeAddress } from '../../kube/index.js';
import { type AddressSettings, needsLookup, nodeAddresses } from './addresses.js';
import { defaultRoutes4, defaultRoutes6, type NetworkFacts, nodeIpProblem } from './local-ip.js';
import { parseNodeIps } from './node-ip.js';

const local = (name: string, address: string) => ({
  interface: name,
  address,
  isLoopbackInterface: name === 'lo',
});
const network: NetworkFacts = {
  addresses: [
    local('lo', '127.0.0.1'),
    local('lo', '::1'),
    local('eth0', '10.0.0.5'),
    local('eth0', 'fe80::1'),
    local('eth0', 'fd00::5'),
    local('eth1', '192.168.1.7'),
  ],
  routed: { 4: ['eth0'], 6: ['eth0'] },
};
const pair = 'must contain either a single IP or a dual-stack pair of IPs';

describe('parseNodeIps', () => {
  it.each([
    ['empty: none', '', { kind: 'valid', ips: [], dropped: [] }],
    ['one', '10.0.0.5', { kind: 'valid', ips: ['10.0.0.5'], dropped: [] }],
    [
      'a pair, spaces trimmed',
      ' 10.0.0.5 , fd00::5 ',
      { kind: 'valid', ips: ['10.0.0.5', 'fd00::5'], dropped: [] },
    ],
    ['unparsable items are dropped', 'x,10.0.0.5', { kind: 'valid', ips: ['10.0.0.5'], dropped: ['x'] }],
    [
      'two of a family',
      '1.1.1.1,2.2.2.2',
      { kind: 'invalid', message: `bad --node-ip "1.1.1.1,2.2.2.2": ${pair}` },
    ],
    [
      'three',
      '1.1.1.1,::2,3.3.3.3',
      { kind: 'invalid', message: `bad --node-ip "1.1.1.1,::2,3.3.3.3": ${pair}` },
    ],
    [
      'a pair with an unspecified address',
      '0.0.0.0,fd00::5',
      {
        kind: 'invalid',
        message: `bad --node-ip "0.0.0.0,fd00::5": dual-stack node IP cannot include '0.0.0.0' or '::'`,
      },
    ],
    ['unspecified alone', '::', { kind: 'valid', ips: ['::'], dropped: [] }],
  ])('%s', (_rule, text, expected) => {
    expect(parseNodeIps(text)).toEqual(expected);
  });
});

it.each([
  ['127.0.0.1', "nodeIP can't be loopback address"],
  ['224.0.0.1', "nodeIP can't be a multicast address"],
  ['fe80::1', "nodeIP can't be a link-local unicast address"],
  ['0.0.0.0', "nodeIP can't be an all zeros address"],
  ['10.9.9.9', `node IP: "10.9.9.9" not found in the host's network interfaces`],
  ['10.0.0.5', undefined],
  ['fd00:0::5', undefined],
])('nodeIpProblem of %s', (ip, expected) => {
  expect(nodeIpProblem(ip, network)).toBe(expected);
});

const internal = (address: string): NodeAddress => ({ type: 'InternalIP', address });
const hostname = (address = 'n1'): NodeAddress => ({ type: 'Hostname', address });
const ok = (...addresses: NodeAddress[]) => ({ kind: 'addresses', addresses });

describe('nodeAddresses', () => {
  interface Row extends Partial<AddressSettings> {
    readonly existing?: readonly NodeAddress[];
    readonly resolved?: readonly string[];
    readonly network?: NetworkFacts;
  }
  const rows: readonly (readonly [rule: string, row: Row, expected: unknown, provided?: string])[] = [
    ['a specific IP', { nodeIps: ['192.168.1.7'] }, ok(internal('192.168.1.7'), hostname())],
    [
      'two specific IPs',
      { nodeIps: ['fd00::5', '10.0.0.5'] },
      ok(internal('fd00::5'), internal('10.0.0.5'), hostname()),
    ],
    [
      'loopback is refused and nothing changes',
      { nodeIps: ['127.0.0.1'] },
      { kind: 'problem', message: "failed to validate nodeIP: nodeIP can't be loopback address" },
    ],
    [
      'an invalid second address is named',
      { nodeIps: ['10.0.0.5', 'fd00::9'] },
      {
        kind: 'problem',
        message: `failed to validate secondaryNodeIP: node IP: "fd00::9" not found in the host's network interfaces`,
      },
    ],
    ['a name that is an IP', { nodeName: '10.1.1.1' }, ok(internal('10.1.1.1'), hostname('10.1.1.1'))],
    [
      'the resolved address, if local',
      { resolved: ['10.8.8.8', '192.168.1.7'] },
      ok(internal('192.168.1.7'), hostname()),
    ],
    [
      'resolved loopback addresses do not count',
      { resolved: ['127.0.1.1'] },
      ok(internal('10.0.0.5'), hostname()),
    ],
    ['IPv4 is preferred', { resolved: ['fd00::5', '10.0.0.5'] }, ok(internal('10.0.0.5'), hostname())],
    [
      ':: prefers IPv6',
      { nodeIps: ['::'], resolved: ['10.0.0.5', 'fd00::5'] },
      ok(internal('fd00::5'), hostname()),
    ],
    ['the default route', {}, ok(internal('10.0.0.5'), hostname())],
    [':: prefers the IPv6 route', { nodeIps: ['::'] }, ok(internal('fd00::5'), hostname())],
    [
      'a global address on loopback stands in for a routed interface without one',
      {
        network: {
          addresses: [local('lo', '127.0.0.1'), local('lo', '10.7.7.7')],
          routed: { 4: ['bgp0'], 6: [] },
        },
      },
      ok(internal('10.7.7.7'), hostname()),
    ],
    [
      'no route at all',
      { network: { ...network, routed: { 4: [], 6: [] } } },
      {
        kind: 'problem',
        message: `can't get ip address of node n1. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
      },
    ],
    ['external cloud, new node: hostname only', { externalCloud: true }, ok(hostname())],
    [
      'external cloud: existing addresses stay',
      { externalCloud: true, existing: [internal('1.2.3.4')] },
      ok(internal('1.2.3.4')),
    ],
    [
      'external cloud with a node IP: the annotation has it',
      { externalCloud: true, nodeIps: ['10.0.0.5', 'fd00::5'] },
      ok(internal('10.0.0.5'), internal('fd00::5'), hostname()),
      '10.0.0.5,fd00::5',
    ],
  ];
  for (const [rule, row, expected, provided] of rows)
    it(rule, () => {
      const { existing = [], resolved = [], network: seen = network, ...settings } = row;
      const outcome = nodeAddresses({
        settings: { nodeName: 'n1', nodeIps: [], externalCloud: false, ...settings },
        existing,
        network: seen,
        resolved,
      });
      expect(outcome.result).toEqual(expected);
      expect(outcome.providedNodeIp).toBe(provided);
    });
  it('resolves the name only if nothing else decides', () => {
    const base = { nodeName: 'n1', nodeIps: [], externalCloud: false };
    expect([
      needsLookup(base),
      needsLookup({ ...base, nodeIps: ['0.0.0.0'] }),
      needsLookup({ ...base, nodeIps: ['10.0.0.5'] }),
      needsLookup({ ...base, externalCloud: true }),
      needsLookup({ ...base, nodeName: '10.0.0.5' }),
    ]).toEqual([true, true, false, false, false]);
  });
});

it('default routes of both families, lowest metric first', () => {
  const head = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
  const line = (name: string, metric: number) =>
    `${name}\t00000000\t0100000A\t0003\t0\t0\t${metric}\t00000000\t0\t0\t0\n`;
  expect(defaultRoutes4(`${head}${line('wlan0', 600)}${line('eth0', 100)}`)).toEqual(['eth0', 'wlan0']);
  const zeros = '0'.repeat(32);
  const six = `${zeros} 00 ${zeros} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200 lo\n`;
  expect(defaultRoutes6(six)).toEqual(['eth0']);
});
