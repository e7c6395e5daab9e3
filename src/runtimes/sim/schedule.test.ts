import { describe, expect, it } from 'vitest';
import { parseSchedule, scheduledSum, scheduledValue } from './schedule.js';

const parse = (text: string) => parseSchedule(text, Number);

describe('the value of a schedule', () => {
  it.each([
    ['one value holds', '5', 1_000_000, 5],
    ['the first step', '1:10s+2', 9_999, 1],
    ['a step ends with its duration', '1:10s+2', 10_000, 2],
    ['the last one holds', '1:10s+2', 1_000_000, 2],
    ['steps repeat when all have a duration', '1:10s+2:5s', 15_000, 1],
    ['in the middle of a repetition', '1:10s+2:5s', 41_000, 2],
  ])('%s', (_, text, elapsedMs, value) => {
    expect(scheduledValue(parse(text), elapsedMs)).toBe(value);
  });
});

describe('the sum of a schedule', () => {
  it.each([
    ['nothing at the start', '5', 0, 0],
    ['a value that holds', '5', 2_000, 10_000],
    ['across steps', '1:10s+2', 12_000, 14_000],
    ['across repetitions', '1:10s+2:5s', 33_000, 43_000],
  ])('%s', (_, text, elapsedMs, sum) => {
    expect(scheduledSum(parse(text), elapsedMs)).toBe(sum);
  });
});

describe('a schedule is refused', () => {
  it.each([
    ['a step without a duration before another', '1+2', '"1" has no duration, and "2" follows it'],
    ['a duration of nothing', '1:0s+2', 'not longer than nothing'],
    ['no duration', '1:soon', 'soon'],
    ['too many steps', Array(65).fill('1:1s').join('+'), 'at most 64'],
  ])('%s', (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});
