/** Decides whether a client's certificate chains to a trusted authority, is valid now and is for clients. */
import type { X509Certificate } from 'node:crypto';

export interface ChainInput {
  readonly leaf: X509Certificate;
  /** The other certificates that the client sent. */
  readonly intermediates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  readonly nowMs: number;
}

export type ChainVerdict =
  | {
      readonly kind: 'trusted' /** When the first certificate of the chain expires. */;
      readonly untilMs: number;
    }
  | {
      readonly kind: 'untrusted';
      /** `no-way`: the certificate itself is valid, but chains to no root. */
      readonly reason: 'leaf' | 'no-way';
      readonly why: string;
    };

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';
const longestChain = 8;
/**
 * Signature checks per client. Certificates that could all have issued each other form more chains than
 * anyone could check, and their sender is not authenticated yet.
 */
const mostSignatures = 32;

interface ChainSearch {
  readonly roots: readonly X509Certificate[];
  readonly nowMs: number;
  signaturesLeft: number;
}

export function verifyClientChain({ leaf, intermediates, roots, nowMs }: ChainInput): ChainVerdict {
  const bad = (why: string): ChainVerdict => ({ kind: 'untrusted', reason: 'leaf', why });
  if (!isValidAt(leaf, nowMs)) return bad('certificate has expired or is not yet valid');
  if (!isForClients(leaf)) return bad('certificate specifies an incompatible key usage');
  const search: ChainSearch = { roots, nowMs, signaturesLeft: mostSignatures };
  const untilMs = chainTo(leaf, intermediates, search, longestChain);
  return untilMs === undefined
    ? { kind: 'untrusted', reason: 'no-way', why: 'certificate signed by unknown authority' }
    : { kind: 'trusted', untilMs };
}

/** When the first certificate of a chain from here to a root expires; undefined when there is no chain. */
function chainTo(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  search: ChainSearch,
  left: number,
): number | undefined {
  const { roots, nowMs } = search;
  const ownMs = Date.parse(certificate.validTo);
  // A certificate in the bundle itself is trusted as it is.
  if (roots.some((root) => root.raw.equals(certificate.raw))) return ownMs;
  for (const root of roots) {
    if (isValidAt(root, nowMs) && isIssuedBy(certificate, root, search)) {
      return Math.min(ownMs, Date.parse(root.validTo));
    }
  }
  if (left <= 1) return undefined;
  for (const intermediate of intermediates) {
    if (!isValidAt(intermediate, nowMs) || !isForClients(intermediate)) continue;
    if (!isIssuedBy(certificate, intermediate, search)) continue;
    const others = intermediates.filter((other) => other !== intermediate);
    const untilMs = chainTo(intermediate, others, search, left - 1);
    if (untilMs !== undefined) return Math.min(ownMs, untilMs);
  }
  return undefined;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate, search: ChainSearch): boolean {
  if (search.signaturesLeft === 0 || !issuer.ca || !certificate.checkIssued(issuer)) return false;
  search.signaturesLeft--;
  return certificate.verify(issuer.publicKey);
}

function isValidAt({ validFrom, validTo }: X509Certificate, nowMs: number): boolean {
  return Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);
}

/** A certificate without a key usage is valid for all purposes. */
function isForClients({ keyUsage }: X509Certificate): boolean {
  // The declared type promises a list; a certificate without the extension has none.
  const usages = keyUsage as string[] | undefined;
  return usages === undefined || usages.includes(clientAuth) || usages.includes(anyUsage);
}
