/** Says which images garbage collection would remove and why others stay, by the decisions of a pass; nothing is done. */
import { formatDuration } from '../../kube/index.js';
import {
  bytesToFree,
  type ImageGcPolicy,
  type ImageRecord,
  removableForSpace,
  tooOld,
  usagePercent,
} from './image-gc.js';

export interface FileSystemUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

export interface NamedImageRecord extends ImageRecord {
  /** A tag or digest; empty for an image without either. */
  readonly name: string;
}

export interface ImageForecastItem {
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly when: 'now' | 'disk-pressure' | 'kept';
  readonly because: string;
}

export interface ImageForecast {
  /** In the order of their removal, then those that stay. */
  readonly images: readonly ImageForecastItem[];
  /** Undefined where the runtime does not tell where its images are. */
  readonly usedPercent: number | undefined;
  readonly wantedBytes: number;
}

export interface ImageForecastInput {
  readonly images: readonly NamedImageRecord[];
  readonly usage: FileSystemUsage | undefined;
  readonly policy: ImageGcPolicy;
  readonly nowMs: number;
  /** When the collector started: images are not removed by age before it has run for that long. */
  readonly startedMs: number;
}

export function forecastImages(input: ImageForecastInput): ImageForecast {
  const { images, usage, policy, nowMs, startedMs } = input;
  const known = usage !== undefined && usage.capacityBytes > 0 ? usage : undefined;
  const usedPercent = known && usagePercent(known.capacityBytes, known.availableBytes);
  const nameOf = new Map(images.map(({ id, name }) => [id, name]));
  const item = (
    { id, sizeBytes }: ImageRecord,
    when: ImageForecastItem['when'],
    because: string,
  ): ImageForecastItem => ({ id, name: nameOf.get(id) ?? '', sizeBytes, when, because });
  const old = tooOld(images, policy, nowMs, startedMs);
  const taken = new Set<ImageRecord>(old);
  const found = old.map((image) =>
    item(image, 'now', `${unusedSince(image, nowMs)}, longer than ${formatDuration(policy.maxAgeMs)}`),
  );
  // What goes by age is free before space is looked at.
  const freed = old.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const wantedBytes =
    known === undefined ? 0 : bytesToFree(policy, known.capacityBytes, known.availableBytes + freed);
  let left = wantedBytes;
  for (const image of removableForSpace(images, policy.minAgeMs, nowMs)) {
    if (taken.has(image)) continue;
    taken.add(image);
    const since = unusedSince(image, nowMs);
    if (left > 0) {
      const full = `the image file system is ${usedPercent}% full, at or above ${policy.highThresholdPercent}%`;
      found.push(item(image, 'now', `${since}; ${full}`));
    } else found.push(item(image, 'disk-pressure', `${since}; there is space for it`));
    left -= image.sizeBytes;
  }
  const kept = images
    .filter((image) => !taken.has(image))
    .map((image) => item(image, 'kept', whyKept(image, policy, nowMs)));
  return { images: [...found, ...kept], usedPercent, wantedBytes };
}

function whyKept(
  { pinned, inUse, firstDetectedMs }: ImageRecord,
  policy: ImageGcPolicy,
  nowMs: number,
): string {
  if (inUse) return 'a container, a sandbox or a volume uses it';
  if (pinned) return 'the runtime has pinned it';
  return nowMs - firstDetectedMs < policy.minAgeMs
    ? `it was first seen ${formatDuration(wholeSeconds(nowMs - firstDetectedMs))} ago, less than ${formatDuration(policy.minAgeMs)}`
    : 'it was just used';
}

function unusedSince({ lastUsedMs, firstDetectedMs }: ImageRecord, nowMs: number): string {
  return lastUsedMs === 0
    ? `unused since it was first seen ${formatDuration(wholeSeconds(nowMs - firstDetectedMs))} ago`
    : `unused for ${formatDuration(wholeSeconds(nowMs - lastUsedMs))}`;
}

function wholeSeconds(durationMs: number): number {
  return Math.floor(durationMs / 1000) * 1000;
}
