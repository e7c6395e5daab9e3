import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Service, ServiceSpec } from '../../kube/types/index.js';
import { parseIpv4Range } from '../addresses/ipv4-range.js';
import { servicesLimits } from '../limits.js';
import { testPod, testService, testSlice } from '../test-objects.js';
import { addressRecordsOf, decodeAnswer, decodeQuery } from './decode.js';
import { encodeAnswer, encodeQuery } from './encode.js';
import { Forwarder, ForwardFailed } from './forwarder.js';
import { type DnsQuery, type DnsRecord, nameOf, recordType } from './message.js';
import { upstreamsOf } from './resolv-conf.js';
import { DnsResponder } from './responder.js';
import type { ExchangeWithUpstream } from './upstream-exchange.js';
import { Zone } from './zone.js';

const clusterRange = parseIpv4Range('10.96.0.0/16')!;
const { signal } = new AbortController();
const headless = testService('db', { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] });
const external = (name: string, externalName: string): Service => {
  const spec: ServiceSpec = { type: 'ExternalName', externalName };
  return { metadata: { namespace: 'shop', name }, spec };
};
const zone = new Zone(
  {
    services: [
      testService('web', {
        clusterIP: '10.96.3.3',
        ports: [
          { name: 'http', port: 80 },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      }),
      headless,
      testService('empty', { clusterIP: 'None' }),
      external('out', 'example.com.'),
      external('in', 'web.shop.svc.cluster.local'),
      external('circle', 'circle.shop.svc.cluster.local'),
      external('bad', `${'a'.repeat(64)}.com`),
      testService('dual', { clusterIP: '10.96.4.4', clusterIPs: ['10.96.4.4', 'fd00::4'] }),
      { metadata: { namespace: 'shop', name: 'a.b' }, spec: { clusterIP: '10.96.9.9' } },
    ],
    slices: [
      testSlice(
        'db',
        [
          { addresses: ['10.1.0.1'], hostname: 'db-0' },
          { addresses: ['10.1.0.2'], conditions: { ready: true } },
          { addresses: ['10.1.0.3'], conditions: { ready: false } },
          { addresses: ['10.1.0.4'], hostname: 'not.a.label' },
        ],
        { ports: [{ name: 'sql', protocol: 'TCP', port: 5432 }] },
      ),
    ],
    pods: [
      testPod('a', { ip: '10.1.0.1' }),
      testPod('b', { ip: '10.1.0.9', phase: 'Failed' }),
      testPod('c', { ip: 'fd00::7' }),
    ],
  },
  { domain: 'cluster.local', dnsAddress: '10.96.0.10', clusterRange },
);

function text({ name, data }: DnsRecord): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return `${data.type} ${data.address}`;
    case 'SRV':
      return `SRV ${data.port} ${data.target.join('.')}`;
    case 'CNAME':
    case 'PTR':
    case 'NS':
      return `${data.type} ${data.target.join('.')}`;
    case 'TXT':
      return `TXT ${data.text}`;
    case 'SOA':
      return `SOA of ${name.join('.')}`;
  }
}

