/** Decides when to rotate a certificate, and how long to wait after a failure. */
import type { CertificatePair } from './pair.js';

/** Between 70 % and 90 % of the certificate's lifetime. */
export function rotationDeadlineMs(
  { notBeforeMs, notAfterMs }: Pick<CertificatePair, 'notBeforeMs' | 'notAfterMs'>,
  random: () => number,
): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * random());
}

const firstWaitMs = 2_000;
const quickTries = 5;
const steadyWaitMs = 32_000;

/** The delay after this many consecutive failures. */
export function rotationRetryMs(failures: number, random: () => number): number {
  if (failures >= quickTries) return steadyWaitMs;
  return firstWaitMs * 2 ** (failures - 1) * (1 + 0.1 * random());
}

export interface ClientCertificateFacts {
  readonly pair: Pick<CertificatePair, 'notAfterMs'> | undefined;
  readonly nowMs: number;
  /** When a certificate was last available, or the start. */
  readonly lastAvailableMs: number;
  /** Whether the server responded to the last certificate request. */
  readonly serverHealthy: boolean;
}

export const exitWithoutCertificateAfterMs = 300_000;

export type ClientCertificateVerdict =
  | { readonly kind: 'fine' }
  /** Only waiting is left; the message says for what. */
  | { readonly kind: 'lost'; readonly message: string }
  /** Only a restart can get new credentials. */
  | { readonly kind: 'exit'; readonly message: string };

export function judgeClientCertificate(facts: ClientCertificateFacts): ClientCertificateVerdict {
  const { pair, nowMs, lastAvailableMs, serverHealthy } = facts;
  const isExpired = pair !== undefined && nowMs > pair.notAfterMs;
  const isMissed = pair === undefined && nowMs - lastAvailableMs > exitWithoutCertificateAfterMs;
  if (!isExpired && !isMissed) return { kind: 'fine' };
  const what = isExpired
    ? 'the currently active client certificate has expired'
    : 'it has been too long since a valid client certificate was found';
  return serverHealthy
    ? { kind: 'exit', message: `${what} and the server is responsive, exiting` }
    : { kind: 'lost', message: `${what}, but the server is not responsive` };
}
