import { describe, expect, it } from 'vitest';
import type { Service, ServiceSpec } from '../../kube/types/index.js';
import { ipv4Number, ipv4Text, isInRange, parseIpv4Range } from './ipv4-range.js';
import { NumberPool } from './number-pool.js';
import { type AssignedAddresses, ServiceAddresses } from './service-addresses.js';

const service = (name: string, spec: ServiceSpec = {}, created = ''): Service => ({
  metadata: { namespace: 'shop', name, ...(created === '' ? {} : { creationTimestamp: created }) },
  spec,
});

function given(addresses: ServiceAddresses, asked: Service, before?: Service): AssignedAddresses {
  const outcome = addresses.update(before, asked);
  if (!outcome.ok) throw new Error(outcome.problem.message);
  return outcome.assigned;
}

function problemOf(addresses: ServiceAddresses, asked: Service): string {
  const outcome = addresses.allocate(asked);
  return outcome.ok
    ? 'none'
    : `${outcome.problem.reason} ${outcome.problem.field}: ${outcome.problem.message}`;
}

describe('ranges', () => {
  it.each([
    ['10.96.0.0/16', '10.96.0.0/16', 65_536],
    ['10.96.7.9/16', '10.96.0.0/16', 65_536],
    ['255.255.255.255/32', '255.255.255.255/32', 1],
    ['0.0.0.0/0', '0.0.0.0/0', 2 ** 32],
    ['10.96.0.0', undefined, 0],
    ['10.96.0.0/33', undefined, 0],
    ['10.96.0/16', undefined, 0],
    ['fd00::/108', undefined, 0],
    ['-10.0.0.0/8', undefined, 0],
  ])('%s', (text, canonical, size) => {
    const range = parseIpv4Range(text);
    expect(range?.text).toBe(canonical);
    if (range !== undefined) expect(range.last - range.first + 1).toBe(size);
  });

  it('numbers and texts are the same addresses', () => {
    for (const text of ['0.0.0.0', '10.96.0.1', '192.168.255.254', '255.255.255.255'])
      expect(ipv4Text(ipv4Number(text)!)).toBe(text);
    expect(isInRange(parseIpv4Range('10.96.0.0/16')!, '10.96.255.255')).toBe(true);
    expect(isInRange(parseIpv4Range('10.96.0.0/16')!, '10.97.0.0')).toBe(false);
  });
});

describe('a pool', () => {
  it('gives every number once, then none, and released ones again', () => {
    const pool = new NumberPool({ first: 5, last: 24, firstChosen: 15 });
    const got = Array.from({ length: 20 }, (_, index) => pool.allocate(`owner-${index}`));
    expect(got.slice(0, 10).every((number) => number! >= 15)).toBe(true);
    expect(new Set(got).size).toBe(20);
    expect(pool.allocate('late')).toBeUndefined();
    pool.release(got[3]!, 'somebody else');
    expect(pool.allocate('late')).toBeUndefined();
    pool.release(got[3]!, 'owner-3');
    expect(pool.allocate('late')).toBe(got[3]);
  });

  it('takes each random order of allocations and releases without giving a number twice', () => {
    const pool = new NumberPool({ first: 1, last: 50, firstChosen: 10 });
    const held = new Map<number, string>();
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let step = 0; step < 5000; step++) {
      const owner = `o${random(80)}`;
      if (random(3) === 0 && held.size > 0) {
        const [number, holder] = [...held][random(held.size)]!;
        pool.release(number, holder);
        held.delete(number);
      } else {
        const number = pool.allocate(owner, String(step));
        expect(number === undefined).toBe(held.size === 50);
        if (number === undefined) continue;
        expect(held.has(number)).toBe(false);
        held.set(number, owner);
      }
      expect(pool.taken).toBe(held.size);
    }
  });
});

