/**
 * Makes dist/: the command and the library with everything they need bundled in, so that starting
 * reads few files, the page, and the library's type declarations.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { buildUi } from './build-ui.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

/** Output in dist/ by its entry point. */
const entryPoints = {
  nodelet: 'src/cli/main.ts',
  index: 'src/index.ts',
  // Started by the process runtime, once for each container.
  supervisor: 'src/runtimes/process/supervisor.ts',
  // A thread of a process with hollow nodes.
  'hollow-thread': 'src/hollow/process/thread.ts',
};

/** All that dist/ is made from. */
const inputs = [
  'src',
  'ui',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];
/** Of what the present dist/ was made. Not in it, as that is published. */
const madeOf = path.join(root, 'node_modules/.cache/nodelet/dist-made-of');

/** Bundled CommonJS packages call `require` for what comes with Node, and ESM has none. */
const requireForCommonJs =
  "import{createRequire as nodeletCreateRequire}from'node:module';const require=nodeletCreateRequire(import.meta.url);";

async function main(): Promise<number> {
  const missing = Object.values(entryPoints).filter((entry) => !existsSync(path.join(root, entry)));
  if (missing.length > 0) {
    process.stderr.write(`build: no ${missing.join(' and no ')}; there is nothing to build from\n`);
    return 1;
  }
  const now = inputsHash();
  if (existsSync(madeOf) && readFileSync(madeOf, 'utf8') === now && isWhole()) {
    process.stdout.write('dist is up to date\n');
    return 0;
  }
  rmSync(madeOf, { force: true });
  // Chunks are named by their content: those of an earlier build would stay and be published.
  rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: 'dist',
    entryNames: '[name]',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    // Stack traces in the log should name functions.
    minifyIdentifiers: false,
    banner: { js: requireForCommonJs },
    metafile: true,
    logLevel: 'warning',
  });
  report(metafile);
  process.stdout.write(`dist/ui: ${kib(await buildUi('dist/ui'))}\n`);
  const status = emitDeclarations();
  if (status === 0) {
    mkdirSync(path.dirname(madeOf), { recursive: true });
    writeFileSync(madeOf, now);
  }
  return status;
}

function inputsHash(): string {
  const hash = createHash('sha256');
  const add = (name: string): void => {
    const file = path.join(root, name);
    hash.update(`${name}\0`).update(readFileSync(file)).update('\0');
  };
  for (const input of inputs) {
    if (path.extname(input) !== '') add(input);
    else
      for (const name of readdirSync(path.join(root, input), { recursive: true, encoding: 'utf8' }).sort())
        if (path.extname(name) !== '') add(path.join(input, name));
  }
  return hash.digest('hex');
}

function isWhole(): boolean {
  const outputs = [...Object.keys(entryPoints).map((name) => `${name}.js`), 'ui', 'types/index.d.ts'];
  return outputs.every((name) => existsSync(path.join(root, 'dist', name)));
}

function emitDeclarations(): number {
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const { status, error } = spawnSync(
    process.execPath,
    [tsc, '-p', 'tsconfig.build.json', '--emitDeclarationOnly'],
    { cwd: root, stdio: 'inherit' },
  );
  if (error !== undefined) throw error;
  if (status !== 0) process.stderr.write('build: the type declarations could not be written\n');
  return status ?? 1;
}

/** For each entry point, what is read when it starts; the rest is loaded when it is needed. */
function report(metafile: Metafile): void {
  const totalBytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  for (const name of Object.keys(entryPoints)) {
    const atStart = staticImports(metafile, `dist/${name}.js`);
    const bytes = [...atStart].reduce((sum, file) => sum + (metafile.outputs[file]?.bytes ?? 0), 0);
    process.stdout.write(`dist/${name}.js: ${kib(bytes)} in ${atStart.size} files at start\n`);
  }
  process.stdout.write(`dist in all: ${kib(totalBytes)} in ${Object.keys(metafile.outputs).length} files\n`);
}

function staticImports(metafile: Metafile, entry: string): Set<string> {
  const reached = new Set([entry]);
  for (const file of reached) {
    for (const imported of metafile.outputs[file]?.imports ?? []) {
      if (imported.kind === 'import-statement' && imported.external !== true) reached.add(imported.path);
    }
  }
  return reached;
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

process.exitCode = await main();
