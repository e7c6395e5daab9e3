import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { generateKeyPem, makeCertificate } from '../../kube/client/x509/certificate.js';
import { Timeline } from '../../timeline/index.js';
import { verifyClientChain } from '../auth/certificate-chain.js';
import { testAuthority } from '../test-authority.js';
import { readCaBundle } from './ca-bundle.js';
import { servingCertificateFiles } from './certificate-files.js';
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
  it('bundles must hold a certificate', () => {
    expect(() => readCaBundle('hello')).toThrow('any valid');
    const pem = testAuthority('a').pem + testAuthority('b').pem;
    expect(readCaBundle(pem).certificates.length).toBe(2);
  });
});

describe('certificate files', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'nodelet-tls-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  it('give the new pair when it is one', async () => {
    const certFile = path.join(folder, 'tls.crt');
    const keyFile = path.join(folder, 'tls.key');
    const authority = testAuthority('ca');
    const put = (name: string, keyOf = name): void => {
      const pair = authority.issue({ commonName: name, usage: 'serverAuth' });
      const { keyPem } = keyOf === name ? pair : authority.issue({ commonName: keyOf, usage: 'serverAuth' });
      writeFileSync(certFile, pair.certificatePem);
      writeFileSync(keyFile, keyPem);
    };
    const timeline = new Timeline();
    await expect(servingCertificateFiles({ certFile, keyFile, timeline })).rejects.toThrow('ENOENT');
    put('one');
    const files = await servingCertificateFiles({ certFile, keyFile, timeline });
    const shown = () => new X509Certificate(files.certificate().certificatePem).subject;
    expect(files.certificate()).toBe(files.certificate());
    put('two');
    await expect.poll(shown, { timeout: 5000 }).toBe('CN=two');
    put('three', 'other');
    await expect.poll(() => timeline.ofNode().at(-1)?.error, { timeout: 5000 }).toContain('does not match');
    expect(shown()).toBe('CN=two');
    files.close();
  });
});
