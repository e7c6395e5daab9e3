import { createPublicKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type CertificateSigningRequest, generateKeyPem } from '../../kube-client/index.js';
import { certificatePair, satisfies } from './pair.js';
import {
  digestedName,
  incompatibility,
  nodeSubject,
  signingRequest,
  usagesOf,
  verdictOf,
} from './request.js';
import { judgeClientCertificate, rotationDeadlineMs, rotationRetryMs } from './rotation.js';
import { selfSignedPair, servingTemplate } from './serving.js';
import { signRequest } from './test-signer.js';

const keyPem = generateKeyPem();
const subject = nodeSubject('n1');
const day = 86_400_000;

describe('a signing request', () => {
  it('for a client', () => {
    const request = signingRequest({ purpose: 'client', template: { subject }, keyPem, named: true });
    expect(request.metadata.name).toMatch(/^node-csr-[A-Za-z0-9_-]{43}$/);
    expect(request.spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    });
    const certificate = new X509Certificate(signRequest(request.spec.request, 0, day));
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:n1');
    expect(certificate.publicKey.equals(createPublicKey(keyPem))).toBe(true);
  });
  it('for serving', () => {
    const template = servingTemplate('n1', [
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'Hostname', address: 'n1' },
    ])!;
    const { metadata, spec } = signingRequest({ purpose: 'serving', template, keyPem, named: false });
    expect(metadata).toEqual({ generateName: 'csr-' });
    expect(spec).toMatchObject({
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    });
    const certificate = new X509Certificate(signRequest(spec.request, 0, day));
    expect(certificate.subjectAltName).toBe('DNS:n1, IP Address:10.0.0.5');
  });
  it('RSA keys may encipher keys', () => {
    expect(usagesOf('client', true)).toEqual(['key encipherment', 'digital signature', 'client auth']);
  });
  it('has the same name for the same request, a different one otherwise', () => {
    const usages = usagesOf('client', false);
    expect(digestedName(keyPem, subject, usages)).toBe(digestedName(keyPem, subject, usages));
    expect(digestedName(keyPem, nodeSubject('n2'), usages)).not.toBe(digestedName(keyPem, subject, usages));
    expect(digestedName(generateKeyPem(), subject, usages)).not.toBe(digestedName(keyPem, subject, usages));
  });
  it('reuses an existing one with the same key, subject and signer', () => {
    const make = (key: string, node: string, purpose: 'client' | 'serving' = 'client') =>
      signingRequest({ purpose, template: { subject: nodeSubject(node) }, keyPem: key, named: true });
    const ours = make(keyPem, 'n1');
    expect([
      incompatibility(make(keyPem, 'n1'), ours, keyPem, subject),
      incompatibility(make(generateKeyPem(), 'n1'), ours, keyPem, subject),
      incompatibility(make(keyPem, 'n2'), ours, keyPem, subject),
      incompatibility(make(keyPem, 'n1', 'serving'), ours, keyPem, subject),
    ]).toEqual([
      undefined,
      'it is for another key',
      'it is for another subject',
      'its signer is "kubernetes.io/kubelet-serving"',
    ]);
  });
});

describe('verdictOf', () => {
  const condition = (type: string) => ({ type, status: 'True', reason: 'R', message: 'm' });
  const certificate = Buffer.from('PEM').toString('base64');
  it.each([
    ['nothing yet', {}, { kind: 'pending' }],
    ['approved, not issued', { conditions: [condition('Approved')] }, { kind: 'pending' }],
    ['issued, not approved', { certificate }, { kind: 'pending' }],
    ['both', { conditions: [condition('Approved')], certificate }, { kind: 'issued', certificatePem: 'PEM' }],
    [
      'denied',
      { conditions: [condition('Approved'), condition('Denied')], certificate },
      { kind: 'refused', message: 'certificate signing request is denied, reason: "R", message: "m"' },
    ],
    [
      'failed',
      { conditions: [condition('Failed')] },
      { kind: 'refused', message: 'certificate signing request failed, reason: "R", message: "m"' },
    ],
  ] satisfies readonly (readonly [string, CertificateSigningRequest['status'], unknown])[])(
    '%s',
    (_rule, status, expected) => {
      expect(verdictOf({ metadata: {}, spec: { request: '', signerName: '' }, status })).toEqual(expected);
    },
  );
});

