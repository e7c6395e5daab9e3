/** Writes the limits of huge pages, which both cgroup versions have in files of the same shape. */
import { join } from 'node:path';
import { type CgroupFiles, codeOf } from './cgroup-files.js';

/** The first kernel file for reservations that is missing switches them off for the other sizes too. */
export function writeHugePageLimits(
  files: CgroupFiles,
  directory: string,
  limits: readonly (readonly [size: string, limit: string])[],
  /** `max` or `limit_in_bytes`. */
  suffix: string,
): void {
  let hasReservations = true;
  for (const [size, limit] of limits) {
    files.write(join(directory, `hugetlb.${size}.${suffix}`), limit);
    if (!hasReservations) continue;
    try {
      files.write(join(directory, `hugetlb.${size}.rsvd.${suffix}`), limit);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      hasReservations = false;
    }
  }
}
