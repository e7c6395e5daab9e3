import { describe, expect, it } from 'vitest';
import { makePod } from '../test-fixtures.js';
import { logSymlinkPath } from './log-symlink.js';

describe('log symlink', () => {
  it('is cut to fit into a file name', () => {
    const path = logSymlinkPath('/logs', makePod({}, { name: 'p'.repeat(300) }).metadata, 'c', 'id');
    expect(path).toBe(`/logs/${'p'.repeat(251)}.log`);
    expect(logSymlinkPath('/logs', makePod().metadata, 'app', 'abc')).toBe('/logs/web_shop_app-abc.log');
  });
});