describe('the names of the cluster', () => {
  it.each<[string, keyof typeof recordType, string]>([
    ['web.shop.svc.cluster.local', 'A', 'A 10.96.3.3'],
    ['WEB.Shop.svc.CLUSTER.local', 'A', 'A 10.96.3.3'],
    ['web.shop.svc.cluster.local', 'AAAA', 'nothing (SOA of cluster.local)'],
    ['web.shop.svc.cluster.local', 'MX', 'nothing (SOA of cluster.local)'],
    ['dual.shop.svc.cluster.local', 'AAAA', 'AAAA fd00::4'],
    ['_http._tcp.web.shop.svc.cluster.local', 'SRV', 'SRV 80 web.shop.svc.cluster.local + A 10.96.3.3'],
    ['_dns._udp.web.shop.svc.cluster.local', 'SRV', 'SRV 53 web.shop.svc.cluster.local + A 10.96.3.3'],
    ['_http._udp.web.shop.svc.cluster.local', 'SRV', 'no such name (SOA of cluster.local)'],
    ['_tcp.web.shop.svc.cluster.local', 'SRV', 'nothing (SOA of cluster.local)'],
    ['db.shop.svc.cluster.local', 'A', 'A 10.1.0.1, A 10.1.0.2, A 10.1.0.4'],
    ['db-0.db.shop.svc.cluster.local', 'A', 'A 10.1.0.1'],
    ['10-1-0-2.db.shop.svc.cluster.local', 'A', 'A 10.1.0.2'],
    ['10-1-0-4.db.shop.svc.cluster.local', 'A', 'A 10.1.0.4'],
    ['10-1-0-3.db.shop.svc.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    [
      '_sql._tcp.db.shop.svc.cluster.local',
      'SRV',
      'SRV 5432 db-0.db.shop.svc.cluster.local, SRV 5432 10-1-0-2.db.shop.svc.cluster.local, ' +
        'SRV 5432 10-1-0-4.db.shop.svc.cluster.local + A 10.1.0.1, A 10.1.0.2, A 10.1.0.4',
    ],
    ['empty.shop.svc.cluster.local', 'A', 'nothing (SOA of cluster.local)'],
    ['out.shop.svc.cluster.local', 'A', 'stands for example.com'],
    ['out.shop.svc.cluster.local', 'CNAME', 'CNAME example.com'],
    ['bad.shop.svc.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['a.b.shop.svc.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['3.3.96.10.in-addr.arpa', 'PTR', 'PTR web.shop.svc.cluster.local'],
    ['1.0.1.10.in-addr.arpa', 'PTR', 'PTR db-0.db.shop.svc.cluster.local'],
    ['77.77.96.10.in-addr.arpa', 'PTR', 'no such name (SOA of cluster.local)'],
    ['1.2.0.192.in-addr.arpa', 'PTR', 'outside'],
    ['10-1-0-1.shop.pod.cluster.local', 'A', 'A 10.1.0.1'],
    ['10-1-0-9.shop.pod.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['10-1-0-1.other.pod.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['fd00--7.shop.pod.cluster.local', 'AAAA', 'AAAA fd00::7'],
    ['shop.svc.cluster.local', 'A', 'nothing (SOA of cluster.local)'],
    ['svc.cluster.local', 'A', 'nothing (SOA of cluster.local)'],
    ['other.svc.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['web.shop.svc.cluster.local.shop.svc.cluster.local', 'A', 'no such name (SOA of cluster.local)'],
    ['cluster.local', 'SOA', 'SOA of cluster.local'],
    ['cluster.local', 'NS', 'NS ns.dns.cluster.local'],
    ['ns.dns.cluster.local', 'A', 'A 10.96.0.10'],
    ['dns-version.cluster.local', 'TXT', 'TXT 1.1.0'],
    ['example.com', 'A', 'outside'],
    ['notcluster.local', 'A', 'outside'],
    ['local', 'A', 'outside'],
    ['', 'NS', 'outside'],
  ])('%s %s: %s', (name, type, expected) => {
    const found = zone.find({ name: nameOf(name), type: recordType[type], class: 1 });
    const shown = (): string => {
      switch (found.kind) {
        case 'outside':
          return 'outside';
        case 'no-name':
          return `no such name (${found.authority.map(text).join(', ')})`;
        case 'alias':
          return `stands for ${found.target.join('.')}`;
        case 'records': {
          const more = found.additional.length > 0 ? ` + ${found.additional.map(text).join(', ')}` : '';
          if (found.answers.length === 0) return `nothing (${found.authority.map(text).join(', ')})`;
          return found.answers.map(text).join(', ') + more;
        }
      }
    };
    expect(shown()).toBe(expected);
  });
});

const query = (
  name: string,
  type: keyof typeof recordType = 'A',
  part: Partial<DnsQuery> = {},
): DnsQuery => ({
  id: 42,
  recursionDesired: true,
  checkingDisabled: false,
  question: { name: nameOf(name), type: recordType[type], class: 1 },
  ...part,
});

/** Servers outside by their address: an answer, nothing, or a refusal. */
type Outside = Readonly<Record<string, (asked: DnsQuery) => Buffer | 'silent' | 'refuses'>>;

function outsideAnswer(asked: DnsQuery, address: string, ttlSeconds = 60, code = 0): Buffer {
  const record: DnsRecord = { name: asked.question.name, ttlSeconds, data: { type: 'A', address } };
  const answers = code === 0 ? [record] : [];
  return encodeAnswer(
    asked,
    { code, isAuthoritative: false, answers, authority: [], additional: [] },
    { maxBytes: 4096 },
  );
}

function forwarderOn(
  outside: Outside,
  clock = new VirtualClock(),
): { forwarder: Forwarder; asked: string[]; clock: VirtualClock } {
  const asked: string[] = [];
  const exchange: ExchangeWithUpstream = async (_, { server, packet }) => {
    asked.push(server);
    const decoded = decodeQuery(packet);
    if (decoded.kind !== 'query') throw new Error('no query');
    const said = outside[server]?.(decoded.query) ?? 'refuses';
    if (said === 'silent')
      return new Promise((_resolve, reject) =>
        clock.setTimer(2000, () => reject(new Error('no answer in time'))),
      );
    if (said === 'refuses') throw new Error('refused');
    return { packet: said, answer: decodeAnswer(said) };
  };
  const upstreams = async (): Promise<string[]> => Object.keys(outside);
  const forwarder = new Forwarder({
    clock,
    upstreams,
    exchange: { datagram: exchange, connection: exchange },
  });
  return { forwarder, asked, clock };
}

async function ask(responder: DnsResponder, asked: DnsQuery, transport: 'udp' | 'tcp' = 'udp') {
  const packet = encodeQuery(asked.id, asked.question, asked);
  const answer = await responder.respond(packet, transport, signal);
  return { packet: answer!, ...decodeAnswer(answer!), ...addressRecordsOf(answer!) };
}

describe('the responder', () => {
  const { forwarder, asked } = forwarderOn({ '192.0.2.1': (one) => outsideAnswer(one, '203.0.113.5') });
  const responder = new DnsResponder({ zone: () => zone, forwarder });

  it('answers names of the cluster with authority', async () => {
    const { packet, records, id } = await ask(responder, query('web.shop.svc.cluster.local'));
    expect(id).toBe(42);
    expect(packet.readUInt16BE(2)).toBe(0x8580);
    expect(records.map(text)).toEqual(['A 10.96.3.3']);
    expect((await ask(responder, query('no.shop.svc.cluster.local'))).code).toBe(3);
    expect(asked).toEqual([]);
  });

  it('gives addresses in another order each time', async () => {
    const firsts = await Promise.all(
      [0, 1, 2].map(
        async (id) => (await ask(responder, query('db.shop.svc.cluster.local', 'A', { id }))).records[0],
      ),
    );
    expect(new Set(firsts.map((one) => text(one!))).size).toBe(3);
  });

  it('asks others for other names, and for what a name stands for', async () => {
    expect((await ask(responder, query('example.org'))).records.map(text)).toEqual(['A 203.0.113.5']);
    expect((await ask(responder, query('out.shop.svc.cluster.local'))).records.map(text)).toEqual([
      'CNAME example.com',
      'A 203.0.113.5',
    ]);
    expect((await ask(responder, query('in.shop.svc.cluster.local'))).records.map(text)).toEqual([
      'CNAME web.shop.svc.cluster.local',
      'A 10.96.3.3',
    ]);
    expect((await ask(responder, query('circle.shop.svc.cluster.local'))).code).toBe(2);
  });

  it.each<[string, DnsQuery, number]>([
    ['without recursion other names', query('example.org', 'A', { recursionDesired: false }), 5],
    [
      'other classes',
      query('web.shop.svc.cluster.local', 'A', { question: { name: ['a'], type: 1, class: 3 } }),
      5,
    ],
  ])('refuses %s', async (_, one, code) => {
    expect((await ask(responder, one)).code).toBe(code);
  });

  it('knows no later EDNS', async () => {
    const { packet } = await ask(
      responder,
      query('web.shop.svc.cluster.local', 'A', { edns: { udpBytes: 4096, version: 0, dnssecOk: false } }),
    );
    expect(packet.readUInt16BE(10)).toBe(1);
    const later = encodeQuery(
      1,
      query('a').question,
      query('a', 'A', { edns: { udpBytes: 512, version: 0, dnssecOk: false } }),
    );
    later[later.length - 5] = 1;
    const refused = await responder.respond(later, 'udp', signal);
    // The upper bits of the code are in the OPT record: 16.
    expect([refused!.readUInt16BE(2) & 15, refused![refused!.length - 6]]).toEqual([0, 1]);
  });

  it('answers no answers, and broken queries with a code', async () => {
    expect(await responder.respond(Buffer.alloc(5), 'udp', signal)).toBeUndefined();
    expect(
      (
        await responder.respond(Buffer.concat([Buffer.from([0, 9]), Buffer.alloc(10)]), 'udp', signal)
      )?.toString('hex'),
    ).toBe('000980010000000000000000');
  });

  it('cuts large answers for datagrams only', async () => {
    const endpoints = Array.from({ length: 200 }, (_, index) => ({ addresses: [`10.2.0.${index}`] }));
    const objects = { services: [headless], slices: [testSlice('db', endpoints)], pods: [] };
    const large = new Zone(objects, { domain: 'cluster.local', dnsAddress: '10.96.0.10', clusterRange });
    const one = new DnsResponder({ zone: () => large, forwarder });
    const short = await ask(one, query('db.shop.svc.cluster.local'));
    expect([short.isTruncated, short.packet.length <= 512]).toEqual([true, true]);
    const edns = { udpBytes: 65_535, version: 0, dnssecOk: false };
    const longer = await ask(one, query('db.shop.svc.cluster.local', 'A', { edns }));
    expect([longer.isTruncated, longer.packet.length <= servicesLimits.dnsUdpBytes]).toEqual([true, true]);
    expect((await ask(one, query('db.shop.svc.cluster.local'), 'tcp')).records).toHaveLength(200);
  });
});

describe('forwarding', () => {
  it('goes on to the next server, and twice around', async () => {
    const { forwarder, asked, clock } = forwarderOn({
      '192.0.2.1': () => 'silent',
      '192.0.2.2': (one) => outsideAnswer(one, '203.0.113.5'),
    });
    const answer = forwarder.forward(query('example.com'), 'udp', signal);
    await clock.advance(2000);
    expect(addressRecordsOf(await answer).records.map(text)).toEqual(['A 203.0.113.5']);
    expect(asked).toEqual(['192.0.2.1', '192.0.2.2']);
    const dead = forwarderOn({ '192.0.2.1': () => 'silent', '192.0.2.2': () => 'refuses' });
    const failed = expect(dead.forwarder.forward(query('a'), 'udp', signal)).rejects.toThrow(
      'none of 192.0.2.1, 192.0.2.2 answers',
    );
    await dead.clock.advance(4000);
    await failed;
    expect(dead.asked).toHaveLength(4);
    const none = forwarderOn({});
    await expect(none.forwarder.forward(query('a'), 'udp', signal)).rejects.toThrow(ForwardFailed);
  });

  it('prefers a server that does not fail, and gives the failure when all do', async () => {
    const broken = (one: DnsQuery): Buffer => outsideAnswer(one, '', 0, 2);
    const some = forwarderOn({
      '192.0.2.1': broken,
      '192.0.2.2': (one) => outsideAnswer(one, '203.0.113.5'),
    });
    expect(decodeAnswer(await some.forwarder.forward(query('a'), 'udp', signal)).code).toBe(0);
    const all = forwarderOn({ '192.0.2.1': broken, '192.0.2.2': broken });
    expect(decodeAnswer(await all.forwarder.forward(query('a'), 'udp', signal)).code).toBe(2);
    expect(all.asked).toHaveLength(2);
  });

  it('keeps answers for a short while, with shrinking TTLs', async () => {
    const { forwarder, asked, clock } = forwarderOn({
      '192.0.2.1': (one) => outsideAnswer(one, '203.0.113.5', 20),
    });
    await forwarder.forward(query('example.com'), 'udp', signal);
    await clock.advance(15_000);
    const kept = await forwarder.forward(query('EXAMPLE.com', 'A', { id: 7 }), 'udp', signal);
    expect(decodeAnswer(kept)).toMatchObject({ id: 7, ttlSeconds: 5 });
    await clock.advance(5000);
    await forwarder.forward(query('example.com'), 'udp', signal);
    expect(asked).toHaveLength(2);
  });

  it('shares equal questions and bounds all of them', async () => {
    const { forwarder, asked, clock } = forwarderOn({ '192.0.2.1': () => 'silent' });
    const outcomes = Array.from({ length: 5 }, () =>
      forwarder.forward(query('same'), 'udp', signal).catch(() => 'failed'),
    );
    const rest = Array.from({ length: servicesLimits.dnsForwards - 1 }, (_, index) =>
      forwarder.forward(query(`n${index}`), 'udp', signal).catch(() => 'failed'),
    );
    await expect(forwarder.forward(query('one-more'), 'udp', signal)).rejects.toThrow('too many questions');
    await clock.advance(4000);
    expect(new Set(await Promise.all([...outcomes, ...rest]))).toEqual(new Set(['failed']));
    expect(asked.length).toBe(2 * servicesLimits.dnsForwards);
    expect(forwarder.underWay).toBe(0);
  });

  it.each<[string, string, string[]]>([
    [
      'servers',
      'nameserver 192.0.2.1\nnameserver 2001:db8::1\nsearch example.com\n',
      ['192.0.2.1', '2001:db8::1'],
    ],
    ['comments and space', '# nameserver 192.0.2.9\n  nameserver\t192.0.2.1 # first\n', ['192.0.2.1']],
    [
      'our own address',
      'nameserver 10.96.0.10\nnameserver 10.96.7.7\nnameserver 192.0.2.7\nnameserver 192.0.2.1',
      ['192.0.2.1'],
    ],
    ['one twice', 'nameserver 127.0.0.53\nnameserver 127.0.0.53', ['127.0.0.53']],
    [
      'many',
      ['1', '2', '3', '4', '5'].map((end) => `nameserver 192.0.2.${end}0`).join('\n'),
      ['192.0.2.10', '192.0.2.20', '192.0.2.30'],
    ],
    ['names', 'nameserver example.com\nnameserver', []],
    ['a link', 'nameserver fe80::1%eth0', ['fe80::1%eth0']],
  ])('takes from resolv.conf %s', (_, conf, expected) => {
    expect(upstreamsOf(conf, clusterRange, ['192.0.2.7'])).toEqual(expected);
  });
});
