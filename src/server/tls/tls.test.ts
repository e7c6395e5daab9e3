import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { generateKeyPem, makeCertificate } from '../../kube/client/x509/certificate.js';
import { Timeline } from '../../timeline/index.js';
import { verifyClientChain } from '../auth/certificate-chain.js';
import { testAuthority } from '../test-authority.js';
import { readCaBundle } from './ca-bundle.js';
import { reloadedFiles } from './reloaded-files.js';
import { tlsSettings } from './settings.js';

const none = { tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences: [] };

describe('settings', () => {
  it.each([
    ['', 'TLSv1.2'],
    ['VersionTLS10', 'TLSv1'],
    ['VersionTLS13', 'TLSv1.3'],
  ])('version %j is %s', (tlsMinVersion, minVersion) => {
    expect(tlsSettings({ ...none, tlsMinVersion })).toEqual({ minVersion, warnings: [] });
  });
  it.each([
    ['a version', { tlsMinVersion: 'SSL3' }, 'unknown tls version "SSL3"'],
    ['a suite', { tlsCipherSuites: ['X'] }, 'cipher suite X is not supported or does not exist'],
    ['a group', { tlsCurvePreferences: [1] }, 'does not know the group 1'],
  ])('%s that nobody knows', (_, wrong, message) => {
    expect(() => tlsSettings({ ...none, ...wrong })).toThrow(message);
  });
  it('warns of what is weak or has no effect', () => {
    const weak = tlsSettings({
      ...none,
      tlsCipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA', 'TLS_RSA_WITH_RC4_128_SHA'],
    });
    expect(weak.warnings.length).toBe(3);
    expect(weak.ciphers?.split(':').at(-1)).toBe('AES128-SHA');
    const ignored = tlsSettings({
      ...none,
      tlsMinVersion: 'VersionTLS13',
      tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'],
    });
    expect([ignored.ciphers, ignored.warnings.length]).toEqual([undefined, 1]);
    expect(tlsSettings({ ...none, tlsCurvePreferences: [29, 23] }).ecdhCurve).toBe('X25519:P-256');
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
  it('many that could all have issued each other cost no more than a few checks', () => {
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
  it('bundles must hold a certificate', () => {
    expect(() => readCaBundle('hello')).toThrow('any valid');
    const pem = testAuthority('a').pem + testAuthority('b').pem;
    expect(readCaBundle(pem).certificates.length).toBe(2);
  });
});

describe('files that others replace', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'nodelet-tls-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  it('give the new value when it is a good one', async () => {
    const file = path.join(folder, 'ca.crt');
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
