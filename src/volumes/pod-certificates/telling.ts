/** Records what happens to the certificates of pods; keys are in none of it. */
import { goQuote } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { issuedOf, type Lateness, latenessOf, type PodCertificateState } from './states.js';
import type { TrackedCertificate } from './tracked.js';

export function recordCertificate(
  timeline: Timeline,
  { source: { pod, volumeName, projection } }: Pick<TrackedCertificate, 'source'>,
  kind: 'decision' | 'effect' | 'problem',
  message: string,
  because?: string,
): void {
  timeline.record({
    kind,
    what: 'volume.certificate',
    message: `volume ${goQuote(volumeName)}, signer ${goQuote(projection.signerName)}: ${message}`,
    ...(because === undefined ? {} : { because }),
    ...(kind === 'problem' ? { level: 'warn' } : {}),
    pod: podRef(pod),
    data: { volume: volumeName, signer: projection.signerName },
  });
}

/** What became of the request that was sent. */
export function tellChange(
  timeline: Timeline,
  tracked: TrackedCertificate,
  before: PodCertificateState,
): void {
  const { state, source } = tracked;
  switch (state.kind) {
    case 'fresh': {
      if (issuedOf(before) === state.issued) {
        recordCertificate(timeline, tracked, 'problem', 'the request for the next certificate was deleted');
        return;
      }
      const until = new Date(state.issued.notAfterMs).toISOString();
      recordCertificate(timeline, tracked, 'effect', `a certificate was issued, valid until ${until}`);
      return;
    }
    case 'denied':
    case 'failed': {
      const name = 'sent' in before ? `${source.pod.metadata.namespace}/${before.sent.name}` : '';
      const [verdict, reason] = state.kind === 'denied' ? ['was denied', 'Denied'] : ['failed', 'Failed'];
      const why = `reason=${goQuote(state.reason)}, message=${goQuote(state.message)}`;
      const message = `PodCertificateRequest ${name} ${verdict}, ${why}`;
      timeline.event(podRef(source.pod), 'Warning', reason, message);
      return;
    }
    case 'initial':
      recordCertificate(timeline, tracked, 'problem', 'the request for the certificate was deleted');
      return;
    case 'wait':
    case 'wait-refresh':
      return;
  }
}

const latenessEvents: Readonly<Record<Lateness, readonly [reason: string, message: string]>> = {
  overdue_for_refresh: ['CertificateOverdueForRefresh', 'PodCertificate refresh overdue'],
  expired: ['CertificateExpired', 'PodCertificate expired'],
};

/** An event for each kind of lateness, once for each certificate. */
export function tellLateness(
  timeline: Timeline,
  { source, state, told }: TrackedCertificate,
  nowMs: number,
): void {
  const issued = issuedOf(state);
  if (issued === undefined) return;
  for (const lateness of latenessOf(issued, nowMs)) {
    if (told.has(lateness)) continue;
    told.add(lateness);
    const [reason, message] = latenessEvents[lateness];
    timeline.event(podRef(source.pod), 'Warning', reason, message);
  }
}
