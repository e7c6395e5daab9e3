/** The syntax of a cron schedule: five fields, or one of the names of common schedules. */

interface FieldRange {
  readonly lowest: number;
  readonly highest: number;
  readonly names?: readonly string[];
}

const fields: readonly FieldRange[] = [
  { lowest: 0, highest: 59 },
  { lowest: 0, highest: 23 },
  { lowest: 1, highest: 31 },
  {
    lowest: 1,
    highest: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { lowest: 0, highest: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const named = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const longestSchedule = 1000;

/** What is wrong with a schedule, or undefined when it is one. */
export function scheduleProblem(text: string): string | undefined {
  if (text.length > longestSchedule) return 'it is too long';
  if (text.startsWith('@')) {
    if (named.includes(text)) return undefined;
    return /^@every (\d+(\.\d+)?(h|m|s|ms))+$/.test(text) ? undefined : `unrecognized descriptor: ${text}`;
  }
  const parts = text
    .trim()
    .split(/\s+/)
    .filter((part) => part !== '');
  if (parts.length !== fields.length)
    return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [index, range] of fields.entries()) {
    for (const item of (parts[index] ?? '').split(',')) {
      const problem = itemProblem(item, range);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

/** `*`, `?`, `n`, `n-m`, each with an optional step. */
function itemProblem(item: string, range: FieldRange): string | undefined {
  const [span = '', step, ...more] = item.split('/');
  if (more.length > 0) return `too many slashes: ${item}`;
  if (step !== undefined && (!/^\d{1,4}$/.test(step) || Number(step) === 0))
    return `step of range should be a positive number: ${item}`;
  if (span === '*' || span === '?') return undefined;
  const [from = '', to, ...others] = span.split('-');
  if (others.length > 0) return `too many hyphens: ${item}`;
  const first = numberOf(from, range);
  const last = to === undefined ? first : numberOf(to, range);
  if (first === undefined || last === undefined) return `failed to parse int from ${item}`;
  if (first < range.lowest) return `beginning of range (${first}) below minimum (${range.lowest}): ${item}`;
  if (last > range.highest) return `end of range (${last}) above maximum (${range.highest}): ${item}`;
  return first > last ? `beginning of range (${first}) beyond end of range (${last}): ${item}` : undefined;
}

function numberOf(text: string, { names = [], lowest }: FieldRange): number | undefined {
  const position = names.indexOf(text.toLowerCase());
  if (position >= 0) return position + lowest;
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}
