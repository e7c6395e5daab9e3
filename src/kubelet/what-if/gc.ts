/** Tells a forecast of garbage collection as data for people and programs. */
import type { GarbageForecast, GarbageItem } from '../../runtime-manager/gc/index.js';
import type { ImageForecast } from '../../runtime-manager/images/index.js';
import { bounded, type GarbageOutlook, type RuntimeItemOutlook } from './contracts.js';

export function garbageOutlook(
  { containers, sandboxes, logDirectories }: GarbageForecast,
  { images, usedPercent, wantedBytes }: ImageForecast,
  thresholds: { readonly highThresholdPercent: number; readonly lowThresholdPercent: number },
): GarbageOutlook {
  const bytesOf = (when: string): number =>
    images.reduce((sum, image) => (image.when === when ? sum + image.sizeBytes : sum), 0);
  const now = bytesOf('now');
  return {
    containers: bounded(containers.map(runtimeItem)),
    sandboxes: bounded(sandboxes.map(runtimeItem)),
    logDirectories: bounded(logDirectories),
    images: bounded(images),
    imageFileSystem: {
      ...(usedPercent === undefined ? {} : { usedPercent }),
      ...thresholds,
      wantedBytes,
    },
    imageBytes: { now, underDiskPressure: now + bytesOf('disk-pressure') },
  };
}

function runtimeItem({ id, name, pod, when, because }: GarbageItem): RuntimeItemOutlook {
  return { id, pod, ...(name === '' ? {} : { container: name }), when, because };
}
