import { describe, expect, it } from 'vitest';
import { addressRecordsOf, decodeAnswer, decodeQuery, truncated } from './decode.js';
import { addressBytes, encodeAnswer, encodeQuery, encodeRefusal } from './encode.js';
import {
  type DnsAnswer,
  DnsFormatError,
  type DnsQuery,
  type DnsRecord,
  nameOf,
  recordType,
} from './message.js';
import { MessageReader } from './message-reader.js';
import { isWritableName, NameWriter, readName } from './names.js';

const question = { name: nameOf('web.shop.svc.cluster.local'), type: recordType.A, class: 1 };
const query: DnsQuery = { id: 0x1234, recursionDesired: true, checkingDisabled: false, question };
const answer = (answers: readonly DnsRecord[], rest: Partial<DnsAnswer> = {}): DnsAnswer => ({
  code: 0,
  isAuthoritative: true,
  answers,
  authority: [],
  additional: [],
  ...rest,
});
const a = (address: string): DnsRecord => ({
  name: question.name,
  ttlSeconds: 5,
  data: { type: 'A', address },
});

let seed = 11;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed % below;
}
const randomName = (): string[] =>
  Array.from({ length: random(5) }, () =>
    Array.from({ length: 1 + random(9) }, () => 'abcXYZ019-_'[random(11)]).join(''),
  );

describe('names', () => {
  it('what is written is read again, compressed or not', () => {
    for (let round = 0; round < 500; round++) {
      const writer = new NameWriter();
      const names = Array.from({ length: 1 + random(6) }, randomName).flatMap((name) => [
        name,
        ['x', ...name],
      ]);
      let packet = Buffer.alloc(12);
      const places = names.map((name) => {
        const at = packet.length;
        packet = Buffer.concat([packet, writer.write(name, at)]);
        return { at, end: packet.length };
      });
      for (const [index, { at, end }] of places.entries()) {
        const read = readName(packet, at);
        expect(read.end).toBe(end);
        expect(read.name.join('.').toLowerCase()).toBe(names[index]!.join('.').toLowerCase());
      }
    }
  });

  it.each([
    ['a pointer to itself', [0xc0, 0x00]],
    ['a pointer forward', [0xc0, 0x02, 0x01, 0x61, 0x00]],
    ['a pointer that is cut off', [0xc0]],
    ['a label that is cut off', [0x05, 0x61]],
    ['no end', [0x01, 0x61]],
    ['a label of an unknown type', [0x41, 0x61, 0x00]],
    ['nothing', []],
  ])('%s is refused', (_, bytes) => {
    expect(() => readName(Buffer.from(bytes), 0)).toThrow(DnsFormatError);
  });

  it('a chain of pointers is followed back only, and a name of more than 255 bytes is refused', () => {
    const label = Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 97)]);
    const long = Buffer.concat([label, label, label, label, Buffer.from([0])]);
    expect(() => readName(long, 0)).toThrow('255');
    expect(readName(Buffer.concat([label, label, label, Buffer.from([0])]), 0).name).toHaveLength(3);
    // Each pointer adds a label to what it points to, a thousand times.
    const parts = [Buffer.from([1, 97, 0])];
    for (let at = 0, size = 3; size < 4000; size += 4) {
      parts.push(Buffer.from([1, 98, 0xc0 | (at >> 8), at & 255]));
      at = size;
    }
    const chain = Buffer.concat(parts);
    expect(() => readName(chain, chain.length - 4)).toThrow('255');
  });

  it.each<[string, string[], boolean]>([
    ['plain', ['a', 'b'], true],
    ['the root', [], true],
    ['an empty label', ['a', ''], false],
    ['a label of 63', ['a'.repeat(63)], true],
    ['a label of 64', ['a'.repeat(64)], false],
    ['255 bytes', Array<string>(127).fill('a'), true],
    ['257 bytes', Array<string>(128).fill('a'), false],
  ])('%s can be written: %#', (_, name, fits) => {
    expect(isWritableName(name)).toBe(fits);
  });
});

