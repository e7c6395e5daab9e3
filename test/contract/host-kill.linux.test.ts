/** Volumes of a process that is killed at any step, on this machine: the next process finds all old or all new, and heals. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mountPointsUnder } from '../../src/host/index.js';
import { type HostUnderTest, textOf } from './host-contract.js';
import { mountSubPaths, unmountSubPaths, writeContent } from './host-kill-work.js';
import { onThisMachine } from './host-linux.js';

onThisMachine((name, create) => {
  describe(`a killed process: ${name}`, () => {
    let underTest: HostUnderTest;
    let bundle: string;
    let count = 0;

    beforeAll(async () => {
      underTest = await create();
      bundle = join(underTest.directory, 'worker.mjs');
      await build({
        entryPoints: [join(import.meta.dirname, 'host-kill-worker.ts')],
        outfile: bundle,
        bundle: true,
        platform: 'node',
        format: 'esm',
        logLevel: 'silent',
        banner: {
          js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
        },
      });
    });
    afterAll(async () => {
      for (const { target } of await mountPointsUnder(underTest.host, underTest.directory))
        await underTest.host.mounts.unmount(target);
      await underTest.dispose();
    });

    async function prepare(): Promise<string> {
      const root = join(underTest.directory, `case-${count++}`);
      for (const dir of ['config', 'pod', 'volume/dir']) mkdirSync(join(root, dir), { recursive: true });
      writeFileSync(join(root, 'volume/dir/data'), 'kept');
      writeFileSync(join(root, 'volume/file'), 'kept');
      await writeContent(underTest.host, root, 'old');
      return root;
    }

    /** The number of changing calls when it ended by itself, or `killed`. */
    function run(killAt: number, root: string, path = process.env.PATH): Promise<number | 'killed'> {
      return new Promise((resolve, reject) => {
        execFile(
          process.execPath,
          [bundle, String(killAt), root],
          { env: { PATH: path } },
          (error, stdout, stderr) => {
            if (error === null) resolve(Number(stdout));
            else if (error.signal === 'SIGKILL') resolve('killed');
            else reject(new Error(stderr, { cause: error }));
          },
        );
      });
    }

    /** All old or all new; then the next process does the work again and takes it down. */
    async function expectHealed(root: string): Promise<void> {
      const { host } = underTest;
      const read = async (path: string): Promise<string> =>
        textOf(await host.files.readFile(join(root, 'config/..data', path)));
      const state = await read('a');
      expect(await read('b/c')).toBe(state);
      expect(await read(state === 'old' ? 'gone' : 'added/x')).toBe(state);

      await writeContent(host, root, 'new');
      const current = await host.files.readlink(join(root, 'config/..data'));
      const names = [...(await host.files.readdir(join(root, 'config')))].sort();
      expect(names).toEqual([current, '..data', 'a', 'added', 'b'].sort());
      expect(await host.files.stat(join(root, 'config/a'))).toMatchObject({ mode: 0o440, gid: 1001 });

      await mountSubPaths(host, root);
      expect(await mountPointsUnder(host, join(root, 'pod'))).toHaveLength(3);
      await unmountSubPaths(host, root);
      expect(await mountPointsUnder(host, root)).toEqual([]);
      expect(await host.files.readdir(join(root, 'pod'))).toEqual([]);
      expect(readFileSync(join(root, 'volume/dir/data'), 'utf8')).toBe('kept');
      expect(readFileSync(join(root, 'volume/file'), 'utf8')).toBe('kept');
    }

    it('before any call that changes something', { timeout: 300_000 }, async () => {
      const calls = await run(0, await prepare());
      expect(calls).toBeGreaterThan(30);
      for (let killAt = 1; killAt <= Number(calls); killAt++) {
        const root = await prepare();
        expect(await run(killAt, root)).toBe('killed');
        await expectHealed(root);
      }
    });

    it('between a bind and its remount, and behind them', async () => {
      const bin = join(underTest.directory, 'bin');
      mkdirSync(bin);
      const mount = execFileSync('sh', ['-c', 'command -v mount'], { encoding: 'utf8' }).trim();
      for (const pattern of ['*bind*', '*remount*']) {
        const other = pattern === '*bind*' ? '*remount*) ;; ' : '';
        // Its parent is a shell, whose parent is the process.
        const kill = 'read -r _ _ _ agent _ < /proc/$PPID/stat; kill -9 $agent';
        const script = `#!/bin/sh\n${mount} "$@" || exit\ncase "$*" in ${other}${pattern}) ${kill};; esac\n`;
        writeFileSync(join(bin, 'mount'), script);
        chmodSync(join(bin, 'mount'), 0o755);
        const root = await prepare();
        expect(await run(0, root, `${bin}:${process.env.PATH}`)).toBe('killed');
        expect(await mountPointsUnder(underTest.host, join(root, 'pod'))).toHaveLength(1);
        await expectHealed(root);
      }
    });
  });
});
