/** The store of what must outlive a crash on real file systems that are full, read-only or hold a pipe. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { DurableFiles, DurableState, linuxHost } from '../../src/host/index.js';

const host = linuxHost();
let directory: string;
let told: string[];
let store: DurableFiles;

beforeEach(async () => {
  if (process.getuid?.() !== 0)
    throw new Error('real mounts are tested as root on Linux; run these tests there');
  directory = realpathSync(mkdtempSync(join('/var/tmp', 'nodelet-durable-')));
  await host.mounts.mount({ source: 'tmpfs', target: directory, fsType: 'tmpfs', options: ['size=64k'] });
  told = [];
  store = new DurableFiles({
    files: host.files,
    clock: systemClock,
    observer: {
      setAside: ({ reason }) => told.push(`set aside: ${reason}`),
      failing: (_, error, failures) => told.push(`failing ${error.code} ${failures}`),
      recovered: (_, failures) => told.push(`recovered ${failures}`),
    },
  });
});
afterEach(async () => {
  await host.mounts.unmount(directory);
  rmSync(directory, { recursive: true });
});

const path = (): string => join(directory, 'agent', 'state');
const code = (write: Promise<void>): Promise<unknown> =>
  write.then(
    () => 'written',
    (error) => error.code,
  );

describe('a file system', () => {
  it('that is full keeps the old content, and takes the new when it has room', async () => {
    await store.write(path(), 'old');
    writeFileSync(join(directory, 'filler'), Buffer.alloc(52 * 1024));
    const large = 'x'.repeat(16 * 1024);
    expect([await code(store.write(path(), large)), await code(store.write(path(), large))]).toEqual([
      'ENOSPC',
      'ENOSPC',
    ]);
    expect(readFileSync(path(), 'utf8')).toBe('old');
    expect(readdirSync(join(directory, 'agent'))).toEqual(['state']);
    rmSync(join(directory, 'filler'));
    expect(await code(store.write(path(), large))).toBe('written');
    expect(readFileSync(path(), 'utf8')).toBe(large);
    expect(told).toEqual(['failing ENOSPC 1', 'recovered 2']);
  });

  it('that is read-only for a while has the newest state by itself afterwards', async () => {
    let value = '';
    const state = new DurableState(store, path(), () => value);
    const change = (to: string): void => {
      value = to;
      state.changed();
    };
    change('first');
    await state.written();
    await host.mounts.mount({ target: directory, options: ['remount', 'ro'] });
    change('second');
    await expect(state.written()).rejects.toMatchObject({ code: 'EROFS' });
    expect(readFileSync(path(), 'utf8')).toBe('first');
    await host.mounts.mount({ target: directory, options: ['remount', 'rw'] });
    await expect.poll(() => readFileSync(path(), 'utf8'), { timeout: 20_000 }).toBe('second');
    await state.stop();
    expect(told).toEqual(['failing EROFS 1', expect.stringMatching(/^recovered \d$/)]);
  }, 30_000);

  it('that has a pipe or a directory where the file should be: neither is waited for', async () => {
    mkdirSync(join(directory, 'agent'));
    for (const place of [path(), `${path()}.tmp`]) expect(spawnSync('mkfifo', [place]).status).toBe(0);
    expect(await store.read(path(), (text) => text)).toMatchObject({ kind: 'set aside' });
    await store.write(path(), 'content');
    expect(await store.read(path(), (text) => text)).toEqual({ kind: 'found', value: 'content' });
    rmSync(path());
    mkdirSync(join(path(), 'full'), { recursive: true });
    expect(await store.read(path(), (text) => text)).toMatchObject({ kind: 'set aside' });
    await store.write(path(), 'content');
    expect(told).toEqual(['set aside: it is a fifo', 'set aside: it is a directory']);
  });
});
