/** What pods name never becomes an option of this machine's `mount`, and no name makes a failed `umount` pass for success. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostUnderTest } from './host-contract.js';
import { onThisMachine } from './host-linux.js';

onThisMachine((name, create) => {
  describe(`mount commands and hostile names: ${name}`, () => {
    let underTest: HostUnderTest;
    let results: Record<
      string,
      { readonly mounted: boolean; readonly message?: string; readonly code?: string }
    >;

    beforeAll(async () => {
      underTest = await create();
      const bundle = join(underTest.directory, 'worker.mjs');
      await build({
        entryPoints: [join(import.meta.dirname, 'mount-attack-worker.ts')],
        outfile: bundle,
        bundle: true,
        platform: 'node',
        format: 'esm',
        logLevel: 'silent',
        banner: {
          js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
        },
      });
      const dir = join(underTest.directory, 'work');
      mkdirSync(dir);
      // In a mount namespace of its own: should an attack succeed, nobody else sees it.
      const words = ['--mount', '--propagation', 'private', '--', process.execPath, bundle, dir];
      results = JSON.parse(execFileSync('unshare', words, { encoding: 'utf8', timeout: 50_000 }));
    });
    afterAll(() => underTest.dispose());

    it('the attack works against a command line without an end of options', () =>
      expect(results.control).toEqual({ mounted: true }));

    it('the machine refuses the source by name', () =>
      expect(results.host).toEqual({
        mounted: false,
        code: 'EINVAL',
        message: expect.stringMatching(/^cannot mount: nfs\.server: "-T.*" must not begin with "-"/),
      }));

    it('the nfs plugin refuses the server by name', () =>
      expect(results.plugin).toEqual({
        mounted: false,
        message: expect.stringMatching(/^nfs\.server: "-T.*" must not begin with "-"/),
      }));

    it.each(['not mounted', 'x: not mounted.', 'y\numount: z: not mounted.'])(
      'a busy mount at a directory called %j is a failure',
      (dir) => expect(results[dir]).toMatchObject({ mounted: true, code: 'EBUSY' }),
    );

    it.each(['plain', 'link'])('where nothing is mounted there is nothing to do: %s', (dir) =>
      expect(results[dir]).toEqual({ mounted: false }),
    );

    it.each(['lied', 'liedLink'])('the mount table has the last word: %s', (dir) =>
      expect(results[dir]).toMatchObject({
        mounted: true,
        message: expect.stringContaining('unmount failed'),
      }),
    );
  });
});
