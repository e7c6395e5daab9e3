/** Reads what clients ask, and of servers' answers what forwarding needs. */
import {
  DnsFormatError,
  type DnsQuery,
  type DnsQuestion,
  type DnsRecord,
  nameKey,
  type RecordData,
  recordType,
} from './message.js';
import { readName, skipName } from './names.js';

export const headerBytes = 12;
/** More than any query has; a message of 64 KiB could name thousands. */
const mostQueryRecords = 8;
/** A record takes at least 11 bytes, so a message of 64 KiB has less than this. */
const mostAnswerRecords = 6000;
const longestTtlSeconds = 86_400;

/** A message that is no query is not answered, so that two servers never talk to each other without end. */
export type DecodedQuery =
  | { readonly kind: 'query'; readonly query: DnsQuery }
  | {
      readonly kind: 'refuse';
      readonly id: number;
      readonly code: 'format' | 'not-implemented';
      readonly question?: DnsQuestion;
    }
  | { readonly kind: 'ignore' };

export function decodeQuery(packet: Buffer): DecodedQuery {
  if (packet.length < headerBytes) return { kind: 'ignore' };
  const id = packet.readUInt16BE(0);
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return { kind: 'ignore' };
  if ((flags & 0x7800) !== 0) return { kind: 'refuse', id, code: 'not-implemented' };
  try {
    return { kind: 'query', query: readQuery(packet, id, flags) };
  } catch (error) {
    if (error instanceof DnsFormatError) return { kind: 'refuse', id, code: 'format' };
    throw error;
  }
}

function readQuery(packet: Buffer, id: number, flags: number): DnsQuery {
  const [questions, answers, authority, additional] = counts(packet);
  if (questions !== 1) throw new DnsFormatError('a query asks exactly one question');
  if (answers + authority + additional > mostQueryRecords)
    throw new DnsFormatError('a query has too many records');
  const { question, end } = readQuestion(packet, headerBytes);
  let edns: DnsQuery['edns'];
  let at = end;
  for (let index = 0; index < answers + authority + additional; index++) {
    const record = readRecord(packet, at);
    at = record.end;
    if (record.type !== recordType.OPT || index < answers + authority) continue;
    if (edns !== undefined || packet[record.start] !== 0)
      throw new DnsFormatError('a query has a wrong OPT record');
    edns = {
      udpBytes: record.class,
      version: (record.ttl >>> 16) & 0xff,
      dnssecOk: (record.ttl & 0x8000) !== 0,
    };
  }
  return {
    id,
    recursionDesired: (flags & 0x0100) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    question,
    ...(edns === undefined ? {} : { edns }),
  };
}

function counts(packet: Buffer): [number, number, number, number] {
  return [packet.readUInt16BE(4), packet.readUInt16BE(6), packet.readUInt16BE(8), packet.readUInt16BE(10)];
}

function readQuestion(packet: Buffer, at: number): { question: DnsQuestion; end: number } {
  const { name, end } = readName(packet, at);
  if (end + 4 > packet.length) throw new DnsFormatError('the question is cut off');
  return {
    question: { name, type: packet.readUInt16BE(end), class: packet.readUInt16BE(end + 2) },
    end: end + 4,
  };
}

interface WireRecord {
  readonly start: number;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly ttlAt: number;
  readonly dataAt: number;
  readonly end: number;
}

function readRecord(packet: Buffer, at: number): WireRecord {
  const fixed = skipName(packet, at);
  if (fixed + 10 > packet.length) throw new DnsFormatError('a record is cut off');
  const dataAt = fixed + 10;
  const end = dataAt + packet.readUInt16BE(fixed + 8);
  if (end > packet.length) throw new DnsFormatError('the data of a record is cut off');
  return {
    start: at,
    type: packet.readUInt16BE(fixed),
    class: packet.readUInt16BE(fixed + 2),
    ttl: packet.readUInt32BE(fixed + 4),
    ttlAt: fixed + 4,
    dataAt,
    end,
  };
}

