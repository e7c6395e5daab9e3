/** Schedules of CronJobs: parses their text and finds the moments they name, in a time zone. */
import { BoundedMap, errorText } from '../../async/index.js';
import { parseDuration } from '../../kube/index.js';

/** The matching numbers of each field, or a fixed distance. */
export type CronSchedule =
  | { readonly kind: 'every'; readonly periodMs: number }
  | {
      readonly kind: 'fields';
      readonly minutes: ReadonlySet<number>;
      readonly hours: ReadonlySet<number>;
      readonly days: ReadonlySet<number>;
      readonly months: ReadonlySet<number>;
      readonly weekdays: ReadonlySet<number>;
      /** Whether a day must match both fields: so if one of them is `*`. */
      readonly matchesBoth: boolean;
    };

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const longestText = 512;

/** The schedule, or what is wrong with its text. */
export function parseSchedule(
  text: string,
): CronSchedule | { readonly kind: 'problem'; readonly problem: string } {
  const problem = (what: string) => ({ kind: 'problem', problem: what }) as const;
  const given = text.trim();
  if (given === '' || given.length > longestText) return problem('the schedule is empty or too long');
  if (given.startsWith('@every ')) {
    try {
      const periodMs = Math.max(1000, Math.floor(parseDuration(given.slice(7).trim()) / 1000) * 1000);
      return { kind: 'every', periodMs };
    } catch (error) {
      return problem(errorText(error));
    }
  }
  const parts = (macros[given] ?? given).split(/\s+/);
  if (parts.length !== 5) return problem(`expected 5 fields, found ${parts.length}: "${given}"`);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = parts;
  const minutes = field(minute, 0, 59);
  const hours = field(hour, 0, 23);
  const days = field(day, 1, 31);
  const months = field(month, 1, 12, monthNames, 1);
  const weekdays = field(weekday, 0, 6, dayNames, 0);
  if (
    minutes === undefined ||
    hours === undefined ||
    days === undefined ||
    months === undefined ||
    weekdays === undefined
  )
    return problem(`a field of "${given}" cannot be read`);
  return {
    kind: 'fields',
    minutes,
    hours,
    days,
    months,
    weekdays,
    matchesBoth: isAny(day) || isAny(weekday),
  };
}

function isAny(text: string): boolean {
  return text.startsWith('*') || text.startsWith('?');
}

function field(
  text: string,
  least: number,
  most: number,
  names: readonly string[] = [],
  firstName = 0,
): ReadonlySet<number> | undefined {
  const found = new Set<number>();
  const numberOf = (part: string): number => {
    const named = names.indexOf(part.toLowerCase());
    return named >= 0 ? named + firstName : /^\d{1,2}$/.test(part) ? Number(part) : Number.NaN;
  };
  for (const part of text.split(',')) {
    const [range = '', step, ...more] = part.split('/');
    const [from = '', to, ...rest] = range.split('-');
    const isWhole = range === '*' || range === '?';
    const first = isWhole ? least : numberOf(from);
    const last = isWhole ? most : to === undefined ? (step === undefined ? first : most) : numberOf(to);
    const by = step === undefined ? 1 : /^\d{1,3}$/.test(step) ? Number(step) : 0;
    const isRight =
      first >= least && last <= most && first <= last && by >= 1 && more.length + rest.length === 0;
    if (!isRight) return undefined;
    for (let value = first; value <= last; value += by) found.add(value);
  }
  return found;
}

const formatters = new BoundedMap<string, Intl.DateTimeFormat>({ maxEntries: 64 });

/** Undefined for a time zone that does not exist. */
function formatterOf(timeZone: string): Intl.DateTimeFormat | undefined {
  const known = formatters.use(timeZone);
  if (known !== undefined) return known;
  try {
    const made = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(timeZone, made);
    return made;
  } catch {
    // The name is none that exists.
    return undefined;
  }
}

export function isTimeZone(name: string): boolean {
  return formatterOf(name) !== undefined;
}

/** The local clock as if it were UTC. */
function localMs(atMs: number, timeZone: string): number {
  if (timeZone === 'UTC') return atMs;
  const parts = new Map(
    formatterOf(timeZone)
      ?.formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: string): number => parts.get(type as Intl.DateTimeFormatPartTypes) ?? 0;
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

const dayMs = 86_400_000;
const searchedDays = 5 * 366;

/** The first moment after the given one; undefined when there is none within five years. */
export function nextTime(schedule: CronSchedule, afterMs: number, timeZone = 'UTC'): number | undefined {
  if (schedule.kind === 'every') return Math.floor(afterMs / 1000) * 1000 + schedule.periodMs;
  const { minutes, hours, days, months, weekdays, matchesBoth } = schedule;
  const startLocal = localMs(afterMs, timeZone);
  const firstDay = Math.floor(startLocal / dayMs) * dayMs;
  const [sortedHours, sortedMinutes] = [hours, minutes].map((one) => [...one].sort((a, b) => a - b));
  for (let day = 0; day < searchedDays; day++) {
    const date = new Date(firstDay + day * dayMs);
    if (!months.has(date.getUTCMonth() + 1)) continue;
    const byDay = days.has(date.getUTCDate());
    const byWeekday = weekdays.has(date.getUTCDay());
    if (!(matchesBoth ? byDay && byWeekday : byDay || byWeekday)) continue;
    for (const hour of sortedHours ?? []) {
      for (const minute of sortedMinutes ?? []) {
        const wall = date.getTime() + hour * 3_600_000 + minute * 60_000;
        // Clocks are set by less than a day.
        if (wall < startLocal - dayMs) continue;
        const found = instantsOf(wall, timeZone).find((one) => one > afterMs);
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

/** The moments at which the local clock shows this: none in a gap, two when the clock is set back. */
function instantsOf(wallMs: number, timeZone: string): number[] {
  const offsets = [wallMs - dayMs, wallMs + dayMs].map((near) => localMs(near, timeZone) - near);
  const instants = [...new Set(offsets)].map((offset) => wallMs - offset);
  const [first] = instants.filter((one) => localMs(one, timeZone) === wallMs).sort((a, b) => a - b);
  return first === undefined ? [] : [first];
}

/** The last moment up to the given one, and not before the earliest. */
export function lastTime(
  schedule: CronSchedule,
  earliestMs: number,
  nowMs: number,
  timeZone = 'UTC',
): number | undefined {
  if (schedule.kind === 'every') {
    const runs = Math.floor((nowMs - earliestMs) / schedule.periodMs);
    return runs < 1 ? undefined : Math.floor(earliestMs / 1000) * 1000 + runs * schedule.periodMs;
  }
  for (let windowMs = 120_000; ; windowMs *= 2) {
    const fromMs = Math.max(earliestMs, nowMs - windowMs);
    let found = nextTime(schedule, fromMs, timeZone);
    if (found !== undefined && found <= nowMs) {
      for (let next = nextTime(schedule, found, timeZone); next !== undefined && next <= nowMs; ) {
        found = next;
        next = nextTime(schedule, found, timeZone);
      }
      return found;
    }
    if (fromMs === earliestMs) return undefined;
  }
}
