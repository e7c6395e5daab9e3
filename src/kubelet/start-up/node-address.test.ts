import { describe, expect, it } from 'vitest';
import { defaultRoutes4 } from '../../node/addresses/local-ip.js';
import { chooseAddress } from './node-address.js';

const v4 = (address: string, internal = false) => ({ address, family: 'IPv4' as const, internal });
const v6 = (address: string) => ({ address, family: 'IPv6' as const, internal: false });

describe('node address', () => {
  it('knows the interfaces of default routes, the lowest metric first', () => {
    const routes = [
      'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT',
      'eth1 00000000 0100000A 0003 0 0 200 00000000 0 0 0',
      'eth0 00000000 0100000A 0003 0 0 100 00000000 0 0 0',
      'cni0 0000580A 00000000 0001 0 0 0 00FFFFFF 0 0 0',
    ].join('\n');
    expect(defaultRoutes4(routes)).toEqual(['eth0', 'eth1']);
  });
  it.each([
    [
      'the preferred interface',
      { lo: [v4('127.0.0.1', true)], a: [v4('10.0.0.1')], b: [v4('10.0.0.2')] },
      ['b'],
      '10.0.0.2',
    ],
    ['IPv4 before IPv6', { a: [v6('fd00::1'), v4('10.0.0.1')] }, ['a'], '10.0.0.1'],
    ['IPv6 where there is nothing else', { a: [v6('fe80::1'), v6('fd00::1')] }, ['a'], 'fd00::1'],
    [
      'any other without a default route',
      { lo: [v4('127.0.0.1', true)], a: [v4('169.254.1.1')], b: [v4('10.0.0.2')] },
      [],
      '10.0.0.2',
    ],
    ['none', { lo: [v4('127.0.0.1', true)] }, [], undefined],
  ])('takes %s', (_rule, interfaces, preferred, address) => {
    expect(chooseAddress(interfaces, preferred)).toBe(address);
  });
});
