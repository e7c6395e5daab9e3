/** The timeline's copy on a real file system that is full for a while. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { linuxHost } from '../../src/host/index.js';
import { openDiskRing, readDiskRing, Timeline } from '../../src/timeline/index.js';

it('a full disk costs no entry, and is written again by itself', async () => {
  if (process.getuid?.() !== 0)
    throw new Error('real mounts are tested as root on Linux; run these tests there');
  const { mounts } = linuxHost();
  const directory = realpathSync(mkdtempSync(join('/var/tmp', 'nodelet-ring-')));
  await mounts.mount({ source: 'tmpfs', target: directory, fsType: 'tmpfs', options: ['size=64k'] });
  const told: string[] = [];
  const dir = join(directory, 'timeline');
  const ring = openDiskRing({
    dir,
    onError: (error) => told.push(String(error)),
    onRecovered: (lost) => told.push(`recovered ${lost}`),
  });
  try {
    const timeline = new Timeline();
    timeline.subscribe(ring.reader);
    const record = (count: number): void => {
      for (let n = 0; n < count; n++)
        timeline.record({ kind: 'effect', what: 'agent.task', message: 'm'.repeat(500) });
    };
    record(1);
    await expect.poll(async () => (await readDiskRing(dir)).entries.length).toBe(1);
    writeFileSync(join(directory, 'filler'), Buffer.alloc(48 * 1024));
    record(60);
    await expect.poll(() => told).toEqual([expect.stringContaining('ENOSPC')]);
    rmSync(join(directory, 'filler'));
    await expect.poll(() => told, { timeout: 20_000 }).toEqual([expect.anything(), 'recovered 0']);
    expect((await readDiskRing(dir)).entries.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 61 }, (_, n) => n + 1),
    );
  } finally {
    await ring.close();
    await mounts.unmount(directory);
    rmSync(directory, { recursive: true });
  }
}, 60_000);
