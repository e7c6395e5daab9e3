/** Follows the certificate requests of this node's pods. */
import { type Clock, errorText } from '../../async/index.js';
import {
  Informer,
  type InformerUpdate,
  type KubeApi,
  type PodCertificateRequest,
  resources,
} from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface RequestInformerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random?: (() => number) | undefined;
  readonly nodeName: string;
  readonly api: KubeApi;
}

/** An API server that does not serve the type is asked again for ever; that is told once. */
export function requestInformer(
  { clock, timeline, random, nodeName, api }: RequestInformerOptions,
  onUpdate: (update: InformerUpdate<PodCertificateRequest>) => void,
): Informer<PodCertificateRequest> {
  let isFailing = false;
  return new Informer({
    api,
    clock,
    ...(random === undefined ? {} : { random }),
    resource: resources.podCertificateRequests,
    fieldSelector: `spec.nodeName=${nodeName}`,
    keep: keptOf,
    onUpdate,
    onProblem: (error) => {
      if (isFailing) return;
      isFailing = true;
      const message = `the pod certificate requests cannot be read from the API: ${errorText(error)}`;
      timeline.record({ kind: 'problem', what: 'objects.watch', message, level: 'warn' });
    },
    onRecovered: () => {
      isFailing = false;
    },
  });
}

/** Without what nobody reads here. */
function keptOf({ metadata, spec, status }: PodCertificateRequest): PodCertificateRequest {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec: { ...spec, stubPKCS10Request: '', unverifiedUserAnnotations: {} },
    ...(status === undefined ? {} : { status }),
  };
}
