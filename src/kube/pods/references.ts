/** The ConfigMaps and Secrets that a pod refers to, by which stores decide what may be read and watched. */
import type { PodManifest } from '../types/pod.js';
import type { Volume } from '../types/volume.js';
import { podContainers } from './pod-names.js';

export interface PodReferences {
  /** Names in the pod's own namespace. */
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/** By spec, which is never changed, only replaced: each sync of a pod asks. */
const known = new WeakMap<PodManifest['spec'], PodReferences>();

export function podReferences(pod: PodManifest): PodReferences {
  const found = known.get(pod.spec) ?? referencesOf(pod);
  known.set(pod.spec, found);
  return found;
}

function referencesOf(pod: PodManifest): PodReferences {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const { name } of pod.spec.imagePullSecrets ?? []) add(secrets, name);
  for (const { container } of podContainers(pod)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add(configMaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      add(configMaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
  }
  for (const volume of pod.spec.volumes ?? []) addVolume(volume, configMaps, secrets);
  return { configMaps, secrets };
}

function addVolume(volume: Volume, configMaps: Set<string>, secrets: Set<string>): void {
  add(configMaps, volume.configMap?.name);
  add(secrets, volume.secret?.secretName);
  add(secrets, volume.csi?.nodePublishSecretRef?.name);
  for (const { configMap, secret } of volume.projected?.sources ?? []) {
    add(configMaps, configMap?.name);
    add(secrets, secret?.name);
  }
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') names.add(name);
}
