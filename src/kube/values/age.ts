/** Formats ages as kubectl does: 45s, 3m20s, 5h, 2d3h. */

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Longer ages have coarser units. */
export function formatAge(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return twoParts(seconds, minute, 'm', 1, 's');
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return twoParts(seconds, hour, 'h', minute, 'm');
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return twoParts(seconds, day, 'd', hour, 'h');
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return twoParts(seconds, year, 'y', day, 'd');
  return `${Math.floor(seconds / year)}y`;
}

function twoParts(seconds: number, whole: number, wholeUnit: string, part: number, partUnit: string): string {
  const rest = Math.floor((seconds % whole) / part);
  const first = `${Math.floor(seconds / whole)}${wholeUnit}`;
  return rest === 0 ? first : `${first}${rest}${partUnit}`;
}
