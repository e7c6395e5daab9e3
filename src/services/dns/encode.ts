/** Writes answers, with compressed names, and cuts them to what the client takes. */
import { isIPv4 } from 'node:net';
import { headerBytes } from './decode.js';
import {
  classIn,
  type DnsAnswer,
  type DnsQuery,
  type DnsQuestion,
  type DnsRecord,
  type RecordData,
  recordType,
  responseCode,
} from './message.js';
import { NameWriter } from './names.js';

export interface EncodeOptions {
  /** What does not fit is left out; the client then asks again by TCP. */
  readonly maxBytes: number;
}

const optBytes = 11;
const ownUdpBytes = 1232;

export function encodeAnswer(query: DnsQuery, answer: DnsAnswer, { maxBytes }: EncodeOptions): Buffer {
  const { question, edns } = query;
  const names = new NameWriter();
  const limit = maxBytes - (edns === undefined ? 0 : optBytes);
  const parts: Buffer[] = [Buffer.alloc(headerBytes)];
  let size = headerBytes;
  const push = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
  };
  push(encodeQuestion(question, names, size));
  /** Whether the records fit; a set of records is given whole or not at all. */
  const write = (records: readonly DnsRecord[]): boolean => {
    const start = size;
    const encoded: Buffer[] = [];
    let end = start;
    for (const record of records) {
      const part = encodeRecord(record, names, end);
      end += part.length;
      if (end > limit) {
        names.forgetFrom(start);
        return false;
      }
      encoded.push(part);
    }
    for (const part of encoded) push(part);
    return true;
  };
  const hasAnswers = write(answer.answers);
  const hasAuthority = hasAnswers && write(answer.authority);
  // Addresses of targets are a courtesy: leaving them out truncates nothing (RFC 2181, section 9).
  const hasAdditional = hasAuthority && write(answer.additional);
  const isTruncated = !hasAnswers || !hasAuthority;
  if (edns !== undefined) push(encodeOpt(answer.code, edns.dnssecOk));
  const packet = Buffer.concat(parts);
  packet.writeUInt16BE(query.id, 0);
  packet.writeUInt16BE(flagsOf(query, answer, isTruncated), 2);
  packet.writeUInt16BE(1, 4);
  packet.writeUInt16BE(hasAnswers ? answer.answers.length : 0, 6);
  packet.writeUInt16BE(hasAuthority ? answer.authority.length : 0, 8);
  packet.writeUInt16BE((hasAdditional ? answer.additional.length : 0) + (edns === undefined ? 0 : 1), 10);
  return packet;
}

function flagsOf(query: DnsQuery, { code, isAuthoritative }: DnsAnswer, isTruncated: boolean): number {
  return (
    0x8080 |
    (isAuthoritative ? 0x0400 : 0) |
    (isTruncated ? 0x0200 : 0) |
    (query.recursionDesired ? 0x0100 : 0) |
    (query.checkingDisabled ? 0x0010 : 0) |
    (code & 0xf)
  );
}

/** A header alone, for a packet whose question could not be read. */
export function encodeRefusal(id: number, code: keyof typeof responseCode): Buffer {
  const packet = Buffer.alloc(headerBytes);
  packet.writeUInt16BE(id, 0);
  packet.writeUInt16BE(0x8000 | responseCode[code], 2);
  return packet;
}

/** The question as a query to another server. */
export function encodeQuery(
  id: number,
  question: DnsQuestion,
  {
    recursionDesired,
    checkingDisabled,
    edns,
  }: Pick<DnsQuery, 'recursionDesired' | 'checkingDisabled' | 'edns'>,
): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE((recursionDesired ? 0x0100 : 0) | (checkingDisabled ? 0x0010 : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(edns === undefined ? 0 : 1, 10);
  const asked = encodeQuestion(question, new NameWriter(), headerBytes);
  return Buffer.concat([header, asked, ...(edns === undefined ? [] : [encodeOpt(0, edns.dnssecOk)])]);
}

function encodeQuestion({ name, type, class: of }: DnsQuestion, names: NameWriter, at: number): Buffer {
  return Buffer.concat([names.write(name, at), numbers([2, type], [2, of])]);
}

function encodeRecord({ name, ttlSeconds, data }: DnsRecord, names: NameWriter, at: number): Buffer {
  const owner = names.write(name, at);
  const fixed = numbers([2, recordType[data.type]], [2, classIn], [4, ttlSeconds]);
  const body = encodeData(data, names, at + owner.length + fixed.length + 2);
  return Buffer.concat([owner, fixed, numbers([2, body.length]), body]);
}

function encodeData(data: RecordData, names: NameWriter, at: number): Buffer {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return addressBytes(data.address);
    case 'CNAME':
    case 'PTR':
    case 'NS':
      return names.write(data.target, at);
    case 'SRV': {
      const { priority, weight, port, target } = data;
      // RFC 2782 forbids compression of the target.
      return Buffer.concat([
        numbers([2, priority], [2, weight], [2, port]),
        new NameWriter().write(target, 0),
      ]);
    }
    case 'TXT': {
      const text = Buffer.from(data.text, 'latin1').subarray(0, 255);
      return Buffer.concat([numbers([1, text.length]), text]);
    }
    case 'SOA': {
      const primary = names.write(data.primary, at);
      const mailbox = names.write(data.mailbox, at + primary.length);
      const { serial, negativeSeconds } = data;
      const times = numbers([4, serial], [4, 7200], [4, 1800], [4, 86_400], [4, negativeSeconds]);
      return Buffer.concat([primary, mailbox, times]);
    }
  }
}

/** Sixteen or four bytes; the address is one that the zone took from an object and checked. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = (text: string): number[] => (text === '' ? [] : text.split(':').flatMap(groupOf));
  const [front, back] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return numbers(
    ...[...front, ...Array<number>(zeros).fill(0), ...back]
      .slice(0, 8)
      .map((group): [2, number] => [2, group]),
  );
}

/** One group of an IPv6 address, or the two of an IPv4 address at its end. */
function groupOf(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

/** OPT: the size that this server takes, the upper bits of the code, and the client's wish for DNSSEC given back. */
function encodeOpt(code: number, dnssecOk: boolean): Buffer {
  return numbers(
    [1, 0],
    [2, recordType.OPT],
    [2, ownUdpBytes],
    [1, code >> 4],
    [1, 0],
    [2, dnssecOk ? 0x8000 : 0],
    [2, 0],
  );
}

function numbers(...values: readonly (readonly [1 | 2 | 4, number])[]): Buffer {
  const buffer = Buffer.alloc(values.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of values) at = buffer.writeUIntBE(value, at, bytes);
  return buffer;
}
