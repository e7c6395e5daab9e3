import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxOwnFiles } from './linux-own-files.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodelet-own-files-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('a file that is synced', () => {
  it('is whole before anything else runs', async () => {
    const path = join(dir, 'state');
    const content = 'ä'.repeat(100_000);
    let seen: string | undefined;
    const onWritten = (): void => {
      seen = readFileSync(path, 'utf8');
    };
    const writing = linuxOwnFiles.writeFile(path, content, { sync: true, exclusive: true, onWritten });
    expect(seen).toBe(content);
    await writing;
  });

  it('that is in the way is left alone', async () => {
    const path = join(dir, 'state');
    await linuxOwnFiles.writeFile(path, 'old', { sync: true, exclusive: true });
    await expect(linuxOwnFiles.writeFile(path, 'new', { sync: true, exclusive: true })).rejects.toMatchObject(
      { code: 'EEXIST', path },
    );
    expect(readFileSync(path, 'utf8')).toBe('old');
    await linuxOwnFiles.writeFile(path, 'n', { sync: true });
    expect(readFileSync(path, 'utf8')).toBe('n');
  });
});
