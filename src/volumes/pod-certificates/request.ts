/** Builds the request for a certificate of a pod. */
import type { PodCertificateRequest } from '../../kube-client/index.js';
import type { PodCertificateSource } from './contract.js';

export interface PodCertificateParties {
  readonly serviceAccountUid: string;
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly stubRequest: string;
}

/** As long as the API server lets a signer make certificates valid that no pod asked to live longer. */
const defaultExpirationSeconds = 86_400;

export function serviceAccountOf({ pod }: PodCertificateSource): string {
  return pod.spec.serviceAccountName || 'default';
}

/** The pod owns the request, so that it goes with the pod. */
export function podCertificateRequest(
  source: PodCertificateSource,
  { serviceAccountUid, nodeName, nodeUid, stubRequest }: PodCertificateParties,
): PodCertificateRequest {
  const { signerName, maxExpirationSeconds = defaultExpirationSeconds, userAnnotations } = source.projection;
  const { namespace, name, uid } = source.pod.metadata;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'PodCertificateRequest',
    metadata: {
      namespace,
      generateName: 'req-',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: {
      signerName,
      podName: name,
      podUID: uid,
      serviceAccountName: serviceAccountOf(source),
      serviceAccountUID: serviceAccountUid,
      nodeName,
      nodeUID: nodeUid,
      maxExpirationSeconds,
      stubPKCS10Request: stubRequest,
      ...(userAnnotations === undefined ? {} : { unverifiedUserAnnotations: userAnnotations }),
    },
  };
}
