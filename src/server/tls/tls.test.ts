import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { generateKeyPem, makeCertificate } from '../../x509/certificate.js';
import { verifyClientChain } from '../auth/certificate-chain.js';
import { testAuthority } from '../test-authority.js';
import { readCaBundle } from './ca-bundle.js';
import { reloadedFiles } from './reloaded-files.js';
import { tlsSettings } from './settings.js';

const none = { tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences: [] };

const strong = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

describe('settings', () => {
  it.each([
    ['', 'TLSv1.2', strong],
    ['VersionTLS12', 'TLSv1.2', strong],
    ['VersionTLS13', 'TLSv1.3', strong.slice(0, 3)],
  ])('version %j is %s with strong suites', (tlsMinVersion, minVersion, suites) => {
    expect(tlsSettings({ ...none, tlsMinVersion })).toEqual({
      minVersion,
      ciphers: suites.join(':'),
      warnings: [],
    });
  });
  it.each([
    ['a version', { tlsMinVersion: 'SSL3' }, 'unknown tls version "SSL3"'],
    ['a suite', { tlsCipherSuites: ['X'] }, 'cipher suite X is not supported or does not exist'],
    ['a group', { tlsCurvePreferences: [29, 1] }, '1 is not the number of a known group'],
  ])('rejects an unknown %s', (_, wrong, message) => {
    expect(() => tlsSettings({ ...none, ...wrong })).toThrow(message);
  });
  it('warns of weak settings and of those without effect', () => {
    const weak = tlsSettings({
      ...none,
      tlsCipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA', 'TLS_RSA_WITH_RC4_128_SHA'],
    });
    expect(weak.warnings.length).toBe(3);
    expect(weak.ciphers.split(':').at(-1)).toBe('AES128-SHA');
    const ignored = tlsSettings({
      ...none,
      tlsMinVersion: 'VersionTLS13',
      tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'],
    });
    expect(ignored.warnings.length).toBe(1);
  });
});

describe('groups', () => {
  const old = (name: string) => !name.includes('MLKEM');
  it.each<[string, number[], (name: string) => boolean, string | undefined, number]>([
    ['none chosen: the library decides', [], old, undefined, 0],
    ['in the order of the configuration', [29, 23], old, 'X25519:P-256', 0],
    ['a new one on a new library', [4588, 29], () => true, 'X25519MLKEM768:X25519', 0],
    ['a new one on an old library is left out', [4588, 29], old, 'X25519', 1],
    ['several are one warning', [4588, 4589, 23], old, 'P-256', 1],
  ])('%s', (_, tlsCurvePreferences, knows, ecdhCurve, warnings) => {
    const settings = tlsSettings({ ...none, tlsCurvePreferences }, knows);
    expect(settings.ecdhCurve).toBe(ecdhCurve);
    expect(settings.warnings.length).toBe(warnings);
  });
  it('nothing left is an error that says what to do', () => {
    expect(() => tlsSettings({ ...none, tlsCurvePreferences: [4588] }, old)).toThrow(
      /none of the groups 4588 \(X25519MLKEM768\); add 29 \(X25519\)/,
    );
  });
  it('supported groups make a context, and unsupported ones do not stop the start', () => {
    const tlsCurvePreferences = [4587, 4588, 4589, 23, 24, 25, 29, 30];
    const { ecdhCurve } = tlsSettings({ ...none, tlsCurvePreferences });
    expect(ecdhCurve).toMatch(/P-256:P-384:P-521:X25519:X448$/);
    expect(() => createSecureContext({ ecdhCurve })).not.toThrow();
  });
});

