/** Pulls the images of a pod's image volumes before its containers start. */
import type { Init, PodSandboxConfig } from '../../cri/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import { type EnsuredImage, type ImageEnsurer, SyncFailure } from '../contracts.js';

export interface EnsuredImageVolumes {
  /** By volume name. */
  readonly images: ReadonlyMap<string, EnsuredImage>;
  /** By volume name. Only containers that mount such a volume fail. */
  readonly failures: ReadonlyMap<string, SyncFailure>;
}

export function hasImageVolumes(pod: Pod): boolean {
  return (pod.spec.volumes ?? []).some(({ image }) => image !== undefined);
}

export async function ensureImageVolumes(
  ensurer: ImageEnsurer,
  {
    pod,
    ...common
  }: {
    readonly pod: Pod;
    readonly sandboxConfig: Init<PodSandboxConfig>;
    readonly runtimeHandler: string;
    readonly signal: AbortSignal | undefined;
  },
): Promise<EnsuredImageVolumes> {
  const images = new Map<string, EnsuredImage>();
  const failures = new Map<string, SyncFailure>();
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined) continue;
    const container: AnyContainer = {
      name,
      image: image.reference ?? '',
      ...(image.pullPolicy === undefined ? {} : { imagePullPolicy: image.pullPolicy }),
    };
    try {
      images.set(name, await ensurer.ensure({ ...common, pod, container, fieldPath: undefined }));
    } catch (error) {
      if (!(error instanceof SyncFailure)) throw error;
      failures.set(name, error);
    }
  }
  return { images, failures };
}

/** The last failure among the volumes that the container mounts. */
export function imageVolumeFailure(
  container: AnyContainer,
  { failures }: EnsuredImageVolumes,
): SyncFailure | undefined {
  let last: SyncFailure | undefined;
  for (const { name } of container.volumeMounts ?? []) last = failures.get(name) ?? last;
  return last;
}
