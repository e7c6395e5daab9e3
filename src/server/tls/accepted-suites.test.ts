/**
 * Offers a real handshake with each cipher suite of this machine's TLS library, and records which are
 * accepted.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, getCiphers, type SecureVersion, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { Timeline } from '../../timeline/index.js';
import { generateKeyPem, makeCertificate } from '../../x509/certificate.js';
import { secureServing } from './secure-serving.js';
import { type TlsConfiguration, tlsSettings } from './settings.js';

const hourMs = 3_600_000;
const certificateOf = (kind: 'ecdsa-p256' | 'rsa-2048') => {
  const keyPem = generateKeyPem(kind);
  const certificatePem = makeCertificate({
    subject: { commonName: 'node-1' },
    keyPem,
    notBeforeMs: Date.now() - hourMs,
    notAfterMs: Date.now() + hourMs,
    usages: ['serverAuth'],
    names: { dnsNames: ['localhost'] },
  });
  return { certificatePem, keyPem };
};
const certificates = { ecdsa: certificateOf('ecdsa-p256'), rsa: certificateOf('rsa-2048') };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(kind: keyof typeof certificates, more: Partial<TlsConfiguration> = {}): Promise<number> {
  const settings = tlsSettings({
    tlsMinVersion: '',
    tlsCipherSuites: [],
    tlsCurvePreferences: [],
    ...more,
  });
  const secure = secureServing({
    certificate: () => certificates[kind],
    settings,
    timeline: new Timeline(),
  });
  const server = secure.createServer({});
  closers.push(() => {
    server.close();
    server.closeAllConnections();
    secure.endHandshakes();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP listener has an address and a port.
  return (server.address() as AddressInfo).port;
}

interface Offer {
  readonly version: SecureVersion;
  readonly ciphers: string;
}

function handshake(port: number, { version, ciphers }: Offer): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      // Without the suffix this library offers nothing old; it applies only to suites before TLS 1.3.
      ciphers: version === 'TLSv1.3' ? ciphers : `${ciphers}:@SECLEVEL=0`,
    });
    closers.push(() => socket.destroy());
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

async function acceptedOf(port: number, offers: readonly Offer[]): Promise<string[]> {
  const taken: string[] = [];
  for (const offer of offers) {
    const socket = await handshake(port, offer);
    if (socket === undefined) continue;
    taken.push(socket.getCipher().name);
    socket.destroy();
  }
  return [...new Set(taken)].sort();
}

/** OpenSSL uses IANA's names for the suites of TLS 1.3, and its own for older ones. */
const offers = getCiphers()
  .map((name) => name.toUpperCase())
  .map((name): Offer => ({ version: name.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2', ciphers: name }));

const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

describe('cipher suites', () => {
  it('the library knows the weak ones, so that a rejection means something', () => {
    const names = offers.map(({ ciphers }) => ciphers);
    expect(names).toEqual(
      expect.arrayContaining([
        'AES128-GCM-SHA256',
        'AES128-SHA',
        'ECDHE-RSA-AES128-SHA',
        'DHE-RSA-AES128-GCM-SHA256',
      ]),
    );
  });

  it.each(['ecdsa', 'rsa'] as const)(
    'by default an %s certificate is served by ECDHE and AEAD alone',
    async (kind) => {
      const own = kind.toUpperCase();
      expect(await acceptedOf(await serve(kind), offers)).toEqual(
        [
          `ECDHE-${own}-AES128-GCM-SHA256`,
          `ECDHE-${own}-AES256-GCM-SHA384`,
          `ECDHE-${own}-CHACHA20-POLY1305`,
          ...tls13,
        ].sort(),
      );
    },
  );

  it('configured ones are accepted, even weak ones', async () => {
    const port = await serve('rsa', {
      tlsCipherSuites: ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA'],
    });
    expect(await acceptedOf(port, offers)).toEqual(['AES128-GCM-SHA256', 'ECDHE-RSA-AES256-SHA', ...tls13]);
  });

  it('TLS 1.3 as the minimum version accepts only its own suites', async () => {
    expect(await acceptedOf(await serve('rsa', { tlsMinVersion: 'VersionTLS13' }), offers)).toEqual(tls13);
  });

  it.each([
    ['', 'TLSv1', []],
    ['', 'TLSv1.1', []],
    ['VersionTLS10', 'TLSv1', ['ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA']],
    ['VersionTLS11', 'TLSv1', []],
    ['VersionTLS11', 'TLSv1.1', ['ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA']],
  ] as const)('tlsMinVersion %j and a client of %s', async (tlsMinVersion, version, suites) => {
    const port = await serve('rsa', { tlsMinVersion });
    const old = ['ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA', 'AES128-SHA'];
    expect(
      await acceptedOf(
        port,
        old.map((ciphers) => ({ version, ciphers })),
      ),
    ).toEqual(suites);
  });
});

it('a client that renegotiates is rejected', async () => {
  const socket = await handshake(await serve('ecdsa'), {
    version: 'TLSv1.2',
    ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  });
  if (socket === undefined) throw new Error('the first handshake failed');
  const outcome = await new Promise((resolve) => {
    socket.on('error', () => resolve('refused'));
    socket.on('close', () => resolve('refused'));
    socket.renegotiate({ rejectUnauthorized: false }, (error) =>
      resolve(error === null ? 'renegotiated' : 'refused'),
    );
  });
  expect(outcome).toBe('refused');
});
