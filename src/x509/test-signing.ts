/** Signs certificate requests as an authority of tests. */
import { createPrivateKey, sign } from 'node:crypto';
import { generateKeyPem } from './certificate.js';
import {
  bitString,
  type Der,
  explicit,
  integer,
  oid,
  pem,
  sequence,
  setOf,
  smallInteger,
  time,
  utf8String,
} from './der.js';

const authorityKey = generateKeyPem();
const algorithm = sequence(oid('1.2.840.10045.4.3.2'));

/** A certificate in PEM for a PKCS#10 request. */
export function signRequestDer(request: Der, notBeforeMs: number, lifeMs: number): string {
  const [info = request] = members(request);
  const [, subject = info, publicKey = info, attributes = info] = members(info);
  const [attribute] = members(attributes);
  const [, values] = attribute === undefined ? [] : members(attribute);
  const extensions = values === undefined ? [] : [explicit(3, members(values)[0] ?? values)];
  const issuer = sequence(setOf(sequence(oid('2.5.4.3'), utf8String('test-ca'))));
  const body = sequence(
    explicit(0, smallInteger(2)),
    integer(Buffer.from([7])),
    algorithm,
    issuer,
    sequence(time(notBeforeMs), time(notBeforeMs + lifeMs)),
    subject,
    publicKey,
    ...extensions,
  );
  const signature = sign('sha256', body, createPrivateKey(authorityKey));
  return pem('CERTIFICATE', sequence(body, algorithm, bitString(signature)));
}

/** The values inside a value. */
export function members(value: Der): Der[] {
  const found: Der[] = [];
  for (let at = headLength(value, 0); at < value.length; ) {
    const end = at + headLength(value, at) + contentLength(value, at);
    found.push(value.subarray(at, end));
    at = end;
  }
  return found;
}

function headLength(der: Der, at: number): number {
  const first = der.readUInt8(at + 1);
  return first < 0x80 ? 2 : 2 + (first - 0x80);
}

function contentLength(der: Der, at: number): number {
  const first = der.readUInt8(at + 1);
  return first < 0x80 ? first : der.readUIntBE(at + 2, first - 0x80);
}
