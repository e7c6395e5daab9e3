/** The decisions about a static pod's mirror in the API: whether to create or replace it, and its content. */
import {
  clone,
  configHashAnnotation,
  configMirrorAnnotation,
  isTerminalPhase,
  type Node,
  type Pod,
} from '../../kube/index.js';
import { isMirrorOf } from '../desired/index.js';

export type MirrorStep =
  | { readonly kind: 'keep' }
  | { readonly kind: 'create' }
  /** Deletes it, then creates a new one if that worked. */
  | { readonly kind: 'replace'; readonly uid: string; readonly because: string };

/** What a static pod's mirror needs. `isAlive`: the static pod is known to be neither refused nor over. */
export function mirrorStep(pod: Pod, mirror: Pod | undefined, isAlive: boolean): MirrorStep {
  if (mirror === undefined) return { kind: 'create' };
  const uid = mirror.metadata.uid;
  if (mirror.metadata.deletionTimestamp !== undefined) {
    return { kind: 'replace', uid, because: 'its deletion was requested, but the static pod goes on' };
  }
  if (!isMirrorOf(mirror, pod)) {
    return { kind: 'replace', uid, because: 'it mirrors another version of the static pod' };
  }
  // The API keeps a final phase for good.
  if (isAlive && isTerminalPhase(mirror.status?.phase)) {
    return { kind: 'replace', uid, because: 'it shows an end, but the static pod goes on' };
  }
  return { kind: 'keep' };
}

/** Why no mirror can be created now; undefined when one can. */
export function creationHindrance(node: Node | undefined): string | undefined {
  if (node === undefined) return 'the node is not in the API yet';
  if (node.metadata.deletionTimestamp !== undefined) return 'the node is being deleted';
  return undefined;
}

/** The object to create; the server gives it its own UID. */
export function mirrorOfStaticPod(pod: Pod, node: Node): Pod {
  const { name = '', uid = '' } = node.metadata;
  if (uid === '') throw new Error(`UID unset for node ${name}`);
  const { metadata, spec } = clone(pod);
  const hash = metadata.annotations?.[configHashAnnotation] ?? '';
  const { resourceVersion: _version, ...kept } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...kept,
      annotations: { ...metadata.annotations, [configMirrorAnnotation]: hash },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }],
    },
    spec,
  };
}
