/** What tests read of a registry: its samples without the buckets of histograms. */
import type { Registry } from './registry.js';

/** By name and labels as they are written: `{ 'calls_total{op="a"}': 2 }`. */
export function samples(registry: Pick<Registry, 'text'>): Record<string, number> {
  const lines = registry.text().matchAll(/^(?!#)(\w+(?:\{.*\})?) (\S+)$/gm);
  const found: Record<string, number> = {};
  for (const [, series = '', value] of lines)
    if (!/^\w+_bucket\{/.test(series)) found[series] = Number(value?.replace('+Inf', 'Infinity'));
  return found;
}
