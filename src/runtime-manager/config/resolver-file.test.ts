import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ResolverFile } from './resolver-file.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'resolver-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the resolver file', () => {
  it('shows each change at once, however it is made', async () => {
    const path = join(dir, 'resolv.conf');
    const file = new ResolverFile();
    const servers = async () => (await file.read(path)).servers;
    writeFileSync(path, 'nameserver 10.0.0.1\n');
    expect(await servers()).toEqual(['10.0.0.1']);
    writeFileSync(path, 'nameserver 10.0.0.2\n');
    expect(await servers()).toEqual(['10.0.0.2']);
    writeFileSync(`${path}.new`, 'nameserver 10.0.0.3\n');
    renameSync(`${path}.new`, path);
    expect(await servers()).toEqual(['10.0.0.3']);
  });
  it('is the same object while nobody writes it', async () => {
    const file = new ResolverFile();
    const first = await file.read('/proc/version');
    expect(await file.read('/proc/version')).toEqual(first);
    const settled = await file.read('/etc/passwd');
    expect(await file.read('/etc/passwd')).toBe(settled);
  });
  it('is empty without a path, and an error names a missing file', async () => {
    expect((await new ResolverFile().read('')).servers).toEqual([]);
    const missing = join(dir, 'missing');
    await expect(new ResolverFile().read(missing)).rejects.toThrow(
      `could not read the resolver file ${missing}: ENOENT`,
    );
  });
});
