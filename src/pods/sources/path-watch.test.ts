import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readLimited } from './path-watch.js';
import { manifestLimitBytes } from './source.js';

const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-read-'));
afterAll(() => rmSync(dir, { recursive: true }));

function written(name: string, text: string): string {
  const file = path.join(dir, name);
  writeFileSync(file, text);
  return file;
}

describe('a manifest’s text', () => {
  it('is read whole', () => {
    expect(readLimited(written('a', 'kind: Pod\n'))).toBe('kind: Pod\n');
    expect(readLimited(written('empty', ''))).toBe('');
  });
  it('is read to its end even if the size is unknown', () => {
    expect(readLimited('/proc/self/status')).toMatch(/^Name:[\s\S]*\n$/);
  });
  it('is rejected at the limit', () => {
    const file = written('large', 'x'.repeat(manifestLimitBytes));
    expect(() => readLimited(file)).toThrow(`smaller than ${manifestLimitBytes} bytes`);
  });
  it('comes from a regular file only: others may be endless', () => {
    expect(() => readLimited('/dev/zero')).toThrow('/dev/zero: not a regular file');
  });
});
