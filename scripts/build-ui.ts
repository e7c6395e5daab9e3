/** Makes the page: one program for browsers, its styles, and the frame that loads them, in a directory of their own. */
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
/** Served as they are. */
const asTheyAre = ['index.html', 'icon.svg'];

/** Throws when something of the page needs Node. Returns what all its files take. */
export async function buildUi(outdir: string): Promise<number> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'ui/main.tsx', style: 'ui/page.css' },
    outdir,
    // Flat, as the server of the page knows no directories.
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // What the page imports of src/ is pure; a module that is only passed through is left out again.
    external: ['node:*'],
    metafile: true,
    logLevel: 'warning',
  });
  for (const [file, output] of Object.entries(metafile.outputs)) {
    const needed = output.imports.filter(({ path: name }) => name.startsWith('node:'));
    if (needed.length > 0)
      throw new Error(
        `${file} needs ${needed.map(({ path: name }) => name).join(', ')}, and a browser has none`,
      );
  }
  mkdirSync(path.join(root, outdir), { recursive: true });
  for (const name of asTheyAre) copyFileSync(path.join(root, 'ui', name), path.join(root, outdir, name));
  return Object.values(metafile.outputs).reduce((sum, { bytes }) => sum + bytes, 0);
}
