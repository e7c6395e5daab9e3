/** The volumes in memory whose size a pod bounds, and may change while it runs. */
import type { Pod } from '../types/pod.js';
import { tryParseQuantity } from '../values/quantity.js';

/** The limits by the names of the volumes. One without a limit, or with a limit of zero, is as large as its pod may be. */
export function memoryVolumeLimits({ spec }: Pod): Map<string, string> {
  const limits = new Map<string, string>();
  for (const { name, emptyDir } of spec.volumes ?? []) {
    const { medium, sizeLimit } = emptyDir ?? {};
    if (medium !== 'Memory' || sizeLimit === undefined) continue;
    if ((tryParseQuantity(sizeLimit)?.nanos ?? 0n) > 0n) limits.set(name, sizeLimit);
  }
  return limits;
}
