/** Volumes on a hollow node: every volume counts as mounted, and nothing is. */
import type { PodVolumes } from '../../kubelet/index.js';

export const hollowVolumes: PodVolumes = {
  waitForMounts: async () => {},
  waitForUnmounts: async () => {},
  exist: () => false,
  mounts: async () => [],
  devices: async () => [],
  volumeDirectory: () => undefined,
  volumeGroups: () => [],
  objectsChanged: () => {},
  podsChanged: () => {},
  start: async () => {},
  stop: async () => {},
};
