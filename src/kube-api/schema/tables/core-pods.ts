/** The fields of pods, where the API has more than manifests. */

import { containerTables } from '../../../kube/manifests/schema/container-tables.js';
import { podTables } from '../../../kube/manifests/schema/pod-tables.js';

/** The API of this release no longer has the reference. */
const { workloadRef: _workloadRef, ...podSpec } = podTables.PodSpec;

export const corePodTables = {
  Pod: { ...podTables.Pod, metadata: 'ObjectMeta', spec: 'PodSpec', status: 'PodStatus' },
  PodSpec: { ...podSpec, evictionResponders: '[]EvictionResponder' },
  Affinity: { ...podTables.Affinity, podAntiAffinity: 'PodAntiAffinity' },
  PodAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: '[]WeightedPodAffinityTerm',
    requiredDuringSchedulingIgnoredDuringExecution: '[]PodAffinityTerm',
  },
  EnvVarSource: {
    ...containerTables.EnvVarSource,
    configMapKeyRef: 'ConfigMapKeySelector',
    secretKeyRef: 'SecretKeySelector',
  },
  ConfigMapKeySelector: { key: 'string!', name: 'string', optional: 'bool' },
  SecretKeySelector: { key: 'string!', name: 'string', optional: 'bool' },
  EnvFromSource: { configMapRef: 'ConfigMapEnvSource', prefix: 'string', secretRef: 'SecretEnvSource' },
  ConfigMapEnvSource: { name: 'string', optional: 'bool' },
  SecretEnvSource: { name: 'string', optional: 'bool' },
  ResourceRequirements: { ...containerTables.ResourceRequirements, claims: '[]ResourceClaim' },
  ResourceClaim: { name: 'string!', request: 'string' },
  EvictionResponder: { name: 'string!', priority: 'int32!' },
  PodTemplateSpec: { metadata: 'ObjectMeta', spec: 'PodSpec' },
  TopologySelectorTerm: { matchLabelExpressions: '[]TopologySelectorLabelRequirement' },
  TopologySelectorLabelRequirement: { key: 'string!', values: '[]string!' },
} as const;
