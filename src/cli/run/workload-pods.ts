/** Creates the pods of a workload as its controller would, with names that are the same in every run. */
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  decodePods,
  type Mapping,
  type PodManifest,
  type Problem,
  type Volume,
} from '../../kube/index.js';
import type { NamedPod } from './local-pod.js';
import {
  belowPlace,
  countIn,
  documentAt,
  isMapping,
  type ManifestLocation,
  mappingIn,
  nameIn,
  namespaceIn,
  placeAt,
  readBelow,
  refuse,
} from './manifest-location.js';

/** Limits how many pods of a Job run at a time. */
export interface JobParallelism {
  /** Identifies the Job. */
  readonly key: string;
  readonly parallelism: number;
}

export interface WorkloadPod {
  readonly pod: NamedPod;
  /** Its place in the workload, whatever the template. */
  readonly slot: string;
  readonly job?: JobParallelism;
}

export interface Workload {
  readonly pods: readonly WorkloadPod[];
  readonly warnings: readonly Problem[];
  /** The claims of a StatefulSet's pods, as objects of a manifest. */
  readonly claims: readonly Mapping[];
}

export type WorkloadKind = 'Deployment' | 'ReplicaSet' | 'StatefulSet' | 'DaemonSet' | 'Job';

export const workloadVersions: Readonly<Record<WorkloadKind, string>> = {
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  Job: 'batch/v1',
};

/** On one machine, more pods than this are probably a mistake. */
const maxPods = 500;

/** Throws InvalidManifest. */
export function workloadPods(kind: WorkloadKind, value: Mapping, place: ManifestLocation): Workload {
  const name = nameIn(value, place);
  const spec = mappingIn(value, place, 'spec');
  const specPlace = placeAt(place, 'spec');
  const templatePlace = placeAt(specPlace, 'template');
  if (!isMapping(spec.template))
    refuse(templatePlace, `a ${kind} needs a pod template; add "template:" with "spec:" below it`);
  const { template, warnings } = readTemplate(kind, spec.template, templatePlace, name);
  const { count, parallelism } = podCount(kind, spec, specPlace);
  if (count > maxPods) refuse(specPlace, `${count} pods are more than ${maxPods}; ask for fewer`);
  const owner = { kind, name, namespace: namespaceIn(value, place), templateHash: nameHash(spec.template) };
  const claimTemplates = kind === 'StatefulSet' ? claimTemplatesOf(spec, specPlace) : [];
  const pods = Array.from({ length: count }, (_, index): WorkloadPod => {
    const pod = ownedPod(structuredClone(template), owner, index);
    if (kind === 'StatefulSet') makeStateful(pod, claimTemplates, spec.serviceName);
    const slot = `${kind} ${owner.namespace}/${name} ${index}`;
    return parallelism === undefined
      ? { pod, slot }
      : { pod, slot, job: { key: `${kind} ${owner.namespace}/${name}`, parallelism } };
  });
  const claims = pods.flatMap(({ pod }) =>
    claimTemplates.map((claim) => podClaim(claim, pod.metadata.name, owner.namespace)),
  );
  return { pods, warnings, claims };
}

function podCount(
  kind: WorkloadKind,
  spec: Mapping,
  place: ManifestLocation,
): { count: number; parallelism?: number } {
  switch (kind) {
    case 'Deployment':
    case 'ReplicaSet':
    case 'StatefulSet':
      return { count: countIn(spec, place, 'replicas', 1) };
    case 'DaemonSet':
      return { count: 1 };
    case 'Job': {
      if (spec.suspend === true) return { count: 0, parallelism: 1 };
      const parallelism = countIn(spec, place, 'parallelism', 1);
      return { count: countIn(spec, place, 'completions', Math.max(1, parallelism)), parallelism };
    }
  }
}

/** Decodes the template as a pod, which has the name of the workload for now. */
function readTemplate(
  kind: WorkloadKind,
  template: Mapping,
  place: ManifestLocation,
  name: string,
): { template: PodManifest; warnings: Problem[] } {
  const value = {
    ...template,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...mappingIn(template, place, 'metadata'), name },
  };
  return readBelow(place, () => {
    const { pods, warnings } = decodePods(documentAt(place, value));
    const [pod] = pods;
    if (pod === undefined) return refuse(place, 'expected a pod template');
    const policy = pod.spec.restartPolicy || 'Always';
    const policyPlace: ManifestLocation = {
      document: documentAt(place, value),
      path: ['spec', 'restartPolicy'],
    };
    if (kind === 'Job' && policy === 'Always')
      refuse(
        policyPlace,
        'the pods of a Job end: write "restartPolicy: Never" or "restartPolicy: OnFailure"',
      );
    if (kind !== 'Job' && policy !== 'Always')
      refuse(
        policyPlace,
        `the pods of a ${kind} do not end: write "restartPolicy: Always", or remove the field`,
      );
    return { template: pod, warnings: warnings.map((warning) => belowPlace(place, warning)) };
  });
}

