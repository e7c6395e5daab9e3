/** The managed client certificate as credentials for API clients, and the watch over it. */
import { type Clock, sleep } from '../../async/index.js';
import { anonymous, type Credential, type Credentials } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { CertificateManager } from './manager.js';
import type { CertificatePair } from './pair.js';
import { judgeClientCertificate } from './rotation.js';

/**
 * Without a certificate, requests carry none instead of waiting. `others` are the kubeconfig's other
 * credentials, such as a token.
 */
export function managedCredentials(
  manager: Pick<CertificateManager, 'current'>,
  others: Credentials = anonymous,
): Credentials {
  let pair: CertificatePair | undefined;
  let beside: Credential | undefined;
  let held: Credential = {};
  return {
    current: async (signal) => {
      const other = await others.current(signal);
      const now = manager.current;
      if (beside !== other || pair !== now) {
        beside = other;
        pair = now;
        const clientCertificate = now && { certificatePem: now.certificatePem, keyPem: now.keyPem };
        held = { ...other, ...(clientCertificate === undefined ? {} : { clientCertificate }) };
      }
      return held;
    },
    refused: () => {
      if (beside !== undefined) others.refused(beside);
    },
  };
}

export interface ClientCertificateWatchOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly manager: Pick<CertificateManager, 'current' | 'last' | 'serverHealthy'>;
  /** Reopens the API connections with the new certificate. */
  readonly resetConnections: () => void;
}

const checkMs = 10_000;
const firstCheckMs = 1_000;

/** The certificate can no longer be renewed: the agent must restart to get new credentials. */
export class ClientCertificateLost extends Error {
  override readonly name = 'ClientCertificateLost';
}

/** Runs until cancelled; rejects with ClientCertificateLost when the agent must restart. */
export async function watchClientCertificate(
  { clock, timeline, manager, resetConnections }: ClientCertificateWatchOptions,
  signal: AbortSignal,
): Promise<never> {
  let used = manager.current;
  let lastAvailableMs = clock.now();
  let lastMessage = '';
  for (;;) {
    await sleep(clock, used === undefined ? firstCheckMs : checkMs, signal);
    const nowMs = clock.now();
    const pair = manager.current;
    if (pair !== undefined) lastAvailableMs = nowMs;
    const verdict = judgeClientCertificate({
      pair: manager.last,
      nowMs,
      lastAvailableMs,
      serverHealthy: manager.serverHealthy,
    });
    if (verdict.kind === 'exit') throw new ClientCertificateLost(verdict.message);
    const message = verdict.kind === 'lost' ? verdict.message : '';
    if (message !== '' && message !== lastMessage) {
      timeline.record({ kind: 'problem', what: 'certificate.client', message });
    }
    lastMessage = message;
    if (pair === undefined || pair === used) continue;
    used = pair;
    timeline.record({
      kind: 'effect',
      what: 'certificate.client',
      message: 'reconnecting to the API server',
      because: 'there is a new client certificate',
    });
    resetConnections();
  }
}
