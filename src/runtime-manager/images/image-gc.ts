/** Decides which images to remove, by age and by free space. */

export interface ImageRecord {
  readonly id: string;
  /** The runtime handler that the image belongs to; empty where the runtime keeps one image for all. */
  readonly handler?: string;
  readonly sizeBytes: number;
  readonly pinned: boolean;
  readonly firstDetectedMs: number;
  /** Zero when unused since first seen. */
  readonly lastUsedMs: number;
  readonly inUse: boolean;
}

export interface ImageGcPolicy {
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  readonly minAgeMs: number;
  /** Zero: images are not removed by age. */
  readonly maxAgeMs: number;
}

/** Unused images, the longest unused first. */
export function gcCandidates(images: readonly ImageRecord[]): ImageRecord[] {
  return images
    .filter((image) => !image.inUse && !image.pinned)
    .sort((a, b) => a.lastUsedMs - b.lastUsedMs || a.firstDetectedMs - b.firstDetectedMs);
}

/** Images unused for longer than allowed; none until the collector itself has run for that long. */
export function tooOld(
  images: readonly ImageRecord[],
  { maxAgeMs }: ImageGcPolicy,
  nowMs: number,
  gcStartedMs: number,
): ImageRecord[] {
  if (maxAgeMs === 0 || nowMs - gcStartedMs <= maxAgeMs) return [];
  return gcCandidates(images).filter((image) => nowMs - image.lastUsedMs > maxAgeMs);
}

/** Usage of the image file system in whole percent. */
export function usagePercent(capacityBytes: number, availableBytes: number): number {
  return 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
}

/** How many bytes to free; zero below the high threshold. */
export function bytesToFree(policy: ImageGcPolicy, capacityBytes: number, availableBytes: number): number {
  if (usagePercent(capacityBytes, availableBytes) < policy.highThresholdPercent) return 0;
  const wanted = Math.floor((capacityBytes * (100 - policy.lowThresholdPercent)) / 100);
  return Math.max(0, wanted - Math.min(availableBytes, capacityBytes));
}

/** Images that may be removed for space, in order; skips young ones and those just used. */
export function removableForSpace(
  images: readonly ImageRecord[],
  minAgeMs: number,
  nowMs: number,
): ImageRecord[] {
  return gcCandidates(images).filter(
    (image) => image.lastUsedMs < nowMs && nowMs - image.firstDetectedMs >= minAgeMs,
  );
}

/** Formats a size like `14.5Gi`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
