import { describe, expect, it } from 'vitest';
import { hostIpsOf, podAddresses } from './addresses.js';
import { makePod } from './pod-fixtures.js';

describe('hostIpsOf', () => {
  it('takes internal before external addresses, one of each family', () => {
    expect(
      hostIpsOf([
        { type: 'Hostname', address: 'node' },
        { type: 'ExternalIP', address: 'fd02::1' },
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: '10.0.0.2' },
      ]),
    ).toEqual(['10.0.0.1', 'fd02::1']);
    expect(hostIpsOf([])).toEqual([]);
  });
});

describe('podAddresses', () => {
  const hostNetworkPod = makePod({ spec: { hostNetwork: true } });
  const dual = ['10.0.0.1', 'fd01::2'];
  it.each<[string, boolean, string[], string[], string[]]>([
    ['a pod has its own addresses', false, ['10.1.0.1'], dual, ['10.1.0.1']],
    ['a pod without any has none', false, [], dual, []],
    ['host network: those of the host', true, [], dual, dual],
    ['host network: the second family is added', true, ['10.0.0.9'], dual, ['10.0.0.9', 'fd01::2']],
    ['host network: the same family is not added', true, ['fd01::9'], dual, ['fd01::9']],
    ['host network: single stack', true, [], ['10.0.0.1'], ['10.0.0.1']],
    ['host network without an API', true, [], [], []],
  ])('%s', (_, isHost, podIps, hostIps, expected) => {
    const addresses = podAddresses(isHost ? hostNetworkPod : makePod(), podIps, hostIps);
    expect((addresses.podIPs ?? []).map(({ ip }) => ip)).toEqual(expected);
    expect(addresses.podIP).toBe(expected[0]);
    expect(addresses.hostIP).toBe(hostIps[0]);
  });
});
