/** The pods of a StatefulSet and their claims: names, identity and storage by ordinal. */
import {
  clone,
  type KubeObject,
  type OwnerReference,
  type PersistentVolumeClaim,
  type Pod,
  type PodManifest,
  type PodTemplateSpec,
  type StatefulSet,
} from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { podFromTemplate } from '../pods/pod-template.js';
import { revisionHashLabel } from '../revisions/controller-revisions.js';

export function podName({ metadata }: StatefulSet, ordinal: number): string {
  return `${metadata.name}-${ordinal}`;
}

/** The ordinal in the pod's name; undefined for a pod that has none. */
export function ordinalOf({ metadata }: StatefulSet, pod: KubeObject): number | undefined {
  const { name = '' } = pod.metadata;
  const prefix = `${metadata.name}-`;
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(?:0|[1-9]\d{0,8})$/.test(digits) ? Number(digits) : undefined;
}

export function revisionOfPod({ metadata }: Pod): string | undefined {
  return metadata.labels?.[revisionHashLabel];
}

export interface StatefulPod {
  readonly set: StatefulSet;
  readonly template: PodTemplateSpec;
  readonly ordinal: number;
  /** The name of the template's revision. */
  readonly revision: string;
}

export function statefulPod({ set, template, ordinal, revision }: StatefulPod): PodManifest {
  const name = podName(set, ordinal);
  const pod = podFromTemplate({ template, ownerResource: resources.statefulSets, owner: set, name });
  pod.metadata.labels = {
    ...pod.metadata.labels,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [revisionHashLabel]: revision,
  };
  pod.spec.hostname = name;
  if (set.spec.serviceName) pod.spec.subdomain = set.spec.serviceName;
  const claims = set.spec.volumeClaimTemplates ?? [];
  const names = claims.map(({ metadata }) => metadata.name ?? '');
  pod.spec.volumes = [
    ...(pod.spec.volumes ?? []).filter((volume) => !names.includes(volume.name)),
    ...names.map((volume) => ({
      name: volume,
      persistentVolumeClaim: { claimName: claimName(volume, set, ordinal), readOnly: false },
    })),
  ];
  return pod;
}

function claimName(template: string, set: StatefulSet, ordinal: number): string {
  return `${template}-${podName(set, ordinal)}`;
}

/** The claims of one pod, not made yet. */
export function statefulClaims(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { namespace } = set.metadata;
  return (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...(template.metadata.annotations === undefined
        ? {}
        : { annotations: { ...template.metadata.annotations } }),
      name: claimName(template.metadata.name ?? '', set, ordinal),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
    },
    spec: clone(template.spec),
  }));
}

/** Who takes the claim along: the set when it is deleted, the pod when the set shrinks, or nobody. */
export function claimOwners(
  set: StatefulSet,
  claim: KubeObject,
  condemned: Pod | undefined,
): OwnerReference[] {
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } =
    set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const { name = '', uid = '' } = set.metadata;
  const isOurs = (one: OwnerReference): boolean =>
    one.uid === uid || (one.kind === 'Pod' && ordinalOf(set, { metadata: { name: one.name } }) !== undefined);
  const others = (claim.metadata.ownerReferences ?? []).filter((one) => !isOurs(one));
  const bySet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, controller: true };
  if (whenScaled === 'Delete' && condemned !== undefined) {
    const byPod = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: condemned.metadata.name,
      uid: condemned.metadata.uid,
    };
    return [...others, byPod];
  }
  return whenDeleted === 'Delete' ? [...others, bySet] : others;
}
