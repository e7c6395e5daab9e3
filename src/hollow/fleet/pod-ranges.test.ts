import { expect, it } from 'vitest';
import { PodRanges } from './pod-ranges.js';

it('gives ranges that follow each other', () => {
  const ranges = new PodRanges();
  expect([ranges.take(110), ranges.take(110), ranges.take(110)]).toEqual([
    '10.64.0.0/24',
    '10.64.1.0/24',
    '10.64.2.0/24',
  ]);
});

it('a node with many pods has a larger one, which begins where such a range may', () => {
  const ranges = new PodRanges();
  expect([ranges.take(110), ranges.take(1000), ranges.take(110)]).toEqual([
    '10.64.0.0/24',
    '10.64.8.0/21',
    '10.64.16.0/24',
  ]);
});

it('begins again at the end', () => {
  const ranges = new PodRanges();
  for (let count = 0; count < 64 * 256; count++) ranges.take(110);
  expect(ranges.take(110)).toBe('10.64.0.0/24');
});
