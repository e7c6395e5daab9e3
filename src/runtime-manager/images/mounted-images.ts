/** Finds the images mounted as volumes, so that they are not removed. */
import type { ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { normalNames } from './reference.js';

/**
 * What containers have mounted, running or not, and what desired pods will mount: their images may be pulled
 * before their containers exist.
 */
export function mountedImages(statuses: readonly ObservedPodStatus[], pods: readonly Pod[]): Set<string> {
  const images = new Set<string>();
  for (const { containers } of statuses) {
    for (const { mounts } of containers) {
      for (const { image } of mounts) if (image !== undefined) images.add(image);
    }
  }
  for (const { spec } of pods) {
    for (const { image } of spec.volumes ?? []) {
      for (const name of normalNames(image?.reference ?? '')) images.add(name);
    }
  }
  return images;
}