describe('chains', () => {
  const hourMs = 3_600_000;
  const nowMs = Date.now();
  const issue = (
    commonName: string,
    issuer: { subject: { commonName: string }; keyPem: string } | undefined,
    more: Partial<Parameters<typeof makeCertificate>[0]> = {},
  ) => {
    const keyPem = generateKeyPem();
    const subject = { commonName };
    const pem = makeCertificate({
      subject,
      keyPem,
      ...(issuer === undefined ? {} : { issuer }),
      notBeforeMs: nowMs - hourMs,
      notAfterMs: nowMs + hourMs,
      ...more,
    });
    return { subject, keyPem, certificate: new X509Certificate(pem) };
  };
  const root = issue('root', undefined, { isAuthority: true });
  const middle = issue('middle', root, { isAuthority: true });
  const pretender = issue('root', undefined, { isAuthority: true });
  const server = issue('server', root, { usages: ['serverAuth'] });
  const leaf = (issuer: typeof root, more = {}) =>
    issue('leaf', issuer, { usages: ['clientAuth'], ...more }).certificate;
  it.each<[string, X509Certificate, X509Certificate[], string]>([
    ['of a root', leaf(root), [], 'trusted'],
    ['for no purpose in particular', leaf(root, { usages: [] }), [], 'trusted'],
    ['by an intermediate that is sent', leaf(middle), [middle.certificate], 'trusted'],
    ['by an intermediate that is not', leaf(middle), [], 'untrusted'],
    ['of one with the name of the root', leaf(pretender), [pretender.certificate], 'untrusted'],
    ['of one that is no authority', leaf(server), [server.certificate], 'untrusted'],
    ['for servers', server.certificate, [], 'untrusted'],
    ['of yesterday', leaf(root, { notAfterMs: nowMs - 1000 }), [], 'untrusted'],
    ['of tomorrow', leaf(root, { notBeforeMs: nowMs + 60_000 }), [], 'untrusted'],
  ])('%s', (_, certificate, intermediates, kind) => {
    const roots = [root.certificate];
    expect(verifyClientChain({ leaf: certificate, intermediates, roots, nowMs }).kind).toBe(kind);
  });
  it('many that could all have issued each other cost only a few checks', () => {
    const keyPem = generateKeyPem();
    const subject = { commonName: 'maze' };
    const maze = Array.from(
      { length: 8 },
      (_, at) =>
        new X509Certificate(
          makeCertificate({
            subject,
            keyPem,
            notBeforeMs: nowMs - hourMs,
            notAfterMs: nowMs + hourMs + at * 1000,
            isAuthority: true,
          }),
        ),
    );
    const lost = issue('leaf', { subject, keyPem }, { usages: ['clientAuth'] }).certificate;
    const begun = performance.now();
    const verdict = verifyClientChain({ leaf: lost, intermediates: maze, roots: [root.certificate], nowMs });
    expect(verdict.kind).toBe('untrusted');
    expect(performance.now() - begun).toBeLessThan(250);
  });
  it('bundles must contain a certificate', () => {
    expect(() => readCaBundle('hello')).toThrow('any valid');
    const pem = testAuthority('a').pem + testAuthority('b').pem;
    expect(readCaBundle(pem).certificates.length).toBe(2);
  });
});

describe('files that others replace', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-tls-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  it('give the new value when it is valid', async () => {
    const file = path.join(dir, 'ca.crt');
    const timeline = new Timeline();
    const open = () =>
      reloadedFiles({
        paths: [file],
        what: 'the client CA bundle',
        parse: ([pem = '']) => readCaBundle(pem),
        clock: systemClock,
        timeline,
      });
    await expect(open()).rejects.toThrow('ENOENT');
    writeFileSync(file, 'hello');
    await expect(open()).rejects.toThrow('any valid');
    writeFileSync(file, testAuthority('one').pem);
    const reloaded = await open();
    const shown = () => reloaded.current().certificates.map(({ subject }) => subject);
    expect(reloaded.current()).toBe(reloaded.current());
    writeFileSync(file, testAuthority('two').pem);
    await expect.poll(shown, { timeout: 5000 }).toEqual(['CN=two']);
    writeFileSync(file, '');
    await expect.poll(() => timeline.ofNode().at(-1)?.error, { timeout: 5000 }).toContain('any valid');
    expect(shown()).toEqual(['CN=two']);
    reloaded.close();
  });
});