describe('rotation', () => {
  it.each([
    [0, 0.7],
    [0.5, 0.8],
    [1, 0.9],
  ])('random %d rotates at %d of the lifetime', (random, share) => {
    const deadline = rotationDeadlineMs({ notBeforeMs: 1000, notAfterMs: 1000 + day }, () => random);
    expect(deadline).toBeCloseTo(1000 + day * share);
  });
  it('waits after failures', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) => rotationRetryMs(failures, () => 0));
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 32_000]);
  });
  it.each([
    ['a valid certificate', { pair: { notAfterMs: 10 }, nowMs: 5 }, 'fine'],
    ['expired, server healthy', { pair: { notAfterMs: 10 }, nowMs: 11 }, 'exit'],
    ['expired, server unreachable', { pair: { notAfterMs: 10 }, nowMs: 11, serverHealthy: false }, 'lost'],
    ['none for 5 minutes', { pair: undefined, nowMs: 300_000 }, 'fine'],
    ['none for longer', { pair: undefined, nowMs: 300_001 }, 'exit'],
    [
      'none for longer, server unreachable',
      { pair: undefined, nowMs: 300_001, serverHealthy: false },
      'lost',
    ],
  ])('%s', (_rule, facts, kind) => {
    expect(judgeClientCertificate({ lastAvailableMs: 0, serverHealthy: true, ...facts }).kind).toBe(kind);
  });
});

describe('serving', () => {
  it.each([
    ['no address', [], undefined],
    ['a name alone', [['Hostname', 'n1']], undefined],
    [
      'all kinds, sorted and distinct',
      [
        ['Hostname', 'n1'],
        ['InternalDNS', 'b.x'],
        ['ExternalDNS', 'a.x'],
        ['InternalIP', '10.0.0.5'],
        ['ExternalIP', '1.2.3.4'],
        ['InternalIP', '10.0.0.5'],
      ],
      { dnsNames: ['a.x', 'b.x', 'n1'], ipAddresses: ['1.2.3.4', '10.0.0.5'] },
    ],
    ['a hostname that is an IP', [['Hostname', '10.0.0.5']], { dnsNames: [], ipAddresses: ['10.0.0.5'] }],
  ])('names of %s', (_rule, addresses, expected) => {
    const list = addresses.map(([type = '', address = '']) => ({ type, address }));
    expect(servingTemplate('n1', list)?.names).toEqual(expected);
  });
  it('names alone, where those do', () => {
    const named = { type: 'Hostname', address: 'n1' };
    expect(servingTemplate('n1', [named], { namesAlone: true })?.names).toEqual({
      dnsNames: ['n1'],
      ipAddresses: [],
    });
    expect(servingTemplate('n1', [], { namesAlone: true })).toBeUndefined();
  });
  it('self-signed, for a year from an hour ago, with its authority', () => {
    const nowMs = Date.UTC(2026, 0, 1);
    const { certificatePem, keyPem: key } = selfSignedPair('n1', nowMs);
    const pair = certificatePair(certificatePem, key);
    expect([pair.notBeforeMs, pair.notAfterMs]).toEqual([nowMs - 3_600_000, nowMs - 3_600_000 + 365 * day]);
    expect(new X509Certificate(certificatePem).subject).toBe(`CN=n1@${nowMs / 1000}`);
    expect(certificatePem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });
  it('accepts a certificate with extra names, not one with missing names', () => {
    const request = signingRequest({
      purpose: 'serving',
      template: { subject, names: { dnsNames: ['n1'], ipAddresses: ['10.0.0.5', '10.0.0.6'] } },
      keyPem,
      named: false,
    });
    const pair = certificatePair(signRequest(request.spec.request, 0, day), keyPem);
    const wanted = (...ipAddresses: string[]) => ({ subject, names: { dnsNames: ['n1'], ipAddresses } });
    expect([
      satisfies(pair, wanted('10.0.0.5')),
      satisfies(pair, wanted('10.0.0.5', '10.0.0.7')),
      satisfies(pair, { ...wanted('10.0.0.5'), subject: nodeSubject('n2') }),
    ]).toEqual([true, false, false]);
  });
});
