/** Gives a pod of a manifest its identity on this machine: a UID that is the same for the same pod of the same run. */
import {
  configHashAnnotation,
  configMirrorAnnotation,
  hashStaticPod,
  type ObjectMeta,
  type Pod,
  type PodManifest,
} from '../../kube/index.js';

/** A pod of a manifest: what reads it gives it a name, and leaves its UID to the run. */
export interface NamedPod extends PodManifest {
  metadata: ObjectMeta & { name: string; namespace: string };
}

export interface LocalPodContext {
  readonly nodeName: string;
  readonly runName: string;
  /** Give every pod the machine's own network, where there is no other. */
  readonly hostNetwork: boolean;
}

/** What only an API server writes is dropped, so that a pod that was copied from a cluster can be run. */
export function localPod(pod: NamedPod, { nodeName, runName, hostNetwork }: LocalPodContext): Pod {
  const { name, namespace, labels, annotations, ownerReferences } = pod.metadata;
  const { [configMirrorAnnotation]: _, ...kept } = annotations ?? {};
  const spec = {
    ...pod.spec,
    nodeName,
    // There is no cluster whose names could come first.
    dnsPolicy: /^ClusterFirst/.test(pod.spec.dnsPolicy ?? '') ? 'Default' : pod.spec.dnsPolicy,
    ...(hostNetwork ? { hostNetwork: true } : {}),
  };
  const metadata = {
    name,
    namespace,
    ...(labels === undefined ? {} : { labels }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
  const content = { metadata: { ...metadata, annotations: kept }, spec };
  const uid = hashStaticPod(content, [`host:${nodeName}`, `run:${runName}`]);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, uid, annotations: { ...kept, [configHashAnnotation]: uid } },
    spec,
    status: { phase: 'Pending' },
  };
}
