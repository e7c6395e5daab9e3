import { describe, expect, it } from 'vitest';
import { nearestName } from './nearest-name.js';

const known = ['maxPods', 'podsPerCore', 'port'];

describe('nearestName', () => {
  it.each([
    ['another letter case', 'MAXPODS', 'maxPods'],
    ['a letter left out', 'maxPds', 'maxPods'],
    ['one letter too many', 'portt', 'port'],
    ['nothing like it', 'evictionHard', undefined],
    ['a name of millions of letters, without comparing it', 'a'.repeat(5_000_000), undefined],
  ])('%s', (_, wanted, expected) => {
    expect(nearestName(wanted, known)).toBe(expected);
  });
});
