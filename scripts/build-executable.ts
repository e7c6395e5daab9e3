/**
 * `npm run build:executable`: makes `executable/nodelet`, one file with Node and the program in it, for machines without
 * Node. The Node that runs this script goes into it and must be able to make it; nothing else is needed.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildUi } from './build-ui.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const directory = path.join(root, 'executable');
/** The first that makes the file by itself (`--build-sea`) and runs ES modules from it. */
const oldestMajor = 26;

/** Bundled CommonJS packages call `require` for what comes with Node, and ESM has none. */
const requireForCommonJs =
  "import{createRequire as nodeletCreateRequire}from'node:module';const require=nodeletCreateRequire(import.meta.url);";

async function main(): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
    process.stderr.write(
      `build-executable: Node ${process.versions.node} cannot make it, Node ${oldestMajor} can; it need not be installed:\n` +
        `  npx tsx scripts/node-versions.ts ${oldestMajor} npm run build:executable\n`,
    );
    return 1;
  }
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  const bundle = path.join(directory, 'nodelet.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['src/cli/executable.ts'],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: `node${oldestMajor}`,
    minifySyntax: true,
    minifyWhitespace: true,
    // Stack traces in the log should name functions.
    minifyIdentifiers: false,
    banner: { js: requireForCommonJs },
    logLevel: 'warning',
  });
  const page = path.join(directory, 'ui');
  await buildUi(path.relative(root, page));
  const output = path.join(directory, 'nodelet');
  const settings = path.join(directory, 'sea.json');
  const content = {
    main: bundle,
    mainFormat: 'module',
    output,
    // Compiled once, here: this is why the file starts quicker than the package.
    useCodeCache: true,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(readdirSync(page).map((name) => [`ui/${name}`, path.join(page, name)])),
    // As in bin/nodelet; and no signal opens the inspector.
    execArgv: ['--min-semi-space-size=4', '--max-semi-space-size=8', '--disable-sigusr1'],
  };
  writeFileSync(settings, JSON.stringify(content));
  const { status, error } = spawnSync(process.execPath, ['--build-sea', settings], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) return 1;
  rmSync(bundle);
  rmSync(page, { recursive: true });
  rmSync(settings);
  const mebibytes = (statSync(output).size / (1 << 20)).toFixed(0);
  process.stdout.write(`executable/nodelet: ${mebibytes} MiB, with Node ${process.versions.node}\n`);
  return 0;
}

process.exitCode = await main();
