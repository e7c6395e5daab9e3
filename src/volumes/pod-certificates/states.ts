/**
 * Decides what the certificate of one source needs next. Nothing of it is kept on disk:
 *
 *   initial ─▶ wait ─▶ fresh ⇄ wait-refresh
 *               └──────┬────────────┘
 *                      ▼
 *               denied, failed (for ever)
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { goQuote, parseTimestamp } from '../../kube/index.js';
import type { PodCertificateRequest } from '../../kube-client/index.js';
import { certificateChain } from '../trust-bundles/pem.js';
import type { PodCredential } from './contract.js';
import { podCertificateLimits } from './limits.js';

export interface IssuedCredential extends PodCredential {
  readonly refreshAtMs: number;
  readonly notAfterMs: number;
}

/** A request that this node made. */
export interface SentRequest {
  readonly name: string;
  readonly uid: string | undefined;
  readonly keyPem: string;
  /** A request that is not seen by then was deleted. */
  readonly abandonAtMs: number;
}

export type PodCertificateState =
  | { readonly kind: 'initial' }
  | { readonly kind: 'wait'; readonly sent: SentRequest }
  | { readonly kind: 'fresh'; readonly issued: IssuedCredential }
  | { readonly kind: 'wait-refresh'; readonly issued: IssuedCredential; readonly sent: SentRequest }
  | { readonly kind: 'denied' | 'failed'; readonly reason: string; readonly message: string };

export type PodCertificateStep =
  | { readonly do: 'rest'; readonly untilMs: number }
  | { readonly do: 'request'; readonly because: string }
  | { readonly do: 'become'; readonly state: PodCertificateState };

export interface PodCertificateFacts {
  readonly nowMs: number;
  /** The request that was sent, as the API has it. */
  readonly seen: PodCertificateRequest | undefined;
  /** Spreads the requests of certificates that were issued together. */
  readonly jitterMs: number;
}

export const largestJitterMs = 300_000;
const assumeDeletedAfterMs = 600_000;
const overdueAfterMs = 600_000;
/** Where the clocks of node and signer differ, a new certificate may be old at once; it is kept for so long. */
const shortestUseMs = 60_000;

export function nextStep(state: PodCertificateState, facts: PodCertificateFacts): PodCertificateStep {
  switch (state.kind) {
    case 'initial':
      return { do: 'request', because: 'there is none yet' };
    case 'fresh':
      return facts.nowMs < state.issued.refreshAtMs
        ? { do: 'rest', untilMs: state.issued.refreshAtMs }
        : { do: 'request', because: 'it is time to refresh the one in use' };
    case 'wait':
    case 'wait-refresh':
      return afterRequest(state, facts);
    case 'denied':
    case 'failed':
      return { do: 'rest', untilMs: Number.POSITIVE_INFINITY };
  }
}

function afterRequest(
  state: Extract<PodCertificateState, { readonly sent: SentRequest }>,
  { nowMs, seen, jitterMs }: PodCertificateFacts,
): PodCertificateStep {
  const { sent } = state;
  if (seen === undefined || seen.metadata.uid !== sent.uid) {
    if (nowMs < sent.abandonAtMs) return { do: 'rest', untilMs: sent.abandonAtMs };
    const before: PodCertificateState =
      state.kind === 'wait' ? { kind: 'initial' } : { kind: 'fresh', issued: state.issued };
    return { do: 'become', state: before };
  }
  for (const { type, status, reason = '', message = '' } of seen.status?.conditions ?? []) {
    if (status !== 'True') continue;
    if (type === 'Denied') return { do: 'become', state: refused('denied', reason, message) };
    if (type === 'Failed') return { do: 'become', state: refused('failed', reason, message) };
    if (type === 'Issued') return { do: 'become', state: issuedState(sent.keyPem, seen, nowMs, jitterMs) };
  }
  return { do: 'rest', untilMs: Number.POSITIVE_INFINITY };
}

function refused(kind: 'denied' | 'failed', reason: string, message: string): PodCertificateState {
  const { reasonChars, messageChars } = podCertificateLimits;
  return { kind, reason: reason.slice(0, reasonChars), message: message.slice(0, messageChars) };
}

/** The API server checks what signers write; a server that does not must not break pods in other ways. */
function issuedState(
  keyPem: string,
  { status = {} }: PodCertificateRequest,
  nowMs: number,
  jitterMs: number,
): PodCertificateState {
  const { certificateChain: chain = '', beginRefreshAt = '', notAfter = '' } = status;
  const refreshAtMs = parseTimestamp(beginRefreshAt);
  const notAfterMs = parseTimestamp(notAfter);
  const unusable = (message: string): PodCertificateState =>
    refused('failed', 'UnusableCertificate', message);
  if (refreshAtMs === undefined || notAfterMs === undefined)
    return unusable('the signer gave no beginRefreshAt or notAfter');
  if (Buffer.byteLength(chain) > podCertificateLimits.chainBytes)
    return unusable(`the chain has more than ${podCertificateLimits.chainBytes} bytes`);
  const chainPem = certificateChain(chain);
  if (!isFor(chainPem, keyPem)) return unusable('the chain does not begin with a certificate for the key');
  const useUntilMs = Math.max(refreshAtMs, nowMs + shortestUseMs) + jitterMs;
  return { kind: 'fresh', issued: { keyPem, chainPem, refreshAtMs: useUntilMs, notAfterMs } };
}

function isFor(chainPem: string, keyPem: string): boolean {
  try {
    return new X509Certificate(chainPem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

/** The state after a request was created. */
export function afterSending(
  before: PodCertificateState,
  sent: Omit<SentRequest, 'abandonAtMs'>,
  { nowMs, jitterMs }: Pick<PodCertificateFacts, 'nowMs' | 'jitterMs'>,
): PodCertificateState {
  const request: SentRequest = { ...sent, abandonAtMs: nowMs + assumeDeletedAfterMs + jitterMs };
  const issued = issuedOf(before);
  return issued === undefined
    ? { kind: 'wait', sent: request }
    : { kind: 'wait-refresh', issued, sent: request };
}

/** The certificate in use. */
export function issuedOf(state: PodCertificateState): IssuedCredential | undefined {
  return state.kind === 'fresh' || state.kind === 'wait-refresh' ? state.issued : undefined;
}

/** Why a volume gets no certificate. */
export function refusalOf(state: PodCertificateState): string {
  if (state.kind !== 'denied' && state.kind !== 'failed') return 'credential bundle is not issued yet';
  const { kind, reason, message } = state;
  return `PodCertificateRequest was permanently ${kind}: reason=${goQuote(reason)} message=${goQuote(message)}`;
}

export type Lateness = 'overdue_for_refresh' | 'expired';

/** All that is wrong with a certificate's age. */
export function latenessOf({ refreshAtMs, notAfterMs }: IssuedCredential, nowMs: number): Lateness[] {
  return [
    ...(nowMs > refreshAtMs + overdueAfterMs ? (['overdue_for_refresh'] as const) : []),
    ...(nowMs > notAfterMs ? (['expired'] as const) : []),
  ];
}

export type PodCertificateStateLabel = 'not_yet_issued' | 'fresh' | 'denied' | 'failed' | Lateness;

/** As the metric shows it. */
export function stateLabel(state: PodCertificateState, nowMs: number): PodCertificateStateLabel {
  if (state.kind === 'denied' || state.kind === 'failed') return state.kind;
  const issued = issuedOf(state);
  return issued === undefined ? 'not_yet_issued' : (latenessOf(issued, nowMs).at(-1) ?? 'fresh');
}
