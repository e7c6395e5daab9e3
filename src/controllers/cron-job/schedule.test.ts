import { describe, expect, it } from 'vitest';
import { lastTime, nextTime, parseSchedule } from './schedule.js';

const at = (text: string): number => Date.parse(text);
const read = (text: string) => {
  const schedule = parseSchedule(text);
  if (schedule.kind === 'problem') throw new Error(schedule.problem);
  return schedule;
};

describe('nextTime', () => {
  it.each<[schedule: string, after: string, expected: string, timeZone?: string]>([
    ['* * * * *', '2026-01-01T00:00:30Z', '2026-01-01T00:01:00Z'],
    ['*/15 * * * *', '2026-01-01T00:15:00Z', '2026-01-01T00:30:00Z'],
    ['5/20 * * * *', '2026-01-01T00:30:00Z', '2026-01-01T00:45:00Z'],
    ['0 9-17/4 * * *', '2026-01-01T10:00:00Z', '2026-01-01T13:00:00Z'],
    ['30 3 * * mon-fri', '2026-01-02T04:00:00Z', '2026-01-05T03:30:00Z'],
    ['0 0 1 jan,jul ?', '2026-02-01T00:00:00Z', '2026-07-01T00:00:00Z'],
    ['0 0 13 * 5', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['@hourly', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'],
    ['@weekly', '2026-01-01T00:00:00Z', '2026-01-04T00:00:00Z'],
    ['@every 90s', '2026-01-01T00:00:00Z', '2026-01-01T00:01:30Z'],
    ['0 12 * * *', '2026-01-01T00:00:00Z', '2026-01-01T03:00:00Z', 'Asia/Tokyo'],
    // Clocks go from 2 to 3: there is no half past two on that day.
    ['30 2 * * *', '2026-03-29T00:00:00Z', '2026-03-30T00:30:00Z', 'Europe/Berlin'],
    // Clocks go back from 3 to 2: the first of the two counts, and only that.
    ['30 2 * * *', '2026-10-24T23:00:00Z', '2026-10-25T00:30:00Z', 'Europe/Berlin'],
    ['30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z', 'Europe/Berlin'],
  ])('%s after %s is %s', (schedule, after, expected, timeZone) => {
    expect(nextTime(read(schedule), at(after), timeZone)).toBe(at(expected));
  });
  it('ends its search for a day that does not exist', () => {
    expect(nextTime(read('0 0 30 2 *'), 0)).toBeUndefined();
  });
});

it.each([
  ['* * * * *', '2026-01-01T00:00:00Z', '2026-06-01T12:34:56Z', '2026-06-01T12:34:00Z'],
  ['0 0 1 1 *', '2025-01-01T00:00:00Z', '2026-06-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  ['@every 1h', '2026-01-01T00:10:00Z', '2026-01-01T03:00:00Z', '2026-01-01T02:10:00Z'],
])('the last moment of %s between %s and %s', (schedule, from, to, expected) => {
  expect(lastTime(read(schedule), at(from), at(to))).toBe(at(expected));
});
it('there is none before the first', () => {
  expect(lastTime(read('@hourly'), at('2026-01-01T00:10:00Z'), at('2026-01-01T00:50:00Z'))).toBeUndefined();
});

it.each([
  '',
  '* * * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * * 13 *',
  '* * * * 7',
  '5-1 * * * *',
  '*/0 * * * *',
  'a * * * *',
  '1-2-3 * * * *',
  '@often',
  '@every soon',
  'TZ=UTC * * * * *',
  '*'.repeat(600),
])('%j is no schedule', (text) => {
  expect(parseSchedule(text).kind).toBe('problem');
});
