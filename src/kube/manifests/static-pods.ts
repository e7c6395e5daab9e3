/** What a static pod may not use: it must run without an API server, so it cannot refer to API objects. */

import type { PodManifest } from '../types/pod.js';
import type { Volume, VolumeProjection } from '../types/volume.js';
import type { FieldPath } from './document.js';

export interface StaticPodReference {
  readonly path: FieldPath;
  /** The kind of object, in the plural: `secrets`, `serviceaccounts` … */
  readonly what: string;
  /** `static pods may not reference <what>` */
  readonly message: string;
}

/** Every reference to an API object in a pod from a file or URL; empty when it may run. */
export function staticPodReferences(pod: PodManifest): StaticPodReference[] {
  const found: StaticPodReference[] = [];
  for (const [what, ...path] of referencesOf(pod)) {
    found.push({ path: ['spec', ...path], what, message: `static pods may not reference ${what}` });
  }
  return found;
}

/** What is referenced, followed by the path of the reference below `spec`. */
type ReferencePath = [what: string, ...path: (string | number)[]];

function* referencesOf({ spec }: PodManifest): Generator<ReferencePath> {
  if (spec.serviceAccountName) yield ['serviceaccounts', 'serviceAccountName'];
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    if (secret.name) yield ['secrets', 'imagePullSecrets', index];
  }
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      for (const [position, source] of (container.envFrom ?? []).entries()) {
        if (source.secretRef !== undefined) yield ['secrets', list, index, 'envFrom', position, 'secretRef'];
        if (source.configMapRef !== undefined)
          yield ['configmaps', list, index, 'envFrom', position, 'configMapRef'];
      }
      for (const [position, { valueFrom }] of (container.env ?? []).entries()) {
        const path = [list, index, 'env', position, 'valueFrom'] as const;
        if (valueFrom?.secretKeyRef !== undefined) yield ['secrets', ...path, 'secretKeyRef'];
        if (valueFrom?.configMapKeyRef !== undefined) yield ['configmaps', ...path, 'configMapKeyRef'];
      }
    }
  }
  if ((spec.resourceClaims?.length ?? 0) > 0) yield ['resourceclaims', 'resourceClaims'];
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const [what, ...path] of volumeReferences(volume)) yield [what, 'volumes', index, ...path];
  }
}

const volumesWithSecrets = [
  'cephfs',
  'rbd',
  'iscsi',
  'flexVolume',
  'scaleIO',
  'storageos',
  'cinder',
] as const;

function* volumeReferences(volume: Volume): Generator<ReferencePath> {
  if (volume.secret !== undefined) yield ['secrets', 'secret'];
  if (volume.azureFile !== undefined) yield ['secrets', 'azureFile'];
  for (const kind of volumesWithSecrets) {
    if (volume[kind]?.secretRef !== undefined) yield ['secrets', kind, 'secretRef'];
  }
  if (volume.configMap !== undefined) yield ['configmaps', 'configMap'];
  if (volume.csi !== undefined) yield ['csidrivers (via CSI volumes)', 'csi'];
  if (volume.glusterfs !== undefined) yield ['endpoints (via glusterFS volumes)', 'glusterfs'];
  if (volume.persistentVolumeClaim !== undefined) yield ['persistentvolumeclaims', 'persistentVolumeClaim'];
  if (volume.ephemeral !== undefined) yield ['persistentvolumeclaims (via ephemeral volumes)', 'ephemeral'];
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    for (const [what, kind] of projectionReferences(source))
      yield [what, 'projected', 'sources', index, kind];
  }
}

/** A projected downward API needs nothing but the pod itself. */
function* projectionReferences(
  source: VolumeProjection,
): Generator<[what: string, kind: keyof VolumeProjection]> {
  if (source.secret !== undefined) yield ['secrets', 'secret'];
  if (source.configMap !== undefined) yield ['configmaps', 'configMap'];
  if (source.serviceAccountToken !== undefined)
    yield ['serviceaccounts (via projected volumes)', 'serviceAccountToken'];
  if (source.clusterTrustBundle !== undefined) yield ['clustertrustbundles', 'clusterTrustBundle'];
  if (source.podCertificate !== undefined) yield ['podcertificates', 'podCertificate'];
}
