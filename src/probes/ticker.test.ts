import { describe, expect, it } from 'vitest';
import { firstDelayMs, nextTick } from './ticker.js';

describe('the first tick', () => {
  it.each([
    ['the agent has just started', 10_000, 0, 5_000],
    ['the agent has run for less than a period', 10_000, 9_999, 5_000],
    ['the agent has run for a period', 10_000, 10_000, 0],
  ])('%s', (_, periodMs, sinceStartMs, expected) => {
    expect(firstDelayMs(periodMs, sinceStartMs, () => 0.5)).toBe(expected);
  });
});

describe('the next tick', () => {
  it.each([
    ['before its time', 1_000, 400, 600, 2_000],
    ['at its time', 1_000, 1_000, 0, 2_000],
    ['one was missed', 1_000, 1_700, 0, 2_000],
    ['several were missed, one of them is made up for', 1_000, 4_200, 0, 5_000],
  ])('%s', (_, dueMs, nowMs, delayMs, followingMs) => {
    expect(nextTick(dueMs, 1_000, nowMs)).toEqual({ delayMs, followingMs });
  });
});
