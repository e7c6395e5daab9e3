/** The package as it is published: installed by npm without anything else, it runs pods and serves as a library. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CleanupStack, createTempDir } from '../env/index.js';
import { podManifest } from './manifests.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const cleanups = new CleanupStack();
let dir: string;

/** npm as a user runs it, and with no registry to ask. */
const npm = (cwd: string, ...args: string[]): Promise<{ stdout: string }> =>
  run('npm', [...args, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd,
    env: { ...process.env, npm_config_cache: path.join(dir, 'npm-cache') },
  });

beforeAll(async () => {
  ({ path: dir } = await createTempDir('package', { cleanups }));
  await npm(project, 'pack', '--pack-destination', dir);
  const [archive = ''] = (await readdir(dir)).filter((name) => name.endsWith('.tgz'));
  await writeFile(path.join(dir, 'package.json'), '{ "name": "user", "private": true, "type": "module" }');
  await npm(dir, 'install', path.join(dir, archive));
});
afterAll(() => cleanups.run());

it('has the program, the library and its types, and needs no other package', async () => {
  const installed = await readdir(path.join(dir, 'node_modules'));
  expect(installed.filter((name) => !name.startsWith('.'))).toEqual(['nodelet']);
  expect((await readdir(path.join(dir, 'node_modules/nodelet'))).sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'SCOPE.md',
    'SECURITY.md',
    'bin',
    'dist',
    'docs',
    'examples',
    'package.json',
    'systemd',
  ]);
});

it('brings its examples, its pages and the unit that they tell of', async () => {
  const installed = path.join(dir, 'node_modules/nodelet');
  const env = { ...process.env, NODELET_STATE_DIR: path.join(dir, 'state'), NO_COLOR: '1' };
  const job = path.join(installed, 'examples/pods/job.yaml');
  const { stdout } = await run(
    path.join(dir, 'node_modules/.bin/nodelet'),
    ['run', '--runtime', 'process', job],
    { env, timeout: 60_000 },
  );
  expect(stdout).toMatch(/job-\w+: Completed/);
  const unit = await readFile(path.join(installed, 'systemd/nodelet.service'), 'utf8');
  expect(unit).toMatch(/^ExecStart=\/usr\/local\/bin\/nodelet agent /m);
  for (const [, page = ''] of unit.matchAll(/(docs\/\S+\.md)/g))
    expect(await readFile(path.join(installed, page), 'utf8')).toContain('nodelet.service');
});

it('runs pods', async () => {
  const manifest = path.join(dir, 'job.json');
  await writeFile(manifest, podManifest('hello', { script: 'echo from the package', policy: 'Never' }));
  const env = { ...process.env, NODELET_STATE_DIR: path.join(dir, 'state'), NO_COLOR: '1' };
  const { stdout } = await run(
    path.join(dir, 'node_modules/.bin/nodelet'),
    ['run', '--runtime', 'process', '--logs', manifest],
    { env, timeout: 60_000 },
  );
  expect(stdout).toContain('from the package');
});

it('is a library whose types stand by themselves', async () => {
  await mkdir(path.join(dir, 'src'));
  await writeFile(
    path.join(dir, 'src/main.ts'),
    `import { createKubelet, SimRuntime, VirtualClock } from 'nodelet';
const clock: VirtualClock = new VirtualClock();
console.log(typeof createKubelet, new SimRuntime({ clock }) instanceof SimRuntime);
`,
  );
  await writeFile(
    path.join(dir, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2022',
        strict: true,
        outDir: 'out',
        rootDir: 'src',
        typeRoots: [path.join(project, 'node_modules/@types')],
        types: ['node'],
      },
      include: ['src'],
    }),
  );
  await run(process.execPath, [path.join(project, 'node_modules/typescript/bin/tsc'), '-p', dir]);
  const { stdout } = await run(process.execPath, [path.join(dir, 'out/main.js')], { cwd: dir });
  expect(stdout).toBe('function true\n');
});
