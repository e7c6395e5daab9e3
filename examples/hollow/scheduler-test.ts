// Does the scheduler spread pods over zones, and leave alone the nodes whose taint the pods do not tolerate? Needs nodelet, kubectl
// and a kubeconfig ($KUBECONFIG) of a cluster for tests, with its controllers and scheduler: npx tsx scheduler-test.ts
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const nodes = 14;
const podsOfAZone = 10;
const patienceMs = 60_000;
const here = import.meta.dirname;
const kubectl = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)('kubectl', args, { cwd: here })).stdout;

const dir = mkdtempSync(path.join(tmpdir(), 'scheduler-test-'));
const fleet = spawn(
  'nodelet',
  `hollow --profiles fleet.yaml --no-kubelet-api --delete-nodes --quiet --socket ${dir}/hollow.sock`.split(
    ' ',
  ),
  { cwd: here, stdio: 'inherit' },
);
const fleetEnded = new Promise<void>((resolve) => {
  fleet.on('exit', () => resolve());
  fleet.on('error', (error) => {
    console.error(`nodelet did not start: ${error.message}`);
    resolve();
  });
});

async function untilNodesAreReady(): Promise<void> {
  const startMs = Date.now();
  for (;;) {
    const lines = await kubectl('get', 'nodes', '--selector=nodelet.dev/hollow=true', '--no-headers');
    if (lines.split('\n').filter((line) => line.includes(' Ready ')).length === nodes) return;
    if (fleet.exitCode !== null || fleet.pid === undefined) throw new Error('nodelet hollow has ended');
    if (Date.now() - startMs > patienceMs)
      throw new Error(`not ready within ${patienceMs / 1000} s:\n${lines}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

try {
  await untilNodesAreReady();
  console.log('the nodes are ready');

  await kubectl('apply', '--filename=spread.yaml');
  await kubectl('rollout', 'status', 'deployment/spread', '--timeout=180s');

  const nodeOfEach = '--output=jsonpath={range .items[*]}{.spec.nodeName}{"\\n"}{end}';
  const used = (await kubectl('get', 'pods', '--selector=app=spread', nodeOfEach)).trim().split('\n');
  for (const zone of ['a', 'b', 'c']) {
    const count = used.filter((node) => node.startsWith(`zone-${zone}-`)).length;
    console.log(`zone ${zone} has ${count} pods`);
    if (count !== podsOfAZone) process.exitCode = 1;
  }
  if (used.some((node) => node.startsWith('gpu-'))) {
    console.log('pods are on nodes whose taint they do not tolerate');
    process.exitCode = 1;
  }
} finally {
  await kubectl('delete', '--filename=spread.yaml', '--ignore-not-found', '--wait=false').catch(
    (error: unknown) => console.error(`deployment spread was not deleted: ${error}`),
  );
  fleet.kill('SIGINT');
  await fleetEnded;
  rmSync(dir, { recursive: true });
}
