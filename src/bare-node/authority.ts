/** The certificate authority of a bare node, and what it signs: the API's certificate and its owner's. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import path from 'node:path';
import type { Clock } from '../async/index.js';
import type { DurableFiles } from '../host/index.js';
import { generateKeyPem, makeCertificate, type SubjectAltNames } from '../x509/certificate.js';

export interface NodeAuthority {
  readonly caPem: string;
  /** The file of the authority's certificate, for those who verify clients by it. */
  readonly caFile: string;
  readonly serving: KeyPair;
  readonly owner: KeyPair;
  /** Signs the tokens of service accounts. */
  readonly tokenKeyPem: string;
}

export interface KeyPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface AuthorityOptions {
  readonly dir: string;
  readonly files: DurableFiles;
  readonly clock: Clock;
  /** The names and addresses that the API is reached by. */
  readonly names: Required<SubjectAltNames>;
  readonly ownersGroup: string;
}

const dayMs = 24 * 3600 * 1000;
const caLifeMs = 3650 * dayMs;
const leafLifeMs = 365 * dayMs;
/** A certificate with less left than this is made anew at a start. */
const leftMs = 30 * dayMs;
/** For clocks that are a little behind. */
const skewMs = 3600 * 1000;
const caSubject = { commonName: 'nodelet' };

/** Reads what an earlier start made, and makes what is missing, unreadable, about to end or for other names. */
export async function openAuthority(options: AuthorityOptions): Promise<NodeAuthority> {
  const { dir, clock, names, ownersGroup } = options;
  const nowMs = clock.now();
  const ca = await storedPair(
    options,
    'ca',
    (pair) => isValid(pair, nowMs),
    () => {
      const keyPem = generateKeyPem();
      const certificatePem = makeCertificate({
        subject: caSubject,
        keyPem,
        notBeforeMs: nowMs - skewMs,
        notAfterMs: nowMs + caLifeMs,
        isAuthority: true,
      });
      return { certificatePem, keyPem };
    },
  );
  const issuer = { subject: caSubject, keyPem: ca.keyPem };
  const validity = { notBeforeMs: nowMs - skewMs, notAfterMs: nowMs + leafLifeMs };
  const isOfCa = (pair: KeyPair): boolean =>
    isValid(pair, nowMs) &&
    new X509Certificate(pair.certificatePem).verify(new X509Certificate(ca.certificatePem).publicKey);
  const serving = await storedPair(
    options,
    'apiserver',
    (pair) => isOfCa(pair) && hasNames(pair, names),
    () => {
      const keyPem = generateKeyPem();
      const subject = { commonName: 'kube-apiserver' };
      return {
        keyPem,
        certificatePem: makeCertificate({
          subject,
          keyPem,
          issuer,
          ...validity,
          usages: ['serverAuth'],
          names,
        }),
      };
    },
  );
  const owner = await storedPair(options, 'owner', isOfCa, () => {
    const keyPem = generateKeyPem();
    const subject = { commonName: 'nodelet-owner', organizations: [ownersGroup] };
    return {
      keyPem,
      certificatePem: makeCertificate({ subject, keyPem, issuer, ...validity, usages: ['clientAuth'] }),
    };
  });
  const tokenKeyPem = await storedKey(options, 'service-accounts.key');
  return { caPem: ca.certificatePem, caFile: path.join(dir, 'ca.crt'), serving, owner, tokenKeyPem };
}

const keyMode = { mode: 0o600 } as const;

async function storedPair(
  { dir, files }: AuthorityOptions,
  name: string,
  isUsable: (pair: KeyPair) => boolean,
  make: () => KeyPair,
): Promise<KeyPair> {
  const certificateFile = path.join(dir, `${name}.crt`);
  const keyFile = path.join(dir, `${name}.key`);
  const certificate = await files.read(certificateFile, asPem);
  const key = await files.read(keyFile, asPem);
  if (certificate.kind === 'found' && key.kind === 'found') {
    const known = { certificatePem: certificate.value, keyPem: key.value };
    if (matches(known) && isUsable(known)) return known;
  }
  const made = make();
  await files.write(keyFile, made.keyPem, keyMode);
  await files.write(certificateFile, made.certificatePem);
  return made;
}

async function storedKey({ dir, files }: AuthorityOptions, name: string): Promise<string> {
  const file = path.join(dir, name);
  const known = await files.read(file, asPem);
  if (known.kind === 'found') return known.value;
  const made = generateKeyPem();
  await files.write(file, made, keyMode);
  return made;
}

/** Throws on what is no PEM, so that the file is set aside. */
function asPem(text: string): string {
  if (!text.includes('-----BEGIN ')) throw new Error('it is not PEM');
  return text;
}

function isValid({ certificatePem }: KeyPair, nowMs: number): boolean {
  const { validTo } = new X509Certificate(certificatePem);
  return Date.parse(validTo) - nowMs > leftMs;
}

function matches({ certificatePem, keyPem }: KeyPair): boolean {
  try {
    return new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    // Neither is readable: both are made anew.
    return false;
  }
}

function hasNames(
  { certificatePem }: KeyPair,
  { dnsNames, ipAddresses }: Required<SubjectAltNames>,
): boolean {
  const certificate = new X509Certificate(certificatePem);
  return (
    dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
