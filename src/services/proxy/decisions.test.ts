import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { EndpointSlice, Service, ServiceSpec } from '../../kube/types/index.js';
import type { CommandLine, ProgramEnd } from '../../programs/index.js';
import { parseIpv4Range } from '../addresses/ipv4-range.js';
import { servicesLimits } from '../limits.js';
import { testService, testSlice } from '../test-objects.js';
import { Balancer } from './balancer.js';
import { Connections } from './connections.js';
import { planFrontends, unservedPorts } from './frontends.js';
import { LocalRoute } from './local-route.js';
import { routeConflict } from './route-plan.js';

const clusterRange = parseIpv4Range('10.96.0.0/16')!;
const settings = { clusterRange, nodeAddresses: ['192.0.2.1', '127.0.0.1'] };
const endpoint = (address: string, conditions?: EndpointSlice['endpoints'][0]['conditions']) => ({
  addresses: [address],
  ...(conditions === undefined ? {} : { conditions }),
});
const ending = { ready: false, serving: true, terminating: true };
const away = { ready: false, serving: false, terminating: false };

describe('the frontends of Services', () => {
  const shown = (services: Service[], slices: EndpointSlice[], served?: ReadonlySet<string>): string[] =>
    planFrontends(services, slices, { ...settings, ...(served === undefined ? {} : { served }) }).map(
      ({ key, backends, affinityMs }) =>
        `${key} → ${backends.map(({ address, port }) => `${address}:${port}`).join(' ')}${affinityMs > 0 ? ` (${affinityMs} ms)` : ''}`,
    );
  const web = (spec: ServiceSpec = {}): Service => testService('web', { clusterIP: '10.96.3.3', ...spec });
  const slice = testSlice('web', [endpoint('10.1.0.1'), endpoint('10.1.0.2', { ready: true })]);

  it.each<[string, Service[], EndpointSlice[], string[]]>([
    ['has its ready endpoints', [web()], [slice], ['TCP 10.96.3.3:80 → 10.1.0.1:8080 10.1.0.2:8080']],
    [
      'has none that is not ready',
      [web()],
      [testSlice('web', [endpoint('10.1.0.1', away), endpoint('10.1.0.2')])],
      ['TCP 10.96.3.3:80 → 10.1.0.2:8080'],
    ],
    [
      'drops one that ends while another is ready',
      [web()],
      [testSlice('web', [endpoint('10.1.0.1', ending), endpoint('10.1.0.2')])],
      ['TCP 10.96.3.3:80 → 10.1.0.2:8080'],
    ],
    [
      'keeps one that ends and serves while no other is ready',
      [web()],
      [testSlice('web', [endpoint('10.1.0.1', ending), endpoint('10.1.0.2', away)])],
      ['TCP 10.96.3.3:80 → 10.1.0.1:8080'],
    ],
    ['listens without endpoints', [web()], [], ['TCP 10.96.3.3:80 → ']],
    [
      'takes endpoints of all its slices once',
      [web()],
      [slice, testSlice('web', [endpoint('10.1.0.2'), endpoint('10.1.0.3')])],
      ['TCP 10.96.3.3:80 → 10.1.0.1:8080 10.1.0.2:8080 10.1.0.3:8080'],
    ],
    [
      'takes no slices of others',
      [web()],
      [
        testSlice('db', [endpoint('10.1.0.9')]),
        testSlice('web', [endpoint('10.1.0.8')], { namespace: 'other' }),
      ],
      ['TCP 10.96.3.3:80 → '],
    ],
    [
      'takes no names and no IPv6 addresses',
      [web()],
      [
        testSlice('web', [endpoint('fd00::1')], { addressType: 'IPv6' }),
        testSlice('web', [endpoint('example.com')]),
      ],
      ['TCP 10.96.3.3:80 → '],
    ],
    [
      'matches ports by name and protocol',
      [
        web({
          ports: [
            { name: 'http', port: 80 },
            { name: 'dns', port: 53, protocol: 'UDP' },
          ],
        }),
      ],
      [
        testSlice('web', [endpoint('10.1.0.1')], {
          ports: [
            { name: 'http', protocol: 'TCP', port: 8080 },
            { name: 'dns', protocol: 'UDP', port: 5353 },
            { name: 'dns', protocol: 'TCP', port: 1 },
          ],
        }),
      ],
      ['TCP 10.96.3.3:80 → 10.1.0.1:8080', 'UDP 10.96.3.3:53 → 10.1.0.1:5353'],
    ],
    [
      'listens at node ports of every address of the node',
      [web({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] })],
      [testSlice('web', [endpoint('10.1.0.1')])],
      [
        'TCP 10.96.3.3:80 → 10.1.0.1:8080',
        'TCP 192.0.2.1:30080 → 10.1.0.1:8080',
        'TCP 127.0.0.1:30080 → 10.1.0.1:8080',
      ],
    ],
    [
      'keeps clients for three hours',
      [web({ sessionAffinity: 'ClientIP' })],
      [],
      ['TCP 10.96.3.3:80 →  (10800000 ms)'],
    ],
    [
      'keeps clients as long as it says, within a day',
      [web({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 1e9 } } })],
      [],
      ['TCP 10.96.3.3:80 →  (86400000 ms)'],
    ],
    ['is headless', [web({ clusterIP: 'None' })], [slice], []],
    ['is a name outside', [web({ type: 'ExternalName', clusterIP: '' })], [slice], []],
    ['has an address of another range', [web({ clusterIP: '192.0.2.9' })], [slice], []],
    [
      'has a port that is none',
      [web({ ports: [{ port: 0 }, { port: 70_000 }, { port: 1.5 }] })],
      [slice],
      [],
    ],
    ['has a protocol that is not served', [web({ ports: [{ port: 80, protocol: 'SCTP' }] })], [slice], []],
    [
      'has the address of an older one',
      [
        {
          ...web(),
          metadata: { namespace: 'shop', name: 'young', creationTimestamp: '2026-02-02T00:00:00Z' },
        },
        { ...web(), metadata: { namespace: 'shop', name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' } },
      ],
      [slice],
      ['TCP 10.96.3.3:80 → 10.1.0.1:8080 10.1.0.2:8080'],
    ],
  ])('a Service that %s', (_, services, slices, expected) => {
    expect(shown(services, slices)).toEqual(expected);
  });

  it('leaves out what something else serves', () => {
    expect(shown([web()], [slice], new Set(['TCP 10.96.3.3:80']))).toEqual([]);
  });

  it('names ports that are not served', () => {
    expect(unservedPorts([web({ ports: [{ port: 80 }, { port: 90, protocol: 'SCTP' }] })])).toEqual([
      'shop/web SCTP 90',
    ]);
  });
});

