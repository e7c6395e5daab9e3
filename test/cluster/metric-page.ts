/** Reads a page of metrics by family, to compare it with the table of families. */
import type { Stability } from '../../src/metrics/index.js';
import type { FamilyRow } from '../metric-families.js';

const stabilities: readonly Stability[] = ['INTERNAL', 'ALPHA', 'BETA', 'STABLE'];

/** The families of a page in its order; labels and buckets as its samples have them. */
export function familiesOf(page: string): FamilyRow[] {
  const rows: FamilyRow[] = [];
  for (const block of page.split(/^(?=# HELP )/m)) {
    const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/m.exec(block) ?? [];
    const [, type = ''] = /^# TYPE \S+ (\S+)$/m.exec(block) ?? [];
    const labels = new Set<string>();
    const buckets = new Set<number>();
    for (const [, set = ''] of block.matchAll(/^\w+\{(.*)\} \S+/gm)) {
      for (const [, label = '', value = ''] of set.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
        if (label !== 'le') labels.add(label);
        else if (value !== '+Inf') buckets.add(Number(value));
      }
    }
    rows.push({
      name,
      type,
      stability: stabilities.find((stability) => help.startsWith(`[${stability}] `)) ?? 'NONE',
      labels: [...labels].sort(),
      buckets: type === 'histogram' ? [...buckets] : undefined,
    });
  }
  return rows;
}
