/** Whether the claims of a pod let it run on the node: bound, or waiting for just this pod. */
import {
  claimReference,
  matchesNodeSelectorTerms,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from '../../kube/index.js';
import { isControlledBy } from '../ownership/owner-references.js';

export const selectedNodeAnnotation = 'volume.kubernetes.io/selected-node';

export interface VolumeObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
}

export type VolumeFit =
  | { readonly kind: 'fits' }
  /** The claims are bound once the node is written to them. */
  | { readonly kind: 'select-node'; readonly claims: readonly PersistentVolumeClaim[] }
  | { readonly kind: 'unfit'; readonly problem: string };

export function volumeFit(pod: Pod, node: Node, objects: VolumeObjects): VolumeFit {
  const waiting: PersistentVolumeClaim[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const reference = claimReference(pod, volume);
    if (reference === undefined) continue;
    const claim = objects.claim(reference.namespace, reference.name);
    if (claim === undefined)
      return {
        kind: 'unfit',
        problem: reference.isEphemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${reference.name}"`
          : `persistentvolumeclaim "${reference.name}" not found`,
      };
    if (reference.isEphemeral && !isControlledBy(claim, pod))
      return {
        kind: 'unfit',
        problem: `PVC "${reference.namespace}/${reference.name}" was not created for pod "${reference.namespace}/${pod.metadata.name}" (pod is not owner)`,
      };
    if (claim.metadata.deletionTimestamp !== undefined)
      return { kind: 'unfit', problem: `persistentvolumeclaim "${reference.name}" is being deleted` };
    if (claim.status?.phase === 'Lost')
      return {
        kind: 'unfit',
        problem: `persistentvolumeclaim "${reference.name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`,
      };
    if (claim.status?.phase === 'Bound') {
      const problem = boundProblem(node, objects.volume(claim.spec.volumeName ?? ''));
      if (problem !== undefined) return { kind: 'unfit', problem };
      continue;
    }
    const waits =
      objects.storageClass(claim.spec.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer';
    if (!waits) return { kind: 'unfit', problem: 'pod has unbound immediate PersistentVolumeClaims' };
    if (claim.metadata.annotations?.[selectedNodeAnnotation] === node.metadata.name)
      return { kind: 'unfit', problem: `persistentvolumeclaim "${reference.name}" waits for a volume` };
    waiting.push(claim);
  }
  return waiting.length === 0 ? { kind: 'fits' } : { kind: 'select-node', claims: waiting };
}

function boundProblem(node: Node, volume: PersistentVolume | undefined): string | undefined {
  const terms = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined) return undefined;
  const identity = { name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} };
  return matchesNodeSelectorTerms(terms, identity)
    ? undefined
    : "node(s) didn't match PersistentVolume's node affinity";
}
