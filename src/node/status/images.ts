/** Decides which images a node reports. */
import type { ContainerImage } from '../../kube/index.js';

export interface KnownImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
}

const maxNamesOfImage = 5;

/** Largest first; -1 for `maxImages` means no limit. */
export function nodeImages(images: readonly KnownImage[], maxImages: number): ContainerImage[] {
  const sorted = [...images].sort(
    (a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0),
  );
  const told = maxImages < 0 ? sorted : sorted.slice(0, maxImages);
  return told.map(({ repoDigests, repoTags, sizeBytes }) => ({
    names: [...repoDigests, ...repoTags].slice(0, maxNamesOfImage),
    sizeBytes,
  }));
}