describe('queries', () => {
  it.each<[string, Partial<DnsQuery>]>([
    ['a plain one', {}],
    ['one without recursion', { recursionDesired: false }],
    ['one with checks off', { checkingDisabled: true }],
    ['one with EDNS', { edns: { udpBytes: 1232, version: 0, dnssecOk: true } }],
    ['one for the root', { question: { ...question, name: [] } }],
  ])('%s is read as it was written', (_, part) => {
    const asked = { ...query, ...part };
    expect(decodeQuery(encodeQuery(asked.id, asked.question, asked))).toEqual({
      kind: 'query',
      query: asked,
    });
  });

  const plain = encodeQuery(7, question, query);
  const changed = (at: number, value: number): Buffer => {
    const packet = Buffer.from(plain);
    packet.writeUInt16BE(value, at);
    return packet;
  };
  it.each<[string, Buffer, unknown]>([
    ['eleven bytes', plain.subarray(0, 11), { kind: 'ignore' }],
    ['an answer', changed(2, 0x8180), { kind: 'ignore' }],
    ['another operation', changed(2, 0x2800), { kind: 'refuse', id: 7, code: 'not-implemented' }],
    ['no question', changed(4, 0), { kind: 'refuse', id: 7, code: 'format' }],
    ['two questions', changed(4, 2), { kind: 'refuse', id: 7, code: 'format' }],
    ['records that are not there', changed(10, 1), { kind: 'refuse', id: 7, code: 'format' }],
    ['thousands of records', changed(10, 60_000), { kind: 'refuse', id: 7, code: 'format' }],
    [
      'a question that is cut off',
      plain.subarray(0, plain.length - 1),
      { kind: 'refuse', id: 7, code: 'format' },
    ],
  ])('%s', (_, packet, expected) => {
    expect(decodeQuery(packet)).toEqual(expected);
  });

  it('two OPT records are refused', () => {
    const edns = encodeQuery(7, question, { ...query, edns: { udpBytes: 1, version: 0, dnssecOk: false } });
    const twice = Buffer.concat([edns, edns.subarray(edns.length - 11)]);
    twice.writeUInt16BE(2, 10);
    expect(decodeQuery(twice)).toEqual({ kind: 'refuse', id: 7, code: 'format' });
  });

  it('no bytes make it fail otherwise', () => {
    const base = encodeQuery(7, question, {
      ...query,
      edns: { udpBytes: 4096, version: 0, dnssecOk: false },
    });
    for (let round = 0; round < 3000; round++) {
      const packet = Buffer.from(base.subarray(0, random(base.length + 1)));
      for (let count = random(4); count > 0 && packet.length > 0; count--)
        packet[random(packet.length)] = random(256);
      expect(['query', 'refuse', 'ignore']).toContain(decodeQuery(packet).kind);
      try {
        addressRecordsOf(packet);
      } catch (error) {
        expect(error).toBeInstanceOf(DnsFormatError);
      }
    }
  });
});

