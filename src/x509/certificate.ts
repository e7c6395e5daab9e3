/** Makes keys, certificates and certificate requests: those a node asks to be signed, and those it signs itself. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';
import {
  bitString,
  boolean,
  type Der,
  explicit,
  implicit,
  integer,
  nullValue,
  octetString,
  oid,
  pem,
  sequence,
  setOf,
  smallInteger,
  time,
  utf8String,
} from './der.js';

export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface SubjectAltNames {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export type ExtendedUsage = 'serverAuth' | 'clientAuth';

/** A new private key in PEM (PKCS#8). */
export function generateKeyPem(kind: 'ecdsa-p256' | 'rsa-2048' = 'ecdsa-p256'): string {
  const { privateKey } =
    kind === 'ecdsa-p256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export interface CertificateOptions {
  readonly subject: CertificateSubject;
  /** The key that the certificate is for. */
  readonly keyPem: string;
  /** Omitted for a self-signed certificate. */
  readonly issuer?: { readonly subject: CertificateSubject; readonly keyPem: string };
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isAuthority?: boolean;
  /** Maximum number of intermediate authorities below this one; omitted for no limit. */
  readonly pathLength?: number;
  /** Names excluded for everything below this authority. */
  readonly excludedDnsNames?: readonly string[];
  readonly usages?: readonly ExtendedUsage[];
  readonly names?: SubjectAltNames;
}

/** A certificate in PEM. */
export function makeCertificate(options: CertificateOptions): string {
  const key = createPrivateKey(options.keyPem);
  const issuer = options.issuer ?? { subject: options.subject, keyPem: options.keyPem };
  const issuerKey = createPrivateKey(issuer.keyPem);
  // Positive, and short enough for every parser.
  const serial = randomBytes(16);
  serial[0] = (serial.readUInt8(0) & 0x7f) | 0x40;
  const body = sequence(
    explicit(0, smallInteger(2)),
    integer(serial),
    signatureAlgorithm(issuerKey),
    nameOf(issuer.subject),
    sequence(time(options.notBeforeMs), time(options.notAfterMs)),
    nameOf(options.subject),
    publicKeyOf(key),
    explicit(3, sequence(...certificateExtensions(options, key))),
  );
  return pem('CERTIFICATE', signed(body, issuerKey));
}

export interface CertificateRequestOptions {
  readonly subject: CertificateSubject;
  readonly keyPem: string;
  readonly names?: SubjectAltNames;
}

/** A PKCS#10 request in PEM. */
export function makeCertificateRequest({ subject, keyPem, names }: CertificateRequestOptions): string {
  const key = createPrivateKey(keyPem);
  const wanted = names === undefined ? undefined : altNames(names);
  const attributes =
    wanted === undefined
      ? Buffer.alloc(0)
      : sequence(oid('1.2.840.113549.1.9.14'), setOf(sequence(extension('2.5.29.17', false, wanted))));
  const body = sequence(smallInteger(0), nameOf(subject), publicKeyOf(key), explicit(0, attributes));
  return pem('CERTIFICATE REQUEST', signed(body, key));
}

/** A PKCS#10 request without a subject: it only proves that its maker has the key. */
export function makeStubRequest(key: KeyObject): Der {
  return signed(sequence(smallInteger(0), sequence(), publicKeyOf(key), explicit(0, Buffer.alloc(0))), key);
}

function signed(body: Der, key: KeyObject): Der {
  return sequence(body, signatureAlgorithm(key), bitString(sign(digestOf(key), body, key)));
}

function signatureAlgorithm(key: KeyObject): Der {
  if (key.asymmetricKeyType === 'rsa') return sequence(oid('1.2.840.113549.1.1.11'), nullValue());
  if (key.asymmetricKeyType === 'ed25519') return sequence(oid('1.3.101.112'));
  const ecdsa = {
    sha256: '1.2.840.10045.4.3.2',
    sha384: '1.2.840.10045.4.3.3',
    sha512: '1.2.840.10045.4.3.4',
  };
  return sequence(oid(ecdsa[digestOf(key) ?? 'sha256']));
}

