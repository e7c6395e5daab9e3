import { describe, expect, it } from 'vitest';
import { nearestName } from './nearest-name.js';

const known = ['maxPods', 'podsPerCore', 'port'];

describe('nearestName', () => {
  it.each([
    ['another letter case', 'MAXPODS', 'maxPods'],
    ['a missing letter', 'maxPds', 'maxPods'],
    ['an extra letter', 'portt', 'port'],
    ['no similar name', 'evictionHard', undefined],
    ['a name of millions of letters, without a comparison', 'a'.repeat(5_000_000), undefined],
  ])('%s', (_, wanted, expected) => {
    expect(nearestName(wanted, known)).toBe(expected);
  });
});
