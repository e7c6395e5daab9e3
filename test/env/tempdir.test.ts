import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from './command.js';
import { mountsBelow, parseMountInfo } from './mounts.js';
import { CleanupStack, createTempDir } from './tempdir.js';

describe('createTempDir', () => {
  it('removes what is in it, but not what is mounted into it', async () => {
    const kept = await createTempDir('kept');
    writeFileSync(join(kept.path, 'file'), 'precious');
    const dir = await createTempDir('dir');
    const mountPoint = join(dir.path, 'a mount\\point');
    mkdirSync(mountPoint);
    await runCommand('mount', ['--bind', kept.path, mountPoint]);
    await runCommand('mount', ['-t', 'tmpfs', 'tmpfs', mountPoint]);
    expect(mountsBelow(dir.path)).toHaveLength(2);

    await dir.remove();

    expect(mountsBelow(dir.path)).toEqual([]);
    expect(existsSync(dir.path)).toBe(false);
    expect(readFileSync(join(kept.path, 'file'), 'utf8')).toBe('precious');
    await kept.remove();
    await kept.remove();
  });

  it('is a shared mount on demand', async () => {
    const dir = await createTempDir('dir', { shared: true });
    expect(mountsBelow(dir.path)).toMatchObject([{ mountPoint: dir.path, shared: true }]);
    await dir.remove();
    expect(existsSync(dir.path)).toBe(false);
  });
});

describe('CleanupStack', () => {
  it('undoes all in the opposite order and reports the steps that failed', async () => {
    const order: string[] = [];
    const cleanups = new CleanupStack();
    cleanups.defer('first', async () => void order.push('first'));
    cleanups.defer('second', () => Promise.reject(new Error('broken')));
    cleanups.defer('third', async () => void order.push('third'));
    await expect(cleanups.run()).rejects.toThrow('cleaning up second failed: Error: broken');
    expect(order).toEqual(['third', 'first']);
    await cleanups.run();
  });
});

it('parseMountInfo reads paths, kinds and propagation', () => {
  const text = [
    '36 35 98:0 /a /mnt/with\\040blank rw,noatime shared:1 master:2 - ext3 /dev/root rw',
    '37 35 0:3 / /proc rw - proc proc rw',
    '',
  ].join('\n');
  expect(parseMountInfo(text)).toEqual([
    { mountPoint: '/mnt/with blank', fsType: 'ext3', shared: true },
    { mountPoint: '/proc', fsType: 'proc', shared: false },
  ]);
});