/** As long as the curve; Ed25519 has a digest of its own. */
function digestOf(key: KeyObject): 'sha256' | 'sha384' | 'sha512' | undefined {
  if (key.asymmetricKeyType === 'ed25519') return undefined;
  switch (key.asymmetricKeyDetails?.namedCurve) {
    case 'secp384r1':
      return 'sha384';
    case 'secp521r1':
      return 'sha512';
    default:
      return 'sha256';
  }
}

function publicKeyOf(key: KeyObject): Der {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

function nameOf({ commonName, organizations = [] }: CertificateSubject): Der {
  const part = (type: string, value: string): Der => setOf(sequence(oid(type), utf8String(value)));
  return sequence(
    ...organizations.map((organization) => part('2.5.4.10', organization)),
    part('2.5.4.3', commonName),
  );
}

function extension(type: string, critical: boolean, value: Der): Der {
  return sequence(oid(type), ...(critical ? [boolean(true)] : []), octetString(value));
}

function certificateExtensions(options: CertificateOptions, key: KeyObject): Der[] {
  const { isAuthority = false, pathLength, excludedDnsNames = [], usages = [], names } = options;
  const ofAuthority = isAuthority
    ? [boolean(true), ...(pathLength === undefined ? [] : [smallInteger(pathLength)])]
    : [];
  const found = [
    extension('2.5.29.19', true, sequence(...ofAuthority)),
    extension('2.5.29.15', true, keyUsage(isAuthority, key)),
  ];
  if (excludedDnsNames.length > 0) {
    const subtrees = excludedDnsNames.map((name) => sequence(implicit(2, Buffer.from(name, 'latin1'))));
    // `[1]` replaces the sequence tag of the excluded subtrees.
    found.push(extension('2.5.29.30', true, sequence(explicit(1, Buffer.concat(subtrees)))));
  }
  if (usages.length > 0) {
    found.push(extension('2.5.29.37', false, sequence(...usages.map((usage) => oid(extendedUsages[usage])))));
  }
  const wanted = names === undefined ? undefined : altNames(names);
  if (wanted !== undefined) found.push(extension('2.5.29.17', false, wanted));
  return found;
}

const extendedUsages: Readonly<Record<ExtendedUsage, string>> = {
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
};

/** Bit 0: digital signature; bit 2: key encipherment (RSA only); bit 5: certificate signing. */
function keyUsage(isAuthority: boolean, key: KeyObject): Der {
  const bits = 0x80 | (key.asymmetricKeyType === 'rsa' ? 0x20 : 0) | (isAuthority ? 0x04 : 0);
  let unusedBits = 0;
  while (((bits >> unusedBits) & 1) === 0) unusedBits++;
  return bitString(Buffer.from([bits]), unusedBits);
}

/** Undefined when there are none: an empty extension is not allowed. */
function altNames({ dnsNames = [], ipAddresses = [] }: SubjectAltNames): Der | undefined {
  const members = [
    ...dnsNames.map((name) => implicit(2, Buffer.from(name, 'latin1'))),
    ...ipAddresses.map((address) => implicit(7, ipBytes(address))),
  ];
  return members.length === 0 ? undefined : sequence(...members);
}

function ipBytes(address: string): Buffer {
  const family = isIP(address);
  if (family === 0) throw new TypeError(`${JSON.stringify(address)} is not an IP address`);
  if (family === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = withoutDottedEnd(address).split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [front, back] = [groups(head), tail === undefined ? [] : groups(tail)];
  const all = [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** Rewrites the dotted end of `::ffff:10.0.0.1` as two groups. */
function withoutDottedEnd(address: string): string {
  const [whole, a, b, c, d] = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address.replace(/%.*$/, '')) ?? [];
  if (whole === undefined) return address.replace(/%.*$/, '');
  const group = (high: string | undefined, low: string | undefined): string =>
    (Number(high) * 256 + Number(low)).toString(16);
  return `${address.slice(0, -whole.length)}${group(a, b)}:${group(c, d)}`;
}