describe('cluster addresses', () => {
  it('keeps the two fixed ones for their Services', () => {
    const addresses = new ServiceAddresses();
    expect([addresses.kubernetesAddress, addresses.dnsAddress]).toEqual(['10.96.0.1', '10.96.0.10']);
    expect(problemOf(addresses, service('web', { clusterIP: '10.96.0.10' }))).toBe(
      'Taken spec.clusterIP: 10.96.0.10 belongs to the Service kube-system/kube-dns',
    );
    const kubernetes = {
      metadata: { namespace: 'default', name: 'kubernetes' },
      spec: { clusterIP: '10.96.0.1' },
    };
    expect(given(addresses, kubernetes).clusterIP).toBe('10.96.0.1');
    addresses.release(kubernetes);
    expect(problemOf(addresses, service('web', { clusterIP: '10.96.0.1' }))).toContain('Taken');
  });

  it('gives the same Service the same address, and leaves the lower ones to those who ask', () => {
    const [one, two] = [new ServiceAddresses(), new ServiceAddresses()];
    const { clusterIP, clusterIPs } = given(one, service('web'));
    expect(clusterIPs).toEqual([clusterIP]);
    expect(ipv4Number(clusterIP!)).toBeGreaterThanOrEqual(ipv4Number('10.96.1.0')!);
    for (let index = 0; index < 100; index++) given(two, service(`other-${index}`));
    expect(given(two, service('web')).clusterIP).toBe(clusterIP);
  });

  it.each<[string, ServiceSpec, string]>([
    [
      'an address of another range',
      { clusterIP: '10.97.0.1' },
      'OutOfRange spec.clusterIP: 10.97.0.1 is not in 10.96.0.0/16',
    ],
    [
      'the address of the network',
      { clusterIP: '10.96.0.0' },
      'OutOfRange spec.clusterIP: 10.96.0.0 is not in 10.96.0.0/16',
    ],
    [
      'no address at all',
      { clusterIP: 'web' },
      'Invalid spec.clusterIP: "web" is no IPv4 address and not "None"',
    ],
    [
      'an address that somebody has',
      { clusterIP: '10.96.0.77' },
      'Taken spec.clusterIP: 10.96.0.77 belongs to the Service shop/first',
    ],
    ['a free one', { clusterIP: '10.96.0.78' }, 'none'],
    ['headless', { clusterIP: 'None' }, 'none'],
    ['a name outside', { type: 'ExternalName', externalName: 'example.com' }, 'none'],
    [
      'a node port out of range',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
      'OutOfRange spec.ports[0].nodePort: 80 is not between 30000 and 32767',
    ],
    [
      'a node port that somebody has',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] },
      'Taken spec.ports[0].nodePort: node port 30080 belongs to the Service shop/first',
    ],
    [
      'one node port twice',
      {
        type: 'NodePort',
        ports: [
          { port: 80, nodePort: 30_081 },
          { port: 81, nodePort: 30_081 },
        ],
      },
      'Taken spec.ports[1].nodePort: node port 30081 is there twice',
    ],
    [
      'one node port for TCP and UDP',
      {
        type: 'NodePort',
        ports: [
          { port: 53, nodePort: 30_053 },
          { port: 53, nodePort: 30_053, protocol: 'UDP' },
        ],
      },
      'none',
    ],
  ])('%s', (_, spec, problem) => {
    const addresses = new ServiceAddresses();
    const first = { clusterIP: '10.96.0.77', type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] };
    given(addresses, service('first', first));
    expect(problemOf(addresses, service('asked', spec))).toBe(problem);
  });

  it('gives headless Services and names outside no address', () => {
    const addresses = new ServiceAddresses();
    expect(given(addresses, service('db', { clusterIP: 'None' }))).toEqual({
      clusterIP: 'None',
      clusterIPs: ['None'],
    });
    expect(given(addresses, service('out', { type: 'ExternalName' }))).toEqual({});
  });

  it('takes nothing when a part cannot be given', () => {
    const addresses = new ServiceAddresses('10.96.0.0/28');
    given(addresses, service('first', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }));
    const bad = service('bad', {
      type: 'NodePort',
      ports: [
        { port: 1, nodePort: 30_001 },
        { port: 2, nodePort: 30_080 },
      ],
    });
    for (let round = 0; round < 50; round++) expect(problemOf(addresses, bad)).toContain('Taken');
    // 14 addresses, two fixed, one of the first.
    for (let index = 0; index < 11; index++) given(addresses, service(`s${index}`));
    expect(problemOf(addresses, service('late'))).toBe(
      'Exhausted spec.clusterIP: no address of 10.96.0.0/28 is free',
    );
    expect(
      given(
        addresses,
        service('port', { clusterIP: 'None', type: 'NodePort', ports: [{ port: 1, nodePort: 30_001 }] }),
      ).ports,
    ).toHaveLength(1);
  });

  it('keeps what an update leaves out, and takes back what it drops', () => {
    const addresses = new ServiceAddresses();
    const asked = service('web', { type: 'NodePort', ports: [{ port: 80 }, { port: 81 }] });
    const first = given(addresses, asked);
    const stored = service('web', { ...asked.spec, clusterIP: first.clusterIP!, ports: [...first.ports!] });
    const again = given(addresses, asked, stored);
    expect(again).toEqual(first);
    const plain = given(addresses, service('web', { ports: [{ port: 80 }] }), stored);
    expect(plain).toEqual({ clusterIP: first.clusterIP, clusterIPs: [first.clusterIP] });
    const taken = {
      type: 'NodePort',
      clusterIP: 'None',
      ports: [{ port: 9, nodePort: first.ports![0]!.nodePort! }],
    };
    expect(problemOf(addresses, service('other', taken))).toBe('none');
    const outside = given(addresses, service('web', { type: 'ExternalName' }), stored);
    expect(outside).toEqual({});
    expect(problemOf(addresses, service('next', { clusterIP: first.clusterIP! }))).toBe('none');
  });

  it('is rebuilt from stored Services; the older one keeps an address that two have', () => {
    const addresses = new ServiceAddresses();
    given(addresses, service('forgotten', { clusterIP: '10.96.0.99' }));
    const problems = addresses.rebuild([
      service('young', { clusterIP: '10.96.3.3' }, '2026-02-02T00:00:00Z'),
      service(
        'old',
        { clusterIP: '10.96.3.3', type: 'NodePort', ports: [{ port: 80, nodePort: 30_500 }] },
        '2026-01-01T00:00:00Z',
      ),
      service('headless', { clusterIP: 'None' }),
      service('unfinished'),
    ]);
    expect([...problems.keys()]).toEqual(['shop/young']);
    expect(problemOf(addresses, service('x', { clusterIP: '10.96.0.99' }))).toBe('none');
    expect(
      problemOf(
        addresses,
        service('y', { clusterIP: 'None', type: 'NodePort', ports: [{ port: 1, nodePort: 30_500 }] }),
      ),
    ).toContain('Taken');
  });

  it.each(['10.96.0.0/29', '10.96.0.0', 'fd00::/64'])('refuses the range %s', (cidr) => {
    expect(() => new ServiceAddresses(cidr)).toThrow('no range of at least 16 IPv4 addresses');
  });
});
