/** A secret volume of this machine whose process is killed before each change in turn: nothing leaks, nothing is mixed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { linuxHost } from '../../src/host/index.js';
import { contents, secretVolume, type Version, type Work } from './volume-kill-work.js';

const host = linuxHost();
const timeoutMs = 240_000;
/** More changes than any of the works makes. */
const changesLimit = 200;

describe('a killed process', () => {
  let directory: string;
  let child: string;
  let count = 0;

  beforeAll(async () => {
    directory = realpathSync(mkdtempSync('/var/tmp/nodelet-kill-'));
    child = join(directory, 'child.mjs');
    const entry = new URL('./volume-kill-child.ts', import.meta.url).pathname;
    await build({
      entryPoints: [entry],
      outfile: child,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    });
  }, timeoutMs);
  afterAll(async () => {
    for (const target of (await mounts(directory)).toReversed()) await host.mounts.unmount(target);
    rmSync(directory, { recursive: true });
  });

  async function mounts(below: string): Promise<string[]> {
    return (await host.mounts.list())
      .map(({ target }) => target)
      .filter((target) => target.startsWith(`${below}/`));
  }

  /** False when the work came to its end before the n-th change. */
  function killed(rootDir: string, work: Work, version: Version, at: number): boolean {
    const { signal, status, stderr } = spawnSync(process.execPath, [
      child,
      rootDir,
      work,
      version,
      String(at),
    ]);
    if (signal === 'SIGKILL') return true;
    if (status !== 0) throw new Error(stderr.toString());
    return false;
  }

  /** What a container would read. */
  function seen(path: string): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of ['a', 'gone', 'came']) {
      try {
        found[name] = readFileSync(join(path, '..data', name), 'utf8');
      } catch {
        // Not there.
      }
    }
    return found;
  }

  async function atEveryChange(
    work: Work,
    version: Version,
    prepare: (volume: ReturnType<typeof secretVolume>) => Promise<void>,
    check: (volume: ReturnType<typeof secretVolume>, at: number) => Promise<void>,
  ): Promise<void> {
    for (let at = 1; at <= changesLimit; at++) {
      const rootDir = join(directory, String(count++));
      const volume = secretVolume(host, systemClock, rootDir);
      await prepare(volume);
      const wasKilled = killed(rootDir, work, version, at);
      await check(volume, at);
      await volume.tearDown('old');
      expect(await mounts(rootDir)).toEqual([]);
      await expect(host.files.lstat(volume.path)).rejects.toThrow('ENOENT');
      if (!wasKilled) {
        expect(at).toBeGreaterThan(3);
        return;
      }
    }
    throw new Error(`no end within ${changesLimit} changes`);
  }

  it('in set-up leaves no half-written file, and the next one finishes', { timeout: timeoutMs }, async () => {
    await atEveryChange(
      'setUp',
      'old',
      async () => {},
      async (volume, at) => {
        expect([{}, contents.old], `change ${at}`).toContainEqual(seen(volume.path));
        await volume.setUp('old');
        expect(seen(volume.path)).toEqual(contents.old);
        const { mode, gid } = await host.files.stat(join(volume.path, 'a'));
        expect([mode.toString(8), gid]).toEqual(['440', 7]);
      },
    );
  });

  it('in a refresh leaves the old files or the new ones', { timeout: timeoutMs }, async () => {
    await atEveryChange(
      'setUp',
      'new',
      (volume) => volume.setUp('old'),
      async (volume, at) => {
        expect([contents.old, contents.new], `change ${at}`).toContainEqual(seen(volume.path));
        await volume.setUp('new');
        expect(seen(volume.path)).toEqual(contents.new);
        expect(
          (await host.files.readdir(volume.path)).filter((name) => !name.startsWith('..')).toSorted(),
        ).toEqual(['a', 'came']);
      },
    );
  });

  it('in tear-down leaves what the next one takes away', { timeout: timeoutMs }, async () => {
    await atEveryChange(
      'tearDown',
      'old',
      (volume) => volume.setUp('old'),
      async () => {},
    );
  });
});