interface WorkloadOwner {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly namespace: string;
  readonly templateHash: string;
}

const prefix = 'batch.kubernetes.io';

function ownedPod(pod: PodManifest, owner: WorkloadOwner, index: number): NamedPod {
  const { kind, name, namespace, templateHash } = owner;
  const suffix = nameHash([templateHash, index]).slice(0, 5);
  const metadata: NamedPod['metadata'] = { ...pod.metadata, name, namespace };
  const uid = createHash('sha256').update(`${kind} ${namespace}/${name}`).digest('hex').slice(0, 32);
  const controller = {
    apiVersion: workloadVersions[kind],
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  metadata.ownerReferences = [controller];
  switch (kind) {
    case 'Deployment':
      metadata.name = `${name}-${templateHash}-${suffix}`;
      metadata.labels = { ...metadata.labels, 'pod-template-hash': templateHash };
      metadata.ownerReferences = [{ ...controller, kind: 'ReplicaSet', name: `${name}-${templateHash}` }];
      break;
    case 'ReplicaSet':
      metadata.name = `${name}-${suffix}`;
      break;
    case 'DaemonSet':
      metadata.name = `${name}-${suffix}`;
      break;
    case 'StatefulSet':
      metadata.name = `${name}-${index}`;
      metadata.labels = {
        ...metadata.labels,
        'statefulset.kubernetes.io/pod-name': metadata.name,
        'apps.kubernetes.io/pod-index': String(index),
      };
      break;
    case 'Job':
      metadata.name = `${name}-${suffix}`;
      metadata.labels = { ...metadata.labels, 'job-name': name, [`${prefix}/job-name`]: name };
      metadata.annotations = { ...metadata.annotations, [`${prefix}/job-completion-index`]: String(index) };
      break;
  }
  return { ...pod, metadata };
}

/** Gives a pod of a StatefulSet its host name and claims. */
function makeStateful(pod: PodManifest, claimTemplates: readonly Mapping[], serviceName: unknown): void {
  const { metadata, spec } = pod;
  spec.hostname ||= metadata.name;
  if (typeof serviceName === 'string' && serviceName !== '') spec.subdomain ||= serviceName;
  const claimed = claimTemplates.map((claim): Volume => {
    const name = claimTemplateName(claim);
    return { name, persistentVolumeClaim: { claimName: `${name}-${metadata.name}` } };
  });
  const others = (spec.volumes ?? []).filter(({ name }) => claimed.every((volume) => volume.name !== name));
  if (claimed.length > 0) spec.volumes = [...others, ...claimed];
}

function claimTemplatesOf(spec: Mapping, place: ManifestLocation): Mapping[] {
  const templates = spec.volumeClaimTemplates;
  if (templates === undefined || templates === null) return [];
  const list = placeAt(place, 'volumeClaimTemplates');
  if (!Array.isArray(templates)) return refuse(list, 'expected a list; begin each entry with "- "');
  return templates.map((template: unknown, index) => {
    const at = placeAt(list, index);
    if (!isMapping(template)) return refuse(at, 'expected a claim; write its fields indented');
    nameIn({ ...template, kind: 'PersistentVolumeClaim' }, at);
    return template;
  });
}

function podClaim(template: Mapping, podName: string, namespace: string): Mapping {
  const metadata = isMapping(template.metadata) ? template.metadata : {};
  return {
    ...template,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...metadata, name: `${claimTemplateName(template)}-${podName}`, namespace },
  };
}

/** The name has been validated before. */
function claimTemplateName({ metadata }: Mapping): string {
  return isMapping(metadata) ? String(metadata.name) : '';
}

/** Letters and digits that form no words; controllers use the same ones. */
const nameLetters = 'bcdfghjklmnpqrstvwxz2456789';

/** A hash of the content, as ten letters. */
export function nameHash(value: unknown): string {
  const bytes = createHash('sha256').update(canonicalJson(value)).digest().subarray(0, 10);
  return [...bytes].map((byte) => nameLetters[byte % nameLetters.length]).join('');
}
