/** Plays the signer of pod certificates for tests, on any API. */
import { formatTimestamp } from '../../kube/index.js';
import { type KubeApi, type PodCertificateRequest, resources } from '../../kube-client/index.js';
import { signRequestDer } from '../../x509/test-signing.js';

export interface IssueTimes {
  readonly notBeforeMs: number;
  readonly lifeMs: number;
  /** From the start of the certificate. */
  readonly refreshAfterMs: number;
}

export async function podCertificateRequests(
  api: Pick<KubeApi, 'list'>,
): Promise<readonly PodCertificateRequest[]> {
  return (await api.list(resources.podCertificateRequests)).items;
}

/** The status of an issued request. */
export function issuedStatus(
  { spec }: PodCertificateRequest,
  { notBeforeMs, lifeMs, refreshAfterMs }: IssueTimes,
): NonNullable<PodCertificateRequest['status']> {
  const request = Buffer.from(spec.stubPKCS10Request, 'base64');
  return {
    conditions: [condition('Issued', 'Test', 'signed', notBeforeMs)],
    certificateChain: signRequestDer(request, notBeforeMs, lifeMs),
    notBefore: formatTimestamp(notBeforeMs),
    beginRefreshAt: formatTimestamp(notBeforeMs + refreshAfterMs),
    notAfter: formatTimestamp(notBeforeMs + lifeMs),
  };
}

export async function issuePodCertificate(
  api: Pick<KubeApi, 'patch'>,
  request: PodCertificateRequest,
  times: IssueTimes,
): Promise<string> {
  const status = issuedStatus(request, times);
  await patchStatus(api, request, status);
  return status.certificateChain ?? '';
}

export async function refusePodCertificate(
  api: Pick<KubeApi, 'patch'>,
  request: PodCertificateRequest,
  type: 'Denied' | 'Failed',
  message: string,
  nowMs: number,
): Promise<void> {
  await patchStatus(api, request, { conditions: [condition(type, 'Test', message, nowMs)] });
}

function condition(type: string, reason: string, message: string, nowMs: number) {
  return { type, status: 'True', reason, message, lastTransitionTime: formatTimestamp(nowMs) };
}

async function patchStatus(
  api: Pick<KubeApi, 'patch'>,
  { metadata: { namespace = '', name = '' } }: PodCertificateRequest,
  status: object,
): Promise<void> {
  const patch = { type: 'merge', body: { status } } as const;
  await api.patch(resources.podCertificateRequests, { namespace, name }, patch, { subresource: 'status' });
}