/** What forwarding needs of a server's answer; its bytes go to the client as they are. */
export interface ForwardedAnswer {
  readonly id: number;
  readonly code: number;
  readonly isTruncated: boolean;
  readonly question: DnsQuestion;
  /** How long the answer may be kept; 0: not at all. */
  readonly ttlSeconds: number;
  /** Where the TTLs stand in the message, to be lowered while it is kept. */
  readonly ttlPlaces: readonly number[];
}

/** Throws `DnsFormatError` when the packet is no answer to one question. */
export function decodeAnswer(packet: Buffer): ForwardedAnswer {
  if (packet.length < headerBytes) throw new DnsFormatError('the answer is shorter than its header');
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) === 0) throw new DnsFormatError('the answer is a query');
  const [questions, answers, authority, additional] = counts(packet);
  if (questions !== 1) throw new DnsFormatError('the answer is to no question');
  if (answers + authority + additional > mostAnswerRecords)
    throw new DnsFormatError('the answer has too many records');
  const { question, end } = readQuestion(packet, headerBytes);
  const ttlPlaces: number[] = [];
  let ttlSeconds = Number.POSITIVE_INFINITY;
  let at = end;
  for (let index = 0; index < answers + authority + additional; index++) {
    const record = readRecord(packet, at);
    at = record.end;
    // The TTL of OPT is none.
    if (record.type === recordType.OPT) continue;
    ttlPlaces.push(record.ttlAt);
    ttlSeconds = Math.min(ttlSeconds, record.ttl > 0x7fffffff ? 0 : record.ttl);
    if (answers === 0 && record.type === recordType.SOA && record.end - record.dataAt >= 22)
      ttlSeconds = Math.min(ttlSeconds, packet.readUInt32BE(record.end - 4));
  }
  return {
    id: packet.readUInt16BE(0),
    code: flags & 0xf,
    isTruncated: (flags & 0x0200) !== 0,
    question,
    ttlSeconds: Number.isFinite(ttlSeconds) ? ttlSeconds : 0,
    ttlPlaces,
  };
}

export function isSameQuestion(a: DnsQuestion, b: DnsQuestion): boolean {
  return a.type === b.type && a.class === b.class && nameKey(a.name) === nameKey(b.name);
}

/** The code of an answer and its addresses with the names that lead to them. */
export function addressRecordsOf(packet: Buffer): {
  readonly code: number;
  readonly records: readonly DnsRecord[];
} {
  const { code } = decodeAnswer(packet);
  const [, answers] = counts(packet);
  const records: DnsRecord[] = [];
  let at = readQuestion(packet, headerBytes).end;
  for (let index = 0; index < answers; index++) {
    const { type, ttl, dataAt, end } = readRecord(packet, at);
    const { name } = readName(packet, at);
    at = end;
    const data = addressData(packet, type, dataAt, end);
    if (data !== undefined) records.push({ name, ttlSeconds: Math.min(ttl, longestTtlSeconds), data });
  }
  return { code, records };
}

function addressData(packet: Buffer, type: number, at: number, end: number): RecordData | undefined {
  const bytes = packet.subarray(at, end);
  if (type === recordType.A && bytes.length === 4) return { type: 'A', address: bytes.join('.') };
  if (type === recordType.AAAA && bytes.length === 16) {
    const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
    return { type: 'AAAA', address: groups.join(':') };
  }
  return type === recordType.CNAME ? { type: 'CNAME', target: readName(packet, at).name } : undefined;
}

/** An answer without its records, for a client that takes fewer bytes: it asks again by TCP. */
export function truncated(packet: Buffer): Buffer {
  const { end } = readQuestion(packet, headerBytes);
  const head = Buffer.from(packet.subarray(0, end));
  head.writeUInt16BE(head.readUInt16BE(2) | 0x0200, 2);
  head.fill(0, 6, headerBytes);
  return head;
}
