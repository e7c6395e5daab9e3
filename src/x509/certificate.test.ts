import { createPrivateKey, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateKeyPem, makeCertificate, makeCertificateRequest } from './certificate.js';

const day = 24 * 3600 * 1000;
const notBeforeMs = Date.UTC(2026, 0, 1);
const authority = { subject: { commonName: 'test-ca' }, keyPem: generateKeyPem() };
const authorityPem = makeCertificate({
  ...authority,
  notBeforeMs,
  notAfterMs: Date.UTC(2060, 0, 1),
  isAuthority: true,
});

describe('makeCertificate', () => {
  it.each(['ecdsa-p256', 'rsa-2048'] as const)('a %s certificate that OpenSSL reads and verifies', (kind) => {
    const keyPem = generateKeyPem(kind);
    const certificate = new X509Certificate(
      makeCertificate({
        subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] },
        keyPem,
        issuer: authority,
        notBeforeMs,
        notAfterMs: notBeforeMs + day,
        usages: ['clientAuth', 'serverAuth'],
        names: { dnsNames: ['n1', 'n1.test'], ipAddresses: ['10.0.0.1', 'fd00::1', '::ffff:10.0.0.2'] },
      }),
    );
    expect(certificate.verify(new X509Certificate(authorityPem).publicKey)).toBe(true);
    expect(certificate.checkIssued(new X509Certificate(authorityPem))).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:n1');
    expect(certificate.issuer).toBe('CN=test-ca');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.1']);
    expect([certificate.checkHost('n1.test'), certificate.checkIP('10.0.0.1')]).toEqual([
      'n1.test',
      '10.0.0.1',
    ]);
    expect(certificate.subjectAltName).toBe(
      'DNS:n1, DNS:n1.test, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1, IP Address:0:0:0:0:0:FFFF:A00:2',
    );
    expect(certificate.ca).toBe(false);
    expect(Date.parse(certificate.validFrom)).toBe(notBeforeMs);
    expect(Date.parse(certificate.validTo)).toBe(notBeforeMs + day);
  });
  it('an authority signs itself, even beyond 2050', () => {
    const certificate = new X509Certificate(authorityPem);
    expect([certificate.ca, certificate.verify(certificate.publicKey)]).toEqual([true, true]);
    expect(Date.parse(certificate.validTo)).toBe(Date.UTC(2060, 0, 1));
  });
});

it('a certificate request is signed by its own key and has the wanted names', () => {
  const keyPem = generateKeyPem();
  const request = makeCertificateRequest({
    subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] },
    keyPem,
    names: { dnsNames: ['n1'], ipAddresses: ['10.0.0.1'] },
  });
  const der = Buffer.from(request.replace(/-----[A-Z ]+-----|\n/g, ''), 'base64');
  const [body, , signature] = members(der);
  expect(verify('sha256', body!, createPublicKey(keyPem), signature!.subarray(3))).toBe(true);
  for (const text of ['system:node:n1', 'system:nodes', 'n1']) expect(der.includes(text)).toBe(true);
});

/** The values inside a sequence. */
function members(sequence: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = headLength(sequence, 0); at < sequence.length; ) {
    const end = at + headLength(sequence, at) + contentLength(sequence, at);
    found.push(sequence.subarray(at, end));
    at = end;
  }
  return found;
}

function headLength(der: Buffer, at: number): number {
  return der[at + 1]! < 0x80 ? 2 : 2 + (der[at + 1]! - 0x80);
}

function contentLength(der: Buffer, at: number): number {
  const digits = der[at + 1]! - 0x80;
  return digits < 0 ? der[at + 1]! : der.readUIntBE(at + 2, digits);
}
