/** The image plugin: the content of an image, which the container runtime mounts itself. */
import type { VolumePlugin } from '../contracts.js';

export function imageVolumes(): VolumePlugin {
  return {
    name: 'kubernetes.io/image',
    refreshes: false,
    ownsDirectory: false,
    supportsMountOptions: false,
    accepts: (spec) => spec.kind === 'inline' && spec.volume.image !== undefined,
    innerName: ({ volume }) => volume.name,
    traits: () => ({ managed: false, readOnly: true, relabel: false }),
    hostPath: () => undefined,
    setUp: async () => {},
    tearDown: async () => {},
  };
}
