/** Gives a pod of a manifest its identity on this machine: the same pod of the same run always has the same UID. */
import {
  configHashAnnotation,
  configMirrorAnnotation,
  hashStaticPod,
  type ObjectMeta,
  type Pod,
  type PodManifest,
  withBuiltInPriority,
} from '../../kube/index.js';

/** A pod of a manifest: it has a name, and gets its UID from the run. */
export interface NamedPod extends PodManifest {
  metadata: ObjectMeta & { name: string; namespace: string };
}

export interface LocalPodContext {
  readonly nodeName: string;
  readonly runName: string;
  /** Every pod uses the network of the machine, because there is no pod network. */
  readonly hostNetwork: boolean;
}

/** Drops what only an API server sets, so that a pod copied from a cluster can run. */
export function localPod(pod: NamedPod, { nodeName, runName, hostNetwork }: LocalPodContext): Pod {
  const { name, namespace, labels, annotations, ownerReferences } = pod.metadata;
  const { [configMirrorAnnotation]: _, ...kept } = annotations ?? {};
  const spec = {
    ...pod.spec,
    nodeName,
    // There is no cluster DNS.
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
    spec: withBuiltInPriority(spec),
    status: { phase: 'Pending' },
  };
}
