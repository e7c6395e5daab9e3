/** Queries of pods and answers of servers, as the responder of names reads them. */
import { parseIpv4Range } from '../../src/services/addresses/ipv4-range.js';
import { addressRecordsOf, decodeAnswer, decodeQuery, truncated } from '../../src/services/dns/decode.js';
import { encodeAnswer, encodeQuery } from '../../src/services/dns/encode.js';
import { ForwardFailed } from '../../src/services/dns/forwarder.js';
import {
  DnsFormatError,
  type DnsQuery,
  type DnsRecord,
  nameOf,
  recordType,
} from '../../src/services/dns/message.js';
import { upstreamsOf } from '../../src/services/dns/resolv-conf.js';
import { DnsResponder } from '../../src/services/dns/responder.js';
import { Zone } from '../../src/services/dns/zone.js';
import { holds, never, only, type Target, texts } from '../target.js';

const query = (name: string, type: number, part: Partial<DnsQuery> = {}): DnsQuery => ({
  id: 7,
  recursionDesired: true,
  checkingDisabled: false,
  question: { name: nameOf(name), type, class: 1 },
  ...part,
});
const edns = { udpBytes: 1232, version: 0, dnssecOk: true };
const web = 'web.shop.svc.cluster.local';
const queries = [
  query(web, recordType.A),
  query(web, recordType.AAAA, { edns }),
  query('_http._tcp.web.shop.svc.cluster.local', recordType.SRV),
  query('example.com', recordType.ANY, { recursionDesired: false }),
  query('', recordType.NS),
];

const range = parseIpv4Range('10.96.0.0/16');
if (range === undefined) throw new Error('10.96.0.0/16 is a range');
const services = [
  {
    metadata: { namespace: 'shop', name: 'web' },
    spec: { clusterIP: '10.96.3.3', ports: [{ name: 'http', port: 80 }] },
  },
  {
    metadata: { namespace: 'shop', name: 'out' },
    spec: { type: 'ExternalName', externalName: 'example.com' },
  },
];
const zone = new Zone(
  { services, slices: [], pods: [] },
  { domain: 'cluster.local', dnsAddress: '10.96.0.10', clusterRange: range },
);
const responder = new DnsResponder({
  zone: () => zone,
  forwarder: {
    forward: async () => {
      throw new ForwardFailed('nobody is asked here');
    },
  },
});

const dnsQueries: Target = {
  name: 'dns-queries',
  seeds: queries.map((one) => encodeQuery(one.id, one.question, one)),
  words: [Buffer.from([0xc0, 0x0c]), Buffer.from([0, 41]), 'cluster', 'svc'],
  refuses: never,
  async run(input) {
    const answer = await responder.respond(input, 'udp', new AbortController().signal);
    if (answer === undefined) return;
    holds(answer.length <= 1232, 'an answer fits into a datagram');
    holds(answer.readUInt16BE(0) === input.readUInt16BE(0), 'an answer has the id of its query');
    holds((answer.readUInt16BE(2) & 0x8000) !== 0, 'an answer is no query');
    const decoded = decodeQuery(input);
    if (decoded.kind !== 'query') return;
    const { id, question } = decoded.query;
    const again = decodeQuery(encodeQuery(id, question, decoded.query));
    holds(again.kind === 'query', 'a question that was read can be asked');
    holds(JSON.stringify(again.query.question) === JSON.stringify(question), 'a question stays the same');
    decodeAnswer(answer);
  },
};

const [name, ttlSeconds] = [nameOf(web), 5];
const records: DnsRecord[] = [
  { name, ttlSeconds, data: { type: 'CNAME', target: nameOf('example.com') } },
  { name: nameOf('example.com'), ttlSeconds, data: { type: 'A', address: '192.0.2.1' } },
  { name: nameOf('example.com'), ttlSeconds, data: { type: 'AAAA', address: '2001:db8::1' } },
];
const soa: DnsRecord = {
  name,
  ttlSeconds,
  data: { type: 'SOA', primary: name, mailbox: name, serial: 1, negativeSeconds: 5 },
};

const dnsAnswers: Target = {
  name: 'dns-answers',
  seeds: [
    { code: 0, isAuthoritative: false, answers: records, authority: [], additional: [] },
    { code: 3, isAuthoritative: true, answers: [], authority: [soa], additional: [] },
  ].map((answer) => encodeAnswer(query(web, recordType.A, { edns }), answer, { maxBytes: 4096 })),
  words: [Buffer.from([0xc0, 0x0c]), Buffer.from([0, 5, 0, 1])],
  refuses: only(DnsFormatError),
  run(input) {
    const { ttlPlaces } = decodeAnswer(input);
    holds(
      ttlPlaces.every((place) => place + 4 <= input.length),
      'TTLs stand in the message',
    );
    const cut = decodeAnswer(truncated(input));
    holds(cut.isTruncated && cut.ttlPlaces.length === 0, 'an answer without records says so');
    const found = addressRecordsOf(input);
    const asked = query('', recordType.A);
    const answer = {
      ...found,
      isAuthoritative: false,
      answers: found.records,
      authority: [],
      additional: [],
    };
    encodeAnswer(asked, answer, { maxBytes: 65_535 });
  },
};

const resolvConf: Target = {
  name: 'resolv-conf',
  seeds: texts(
    'nameserver 192.0.2.1\nsearch example.com\noptions ndots:5\n',
    'nameserver fe80::1%eth0\n# none\n',
  ),
  words: ['nameserver ', '\n', '#', '%', '10.96.0.10'],
  refuses: never,
  run(input) {
    const servers = upstreamsOf(input.toString(), range, ['192.0.2.7']);
    holds(servers.length <= 3, 'no more than three servers are asked');
    holds(!servers.includes('10.96.0.10') && !servers.includes('192.0.2.7'), 'nobody asks itself');
  },
};

export const dnsTargets: readonly Target[] = [dnsQueries, dnsAnswers, resolvConf];
