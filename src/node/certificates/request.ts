/** Builds certificate requests and interprets their status. */
import { createHash, createPublicKey } from 'node:crypto';
import { goQuote } from '../../kube/index.js';
import {
  type CertificateSigningRequest,
  type CertificateSubject,
  makeCertificateRequest,
} from '../../kube-client/index.js';
import { type CertificateTemplate, isRsaKey } from './pair.js';

export const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
export const servingSigner = 'kubernetes.io/kubelet-serving';

export type CertificatePurpose = 'client' | 'serving';

export function signerOf(purpose: CertificatePurpose): string {
  return purpose === 'client' ? clientSigner : servingSigner;
}

/** Only RSA keys can encipher other keys. */
export function usagesOf(purpose: CertificatePurpose, isRsa: boolean): string[] {
  return [
    ...(isRsa ? ['key encipherment'] : []),
    'digital signature',
    purpose === 'client' ? 'client auth' : 'server auth',
  ];
}

export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
}

/** The same key and request always get this name, so that a repeated request finds the first. */
export function digestedName(keyPem: string, subject: CertificateSubject, usages: readonly string[]): string {
  const hash = createHash('sha512-256');
  const publicKey = createPublicKey(keyPem).export({ type: 'spki', format: 'der' });
  const texts = [subject.commonName, ...(subject.organizations ?? []), ...usages].map((text) =>
    Buffer.from(text),
  );
  for (const part of [publicKey, ...texts]) hash.update(`${part.toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

export interface SigningRequestInput {
  readonly purpose: CertificatePurpose;
  readonly template: CertificateTemplate;
  readonly keyPem: string;
  /** Whether the request gets the name derived from its contents, instead of a new one each time. */
  readonly named: boolean;
}

export function signingRequest({
  purpose,
  template,
  keyPem,
  named,
}: SigningRequestInput): CertificateSigningRequest {
  const usages = usagesOf(purpose, isRsaKey(keyPem));
  const request = makeCertificateRequest({ ...template, keyPem });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: named ? { name: digestedName(keyPem, template.subject, usages) } : { generateName: 'csr-' },
    spec: { request: Buffer.from(request).toString('base64'), signerName: signerOf(purpose), usages },
  };
}

/** Why an existing request cannot be used as ours; undefined if it can. */
export function incompatibility(
  existing: CertificateSigningRequest,
  ours: CertificateSigningRequest,
  keyPem: string,
  subject: CertificateSubject,
): string | undefined {
  if (existing.spec.signerName !== ours.spec.signerName) {
    return `its signer is ${goQuote(existing.spec.signerName)}`;
  }
  const pem = Buffer.from(existing.spec.request, 'base64').toString('latin1');
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  if (!der.includes(createPublicKey(keyPem).export({ type: 'spki', format: 'der' })))
    return 'it is for another key';
  return der.includes(subject.commonName) ? undefined : 'it is for another subject';
}

export type RequestVerdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'issued'; readonly certificatePem: string }
  | { readonly kind: 'refused'; readonly message: string };

export function verdictOf({ status }: CertificateSigningRequest): RequestVerdict {
  const conditions = status?.conditions ?? [];
  for (const { type, reason = '', message = '' } of conditions) {
    const why = `reason: ${goQuote(reason)}, message: ${goQuote(message)}`;
    if (type === 'Denied')
      return { kind: 'refused', message: `certificate signing request is denied, ${why}` };
    if (type === 'Failed') return { kind: 'refused', message: `certificate signing request failed, ${why}` };
  }
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  const certificate = status?.certificate ?? '';
  if (!isApproved || certificate === '') return { kind: 'pending' };
  return { kind: 'issued', certificatePem: Buffer.from(certificate, 'base64').toString('utf8') };
}
