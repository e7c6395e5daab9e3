/** Converts amounts of resources into cgroup values. */

export const minShares = 2;
const maxShares = 262_144;
const minQuotaMicros = 1000;
const maxWeight = 10_000;

/** Millicores as cgroup v1 shares, which runtimes convert for v2. */
export function cpuShares(milliCpu: number): number {
  if (milliCpu === 0) return minShares;
  return Math.min(Math.max(Math.floor((milliCpu * 1024) / 1000), minShares), maxShares);
}

/** Millicores as microseconds per period; 0 means no limit. */
export function cpuQuotaMicros(milliCpu: number, periodMicros: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(Math.floor((milliCpu * periodMicros) / 1000), minQuotaMicros);
}

/** The millicores that shares stand for, rounded up. */
export function milliCpuOfShares(shares: number): number {
  return shares < minShares ? 0 : Math.ceil((shares * 1000) / 1024);
}

/** Shares as a cgroup v2 weight. */
export function cpuWeight(shares: number): number {
  if (shares >= maxShares) return maxWeight;
  return 1 + Math.floor(((shares - minShares) * (maxWeight - 1)) / (maxShares - minShares));
}

/** The inverse of `cpuWeight`; several shares have the same weight. */
export function sharesOfWeight(weight: number): number {
  return Math.floor(((weight - 1) * (maxShares - minShares)) / (maxWeight - 1)) + minShares;
}

/** Bytes in the kernel's notation: `64KB`, `2MB`, `1GB`. */
export function pageSizeName(sizeBytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size}${units[unit]}`;
}
