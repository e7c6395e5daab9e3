/** Runs `examples/hollow` as a person does, on a real control plane. */
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import {
  CleanupStack,
  type CommandResult,
  type ControlPlane,
  createTempDir,
  runCommand,
  startControlPlane,
} from '../env/index.js';

const examples = path.resolve(import.meta.dirname, '../../examples/hollow');
const bin = path.resolve(import.meta.dirname, '../../bin');
const cleanups = new CleanupStack();
let plane: ControlPlane;
let home: string;
let plainConfig: string;

beforeAll(async () => {
  plane = await startControlPlane({
    cleanups,
    controllers: true,
    scheduler: true,
    controllerArgs: ['--node-monitor-grace-period=25s', '--node-monitor-period=1s'],
  });
  home = (await createTempDir('examples', { cleanups })).path;
  plainConfig = path.join(home, 'tsconfig.json');
  await writeFile(plainConfig, '{}');
});
afterAll(() => cleanups.run());

async function runExample(name: string): Promise<CommandResult> {
  const kubectl = path.dirname(await controlPlaneProgram('kubectl'));
  const env = {
    KUBECONFIG: plane.adminKubeconfig,
    HOME: home,
    TMPDIR: home,
    // The types of examples are checked against src; what runs is the package, as a user has it.
    TSX_TSCONFIG_PATH: plainConfig,
    PATH: `${bin}:${kubectl}:${process.env.PATH}`,
  };
  const loader = `--import=${pathToFileURL(createRequire(import.meta.url).resolve('tsx'))}`;
  return runCommand(process.execPath, [loader, path.join(examples, name)], { env, timeoutMs: 170_000 });
}

const hollowNodes = async () =>
  (await plane.admin.list(resources.nodes, { labelSelector: 'nodelet.dev/hollow=true' })).items;

it('the scheduler test finds that pods are spread, and leaves nothing behind', async () => {
  const { stdout } = await runExample('scheduler-test.ts');
  expect(stdout).toContain('zone a has 10 pods\nzone b has 10 pods\nzone c has 10 pods\n');
  expect(await hollowNodes()).toEqual([]);
});

it('the node failure test sees pods start elsewhere, and leaves nothing behind', async () => {
  const { stdout } = await runExample('node-failure.ts');
  expect(stdout).toMatch(/6 pods are ready on the other nodes: after \d+ s\n\S+ is ready again/);
  expect(await hollowNodes()).toEqual([]);
});
