import { describe, expect, it } from 'vitest';
import { restartCountFromLogs } from './restart-count.js';

describe('restartCountFromLogs', () => {
  it.each([
    ['48: the highest number counts, rotated or not', ['0.log.rotated', '1.log', '2.log'], 3],
    ['48: rotated logs alone count', ['5.log.rotated', '6.log.rotated'], 7],
    ['48: other names do not count', ['mylog42.log'], 0],
    ['48: the dot is needed', ['12log.x'], 0],
    ['no files', [], 0],
    ['a number beyond reason is not ours', ['99999999999999999999.log', '4.log'], 5],
  ])('%s', (_, files, expected) => {
    expect(restartCountFromLogs(files)).toBe(expected);
  });
});
