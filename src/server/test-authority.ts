/** For tests: an authority that issues certificates to servers and clients. */
import { generateKeyPem, makeCertificate } from '../x509/certificate.js';
import type { ServingKeyPair } from './tls/secure-serving.js';

export interface TestAuthority {
  readonly pem: string;
  issue(options: {
    readonly commonName: string;
    readonly organizations?: readonly string[];
    readonly usage: 'serverAuth' | 'clientAuth';
    readonly validMs?: number;
  }): ServingKeyPair;
}

export function testAuthority(commonName: string): TestAuthority {
  const keyPem = generateKeyPem();
  const subject = { commonName };
  const notBeforeMs = Date.now() - 3_600_000;
  const pem = makeCertificate({
    subject,
    keyPem,
    notBeforeMs,
    notAfterMs: Date.now() + 3_600_000,
    isAuthority: true,
  });
  return {
    pem,
    issue({ commonName: name, organizations = [], usage, validMs = 3_600_000 }) {
      const ownKey = generateKeyPem();
      const certificatePem = makeCertificate({
        subject: { commonName: name, organizations },
        keyPem: ownKey,
        issuer: { subject, keyPem },
        notBeforeMs,
        notAfterMs: Date.now() + validMs,
        usages: [usage],
        names: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
      });
      return { certificatePem, keyPem: ownKey };
    },
  };
}