describe('the balancer', () => {
  const backends = ['a', 'b', 'c'].map((address) => ({ address, port: 80 }));
  const firsts = (balancer: Balancer, clients: readonly string[], nowMs = 0): string =>
    clients.map((client) => balancer.order(client, nowMs)[0]?.address ?? '-').join('');

  it('takes turns, and has the others as the next to try', () => {
    const balancer = new Balancer();
    balancer.set({ backends, affinityMs: 0 });
    expect(firsts(balancer, ['x', 'x', 'x', 'y', 'y'])).toBe('abcab');
    expect(balancer.order('x', 0).map(({ address }) => address)).toEqual(['c', 'a', 'b']);
  });

  it('has nothing without endpoints, and goes on when they change', () => {
    const balancer = new Balancer();
    expect(firsts(balancer, ['x'])).toBe('-');
    balancer.set({ backends, affinityMs: 0 });
    firsts(balancer, ['x', 'x']);
    balancer.set({ backends: backends.slice(0, 1), affinityMs: 0 });
    expect(firsts(balancer, ['x', 'x'])).toBe('aa');
  });

  it('tries only so many', () => {
    const balancer = new Balancer();
    balancer.set({
      backends: Array.from({ length: 50 }, (_, port) => ({ address: 'a', port })),
      affinityMs: 0,
    });
    expect(balancer.order('x', 0)).toHaveLength(servicesLimits.connectTries);
  });

  it('keeps a client where it was, until its time is over or its endpoint gone', () => {
    const balancer = new Balancer();
    balancer.set({ backends, affinityMs: 1000 });
    const first = balancer.order('x', 0)[0]!;
    balancer.reached('x', first, 0);
    expect(firsts(balancer, ['y', 'x', 'y', 'x'], 1000)).toBe('baca');
    expect(firsts(balancer, ['x'], 1001)).toBe('a');
    expect(firsts(balancer, ['x'], 1001)).toBe('b');
    balancer.reached('x', backends[1]!, 2000);
    balancer.set({ backends: [backends[0]!, backends[2]!], affinityMs: 1000 });
    expect(firsts(balancer, ['x'], 2001)).not.toBe('b');
  });
});

