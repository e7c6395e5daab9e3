/** `nodelet run --api`: a run on processes whose pods kubectl sees, and of which nothing is left. */
import { mkdtempSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../env/command.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';
import { Command, leftovers, processesOf } from '../run/command.js';

const dir = mkdtempSync('/tmp/nodelet-run-api-');
const stateDir = path.join(dir, 's');
const running: Command[] = [];
beforeAll(async () => {
  await controlPlaneProgram('kubectl');
  await mkdir(path.join(dir, 'm'));
});
afterAll(async () => {
  for (const command of running) {
    command.signal('SIGKILL');
    await command.exitCode();
    await new Command(['stop'], { stateDir }).exitCode();
  }
  await rm(dir, { recursive: true, force: true });
});

const put = (text: string): Promise<void> => writeFile(path.join(dir, 'm/web.yaml'), text);
const deployment = (replicas: number): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: app, image: x, command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]}]
`;
const kubectl = async (...args: string[]): Promise<string> => {
  const program = await controlPlaneProgram('kubectl');
  const env = { KUBECONFIG: path.join(stateDir, 'data/default/kubeconfig'), HOME: dir };
  return (await runCommand(program, args, { env, timeoutMs: 60_000 })).stdout;
};
const start = (...flags: string[]): Command => {
  const argv = ['run', '--api', '--runtime', 'process', path.join(dir, 'm'), ...flags];
  const command = new Command(argv, { stateDir });
  running.push(command);
  return command;
};
const ready = (replicas: number): Promise<unknown> =>
  pollUntil(
    `${replicas} pods are ready`,
    async () => {
      const found = await kubectl('get', 'deployment', 'web', '-o', 'jsonpath={.status.readyReplicas}');
      return found === String(replicas) || undefined;
    },
    { timeoutMs: 60_000, detail: () => running.map(({ output }) => output).join('\n') },
  );

it('serves kubectl, follows the files, is taken over after a kill -9, and leaves nothing', async () => {
  await put(deployment(1));
  const first = start('--watch');
  await first.until(/web-.*: Running, 1\/1 ready/);
  await ready(1);
  const [pod = ''] = (await kubectl('get', 'pods', '-o', 'name')).trim().split('\n');
  const shown = new Command(['ps'], { stateDir });
  expect(await shown.exitCode()).toBe(0);
  expect(shown.stdout).toContain(path.basename(pod));
  first.signal('SIGKILL');
  await first.exitCode();
  running.pop();

  const again = start('--watch');
  await again.until('taking over what an earlier run named default left behind');
  await again.until(/web-.*: Running, 1\/1 ready/);
  expect((await kubectl('get', 'pods', '-o', 'name')).trim()).toBe(pod);
  await put(deployment(1).replace('replicas', 'replica'));
  await again.until('web.yaml:5:3: spec.replica: Deployment has no such field');
  await put(deployment(2));
  await ready(2);
  const stop = new Command(['stop'], { stateDir });
  expect(await stop.exitCode(), stop.stderr).toBe(0);
  expect(await again.exitCode()).toBe(0);
  running.pop();
  expect(leftovers(stateDir)).toEqual([]);
  expect(processesOf(stateDir)).toEqual([]);
});

it('does not take standard input', async () => {
  const command = new Command(['run', '--api', '-'], { stateDir });
  expect(await command.exitCode()).toBe(2);
  expect(command.stderr).toContain('--api takes files and directories, not -');
});
