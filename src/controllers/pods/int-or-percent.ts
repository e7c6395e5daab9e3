/** Numbers that may be written as a share of a total, such as `25%`. */
import type { IntOrString } from '../../kube/index.js';

/** The number; of a percentage, its share of the total, rounded as asked. Text that is neither counts as the default. */
export function intOrPercent(
  value: IntOrString | undefined,
  total: number,
  round: 'up' | 'down',
  absent: IntOrString,
): number {
  const given = value ?? absent;
  if (typeof given === 'number') return Math.max(0, Math.trunc(given));
  const [, digits] = /^(\d{1,9})%$/.exec(given) ?? [];
  if (digits === undefined) return given === absent ? 0 : intOrPercent(absent, total, round, absent);
  const share = (Number(digits) * total) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
