/** Amounts in words: bytes, cores, durations and Kubernetes quantities. */
import { tryParseQuantity } from '../../src/kube/values/quantity.js';

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function coresText(cores: number): string {
  return cores >= 1 ? `${cores.toFixed(2)} CPU` : `${(cores * 1000).toFixed(cores < 0.01 ? 1 : 0)}m CPU`;
}

export function spanText(ms: number): string {
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Undefined for what is not given, or is no quantity. */
export function amountOf(quantity: string | number | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  const parsed = tryParseQuantity(quantity);
  return parsed === undefined ? undefined : Number(parsed.nanos) / 1e9;
}

export function resourceText(resource: string, amount: number): string {
  if (resource === 'cpu') return coresText(amount);
  return /memory|storage|hugepages/.test(resource) ? bytesText(amount) : amount.toLocaleString('en-US');
}
