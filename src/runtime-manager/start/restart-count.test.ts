import { describe, expect, it } from 'vitest';
import { restartCountFromLogs } from './restart-count.js';

describe('restartCountFromLogs', () => {
  it.each([
    ['the highest number counts, rotated or not', ['0.log.rotated', '1.log', '2.log'], 3],
    ['rotated logs alone count', ['5.log.rotated', '6.log.rotated'], 7],
    ['other names do not count', ['mylog42.log'], 0],
    ['the dot is required', ['12log.x'], 0],
    ['no files', [], 0],
    ['a number that is too large is ignored', ['99999999999999999999.log', '4.log'], 5],
  ])('%s', (_, files, expected) => {
    expect(restartCountFromLogs(files)).toBe(expected);
  });
});