describe('answers', () => {
  it('are read as they were written, with compressed names', () => {
    const records = ['10.1.0.1', '10.1.0.2', '10.1.0.3'].map(a);
    const packet = encodeAnswer(query, answer(records), { maxBytes: 512 });
    expect(addressRecordsOf(packet)).toEqual({ code: 0, records });
    expect(packet.length).toBe(12 + 28 + 4 + 3 * (2 + 10 + 4));
    expect(decodeAnswer(packet)).toMatchObject({ id: 0x1234, code: 0, isTruncated: false, ttlSeconds: 5 });
    expect(packet.readUInt16BE(2)).toBe(0x8580);
  });

  it('hold all kinds of records', () => {
    const name = question.name;
    const kinds: DnsRecord['data'][] = [
      { type: 'AAAA', address: 'fd00::1' },
      { type: 'CNAME', target: nameOf('example.com') },
      { type: 'PTR', target: name },
      { type: 'NS', target: name },
      { type: 'SRV', priority: 0, weight: 100, port: 80, target: name },
      { type: 'TXT', text: '1.1.0' },
      { type: 'SOA', primary: name, mailbox: name, serial: 1, negativeSeconds: 5 },
    ];
    const packet = encodeAnswer(query, answer(kinds.map((data) => ({ name, ttlSeconds: 5, data }))), {
      maxBytes: 4096,
    });
    expect(decodeAnswer(packet).ttlPlaces).toHaveLength(kinds.length);
    expect(addressRecordsOf(packet).records.map(({ data }) => data)).toEqual([
      { type: 'AAAA', address: 'fd00:0:0:0:0:0:0:1' },
      { type: 'CNAME', target: ['example', 'com'] },
    ]);
  });

  it('are cut to what the client takes, whole sets of records only, and say so', () => {
    const many = Array.from({ length: 100 }, (_, index) => a(`10.1.0.${index}`));
    const cut = encodeAnswer(query, answer(many), { maxBytes: 512 });
    expect(cut.length).toBeLessThanOrEqual(512);
    expect(decodeAnswer(cut)).toMatchObject({ isTruncated: true, ttlPlaces: [] });
    const withEdns = { ...query, edns: { udpBytes: 1232, version: 0, dnssecOk: false } };
    const exact = encodeAnswer(withEdns, answer(many.slice(0, 70)), { maxBytes: 44 + 70 * 16 + 11 });
    expect(decodeAnswer(exact).isTruncated).toBe(false);
    const short = encodeAnswer(withEdns, answer(many.slice(0, 70)), { maxBytes: 44 + 70 * 16 + 10 });
    expect(decodeAnswer(short).isTruncated).toBe(true);
    const courtesy = encodeAnswer(query, answer(many.slice(0, 20), { additional: many }), { maxBytes: 512 });
    expect(decodeAnswer(courtesy)).toMatchObject({ isTruncated: false });
    expect(decodeAnswer(courtesy).ttlPlaces).toHaveLength(20);
  });

  it('tell how long a name that does not exist may be remembered', () => {
    const soa: DnsRecord = {
      name: nameOf('cluster.local'),
      ttlSeconds: 60,
      data: { type: 'SOA', primary: ['ns'], mailbox: ['m'], serial: 1, negativeSeconds: 7 },
    };
    const packet = encodeAnswer(query, answer([], { code: 3, authority: [soa] }), { maxBytes: 512 });
    expect(decodeAnswer(packet)).toMatchObject({ code: 3, ttlSeconds: 7 });
  });

  it('lose their records when a client takes less', () => {
    const packet = encodeAnswer(query, answer([a('10.1.0.1')]), { maxBytes: 512 });
    expect(decodeAnswer(truncated(packet))).toMatchObject({ id: 0x1234, isTruncated: true, ttlPlaces: [] });
    expect(encodeRefusal(9, 'formatError').readUInt16BE(2)).toBe(0x8001);
  });

  it.each([
    ['10.1.0.7', '0a010007'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['fd00::', 'fd000000000000000000000000000000'],
    ['fd00:1:2::a:b', 'fd0000010002000000000000000a000b'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['::ffff:10.1.0.7', '00000000000000000000ffff0a010007'],
  ])('the bytes of %s', (address, hex) => {
    expect(addressBytes(address).toString('hex')).toBe(hex);
  });
});

describe('messages of a connection', () => {
  it('come whole, in whatever pieces', () => {
    const bytes = Buffer.from([0, 1, 7, 0, 0, 0, 2, 8, 9]);
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new MessageReader(10);
      const got: number[][] = [];
      for (let at = 0; at < bytes.length; at += size)
        got.push(...reader.read(bytes.subarray(at, at + size)).map((each) => [...each]));
      expect(got).toEqual([[7], [], [8, 9]]);
    }
  });

  it('are bounded', () => {
    expect(() => new MessageReader(10).read(Buffer.from([0, 11]))).toThrow(DnsFormatError);
  });
});
