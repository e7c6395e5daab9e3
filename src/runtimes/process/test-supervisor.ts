/** For tests: the supervisor bundled as it ships, so that starting one costs as much as in production. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** The supervisor entry, in a new directory that the caller removes. */
export async function buildSupervisor(): Promise<{ readonly entry: string; readonly directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'nodelet-supervisor-'));
  const entry = join(directory, 'supervisor.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('supervisor.ts', import.meta.url))],
    outfile: entry,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
  });
  return { entry, directory };
}
