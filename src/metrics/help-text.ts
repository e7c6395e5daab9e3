/** A help text as it is declared: it may begin with how far users may rely on the metric. */

/** `NONE` for a metric of the process, whose family has no such word. */
export type Stability = 'INTERNAL' | 'ALPHA' | 'BETA' | 'STABLE' | 'NONE';

const stabilities: readonly Stability[] = ['INTERNAL', 'ALPHA', 'BETA', 'STABLE', 'NONE'];

/** The stability of `[STABLE] Seconds that…`, and the rest of it. Without one the metric is alpha. */
export function splitHelp(help: string): { readonly stability: Stability; readonly text: string } {
  const [, stated = '', text = ''] = /^(?:\[(\w+)\] )?(.*)$/s.exec(help) ?? [];
  return { stability: stabilities.find((known) => known === stated) ?? 'ALPHA', text };
}
