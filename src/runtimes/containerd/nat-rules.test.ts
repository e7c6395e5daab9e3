import { describe, expect, it } from 'vitest';
import { masqueradeCommands, natRulesToRemove, unusedHostPortChains } from './nat-rules.js';

const ours = 'nodelet-ab12cd';
const chain = (digit: string) => `CNI-${digit.repeat(24)}`;
const masquerade = (network: string, digit: string) => [
  `-A POSTROUTING -s 10.88.1.2/32 -m comment --comment "name: \\"${network}\\" id: \\"x\\"" -j ${chain(digit)}`,
  `-A ${chain(digit)} -d 10.88.1.0/24 -m comment --comment "name: \\"${network}\\" id: \\"x\\"" -j ACCEPT`,
];
const hostPort = (network: string, digit: string) => [
  `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"${network}\\" id: \\"x\\"" -j CNI-DN-${digit.repeat(21)}`,
  `-A CNI-DN-${digit.repeat(21)} -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.88.1.2:80`,
];
const hostPortChains = [
  ':CNI-HOSTPORT-DNAT - [0:0]',
  ':CNI-HOSTPORT-MASQ - [0:0]',
  '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  '-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE',
];

const network = { networkName: ours, subnet: '10.88.1.0/24' };
const rule = (name: string, subnet = network.subnet) =>
  `-A POSTROUTING -s ${subnet} ! -d ${subnet} -m addrtype ! --dst-type MULTICAST -m comment --comment "pods of \\"${name}\\"" -j MASQUERADE`;

describe('masqueradeCommands', () => {
  it('adds one rule for all pods', () => {
    expect(masqueradeCommands([...masquerade(ours, 'a'), rule('other')], network)).toEqual([rule(ours)]);
  });

  it.each([
    ['the same', rule(ours)],
    ['one of another subnet', rule(ours, '10.88.7.0/24')],
  ])('replaces %s', (_, earlier) => {
    expect(masqueradeCommands([earlier], network)).toEqual([earlier.replace('-A', '-D'), rule(ours)]);
  });

  it('is removed with the network', () => {
    expect(natRulesToRemove([rule(ours), rule('other')], ours)).toEqual([rule(ours).replace('-A', '-D')]);
  });
});

describe('natRulesToRemove', () => {
  it('removes the network’s rules and the chains they jump to, and no others', () => {
    const rules = [...masquerade(ours, 'a'), ...masquerade('other', 'b'), ...hostPort(ours, 'c')];
    expect(natRulesToRemove(rules, ours)).toEqual([
      masquerade(ours, 'a')[0]!.replace('-A', '-D'),
      hostPort(ours, 'c')[0]!.replace('-A', '-D'),
      `-F ${chain('a')}`,
      `-X ${chain('a')}`,
      `-F CNI-DN-${'c'.repeat(21)}`,
      `-X CNI-DN-${'c'.repeat(21)}`,
    ]);
  });

  it('does nothing when all rules are others’', () => {
    expect(natRulesToRemove(masquerade('nodelet-ab12cde', 'b'), ours)).toEqual([]);
  });
});

describe('unusedHostPortChains', () => {
  it('removes them when no pod has a host port', () => {
    expect(unusedHostPortChains(hostPortChains)).toEqual([
      '-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
      '-F CNI-HOSTPORT-DNAT',
      '-F CNI-HOSTPORT-MASQ',
      '-X CNI-HOSTPORT-DNAT',
      '-X CNI-HOSTPORT-MASQ',
    ]);
  });

  it('keeps them when one has', () => {
    expect(unusedHostPortChains([...hostPortChains, ...hostPort('other', 'd')])).toEqual([]);
  });

  it('has nothing to do where there are none', () => {
    expect(unusedHostPortChains([':PREROUTING ACCEPT [0:0]'])).toEqual([]);
  });
});
