/** A certificate with its private key and validity. The key is secret: it goes only into files. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type CertificateSubject, pairProblem, type SubjectAltNames } from '../../kube-client/index.js';
import { pemBlocks } from '../../x509/pem.js';

export interface CertificatePair {
  /** The chain, leaf certificate first. */
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Parses a pair; throws if certificate and key do not match. */
export function certificatePair(certificatePem: string, keyPem: string): CertificatePair {
  const problem = pairProblem({ certificatePem, keyPem });
  if (problem !== undefined) throw new Error(`the certificate and its key cannot be used: ${problem}`);
  const { validFrom, validTo } = new X509Certificate(certificatePem);
  return { certificatePem, keyPem, notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) };
}

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----\n?/g;

/** Splits a file with both certificates and key. */
export function splitPem(text: string): { readonly certificatePem: string; readonly keyPem: string } {
  const blocks = [...text.matchAll(block)];
  const pick = (isWanted: (label: string) => boolean): string =>
    blocks
      .filter(([, label = '']) => isWanted(label))
      .map(([whole]) => (whole.endsWith('\n') ? whole : `${whole}\n`))
      .join('');
  return {
    certificatePem: pick((label) => label === 'CERTIFICATE'),
    keyPem: pick((label) => label.endsWith('PRIVATE KEY')),
  };
}

/** Every certificate of a chain. */
export function chainOf(pem: string): X509Certificate[] {
  return pemBlocks(pem, 'CERTIFICATE').map(({ whole }) => new X509Certificate(whole));
}

/** A crash may have truncated a key. */
export function isPrivateKey(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}

export function isRsaKey(keyPem: string): boolean {
  return createPrivateKey(keyPem).asymmetricKeyType === 'rsa';
}

/** The contents of a certificate request. */
export interface CertificateTemplate {
  readonly subject: CertificateSubject;
  readonly names?: SubjectAltNames;
}

/** Whether a certificate has this subject and all these names; extra names do no harm. */
export function satisfies(
  { certificatePem }: CertificatePair,
  { subject, names = {} }: CertificateTemplate,
): boolean {
  const certificate = new X509Certificate(certificatePem);
  const parts = certificate.subject.split('\n');
  if (!parts.includes(`CN=${subject.commonName}`)) return false;
  if (!(subject.organizations ?? []).every((organization) => parts.includes(`O=${organization}`)))
    return false;
  return (
    (names.dnsNames ?? []).every((name) => certificate.checkHost(name, { subject: 'never' }) !== undefined) &&
    (names.ipAddresses ?? []).every((ip) => certificate.checkIP(ip) !== undefined)
  );
}