describe('connections', () => {
  it('are bounded for one client and for all', () => {
    const connections = new Connections();
    const { connectionsPerClient, connections: all } = servicesLimits;
    const add = (client: string) => connections.add(client, new Socket(), 0);
    const first = add('a');
    for (let count = 1; count < connectionsPerClient; count++) expect(add('a')).toBeDefined();
    expect(add('a')).toBeUndefined();
    connections.remove(first!);
    connections.remove(first!);
    expect(add('a')).toBeDefined();
    for (let count = connectionsPerClient; count < all; count++) add(`b${count}`);
    expect(connections.size).toBe(all);
    expect(add('c')).toBeUndefined();
  });

  it('are cut when nothing moves', () => {
    const connections = new Connections();
    const socket = new Socket();
    socket.on('error', () => undefined);
    connections.add('a', socket, 0);
    connections.sweep(servicesLimits.idleConnectionMs - 1);
    expect(socket.destroyed).toBe(false);
    connections.sweep(servicesLimits.idleConnectionMs);
    expect(socket.destroyed).toBe(true);
  });
});

describe('the route', () => {
  it.each([
    ['nothing but a default', 'default via 192.0.2.1 dev eth0', undefined],
    [
      'wider ones',
      '10.0.0.0/8 via 192.0.2.1 dev tun0\n192.0.2.0/24 dev eth0 scope link src 192.0.2.7',
      undefined,
    ],
    ['others', '10.88.0.0/16 dev cni0 proto kernel scope link src 10.88.0.1 linkdown', undefined],
    [
      'the same',
      '10.96.0.0/16 dev eth0',
      'the machine has a route to 10.96.0.0/16, which lies in 10.96.0.0/16',
    ],
    [
      'a part',
      'blackhole 10.96.5.0/24',
      'the machine has a route to 10.96.5.0/24, which lies in 10.96.0.0/16',
    ],
    ['one address', '10.96.5.5 dev eth0', 'the machine has a route to 10.96.5.5, which lies in 10.96.0.0/16'],
    [
      'a gateway',
      'default via 10.96.0.1 dev eth0',
      "the machine's route to default uses 10.96.0.1, which lies in 10.96.0.0/16",
    ],
    [
      'an own address',
      '10.0.0.0/8 dev eth0 proto kernel scope link src 10.96.4.4',
      "the machine's route to 10.0.0.0/8 uses 10.96.4.4, which lies in 10.96.0.0/16",
    ],
    ['nothing', '', undefined],
  ])('is looked for among %s', (_, routes, conflict) => {
    expect(routeConflict(clusterRange, routes)).toBe(conflict);
  });

  const exited = (exitCode: number, stderr = '', stdout = ''): ProgramEnd => ({
    kind: 'exited',
    exitCode,
    stdout,
    stderr,
  });
  const { signal } = new AbortController();

  it('is replaced at the start and removed at the end, only if it was set', async () => {
    const asked: string[] = [];
    const run = async (command: CommandLine): Promise<ProgramEnd> => {
      asked.push(String(command));
      return exited(0);
    };
    const route = new LocalRoute({ range: clusterRange, run });
    expect(await route.remove()).toBeUndefined();
    expect(await route.ensure(signal)).toBeUndefined();
    expect(await route.remove()).toBeUndefined();
    expect(await route.remove()).toBeUndefined();
    expect(asked).toEqual([
      'ip -4 route show table main',
      'ip -4 route replace local 10.96.0.0/16 dev lo',
      'ip -4 route del local 10.96.0.0/16 dev lo',
    ]);
  });

  it.each<[string, ProgramEnd, ProgramEnd, string]>([
    [
      'is not allowed',
      exited(0),
      exited(2, 'RTNETLINK answers: Operation not permitted\n'),
      'ip -4 route replace local 10.96.0.0/16 dev lo: exit status 2: RTNETLINK answers: Operation not permitted',
    ],
    [
      'has no program',
      { kind: 'not-started', code: 'ENOENT', stdout: '', stderr: '' },
      exited(0),
      'ip route show: no such program (ENOENT)',
    ],
    [
      'would cut off the machine',
      exited(0, '', 'default via 10.96.0.1 dev eth0'),
      exited(0),
      "the machine's route to default uses 10.96.0.1, which lies in 10.96.0.0/16",
    ],
  ])('%s: says so and removes nothing', async (_, show, replace, problem) => {
    const asked: string[] = [];
    const run = async (command: CommandLine): Promise<ProgramEnd> => {
      asked.push(String(command));
      return command.words.includes('show') ? show : replace;
    };
    const route = new LocalRoute({ range: clusterRange, run });
    expect(await route.ensure(signal)).toBe(problem);
    const before = asked.length;
    expect(await route.remove()).toBeUndefined();
    expect(asked).toHaveLength(before);
  });
});
