/** Where Node's own calls for files may be used. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { guardedDirectories, judgeFileAccess, unguardedFiles } from './imports/file-access.js';
import { readImports } from './imports/read-imports.js';
import { judgeImport } from './imports/rules.js';

describe('judgeFileAccess', () => {
  const rows: readonly [rule: string, file: string, specifier: string, isRight: boolean][] = [
    ['logs are read by the host', 'src/runtime-manager/logs/read.ts', 'node:fs/promises', false],
    ['and removed by it', 'src/runtime-manager/gc/remover.ts', 'node:fs', false],
    ['volumes are its business', 'src/volumes/plugins/nfs.ts', 'node:fs', false],
    ['so are the logs of the node', 'src/server/node-logs/files.ts', 'node:fs', false],
    ['a module without its prefix counts', 'src/volumes/orphans.ts', 'fs/promises', false],
    ['a file with a reason may', 'src/runtimes/process/identity.ts', 'node:fs', true],
    ['a test may', 'src/volumes/x.test.ts', 'node:fs', true],
    ['what sets up tests may', 'src/runtimes/process/test-pods.ts', 'node:fs', true],
    ['the host itself may', 'src/host/linux/system-calls.ts', 'node:fs', true],
    ['other directories may', 'src/server/tls/reloaded-files.ts', 'node:fs', true],
    ['other modules may be used', 'src/volumes/orphans.ts', 'node:path', true],
  ];
  it.each(rows)('%s', (_, file, specifier, isRight) => {
    expect(judgeFileAccess(file, specifier) === undefined).toBe(isRight);
    if (!isRight) expect(judgeImport(file, specifier)).toContain('use the functions of src/host');
  });

  it('every exception is a file of a guarded directory, with a reason', () => {
    for (const [file, reason] of unguardedFiles) {
      expect(existsSync(file), file).toBe(true);
      expect(
        guardedDirectories.some((dir) => file.startsWith(dir)),
        file,
      ).toBe(true);
      expect(reason).not.toBe('');
      // An exception that nobody needs would let the next import pass without a reason.
      const specifiers = readImports(readFileSync(file, 'utf8')).map(({ specifier }) => specifier);
      expect(specifiers, file).toEqual(
        expect.arrayContaining([expect.stringMatching(/^node:fs(\/promises)?$/)]),
      );
    }
  });
});
