import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundle, Command, type CommandOptions, leftovers, processesOf } from './command.js';
import { documents, podManifest, runsOn, stubborn } from './manifests.js';

let dir: string;
let stateDir: string;
const running: Command[] = [];

beforeEach(async () => {
  dir = await mkdtemp('/tmp/nodelet-run-');
  stateDir = path.join(dir, 'state');
});
afterEach(async () => {
  for (const command of running.splice(0)) {
    command.signal('SIGTERM');
    await command.exitCode();
  }
  await rm(dir, { recursive: true, force: true });
});

const put = async (name: string, ...manifests: string[]): Promise<string> => {
  const file = path.join(dir, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, documents(...manifests));
  return file;
};
const nodelet = (args: readonly string[], options: Partial<CommandOptions> = {}): Command =>
  new Command(args, { stateDir, ...options });
const run = (args: readonly string[], options: Partial<CommandOptions> = {}): Command =>
  nodelet(['run', '--runtime', 'process', ...args], options);
const terminal = { columns: 100, rows: 20 };

function expectNothingLeft(): void {
  expect(leftovers(stateDir)).toEqual([]);
  expect(processesOf(stateDir)).toEqual([]);
}

describe('nodelet run that is not asked right', () => {
  it('an address that has a web page', async () => {
    const server = createServer((_, response) => response.end('<!DOCTYPE html><html></html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const command = run([`http://127.0.0.1:${port}/pod.yaml`]);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toContain('the server responded with a web page');
    server.close();
  });
  it('can be stopped while it waits for a manifest', async () => {
    let asked: () => void = () => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const server = createServer(() => asked());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const command = run([`http://127.0.0.1:${port}/pod.yaml`]);
    await wasAsked;
    command.signal('SIGINT');
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toBe('nodelet run: stopped before the manifests were read\n');
    server.closeAllConnections();
    server.close();
  });
  it('a state directory that cannot be created', async () => {
    await mkdir(stateDir, { recursive: true });
    await writeFile(path.join(stateDir, 'data'), '');
    const file = await put('job.yaml', podManifest('job', { policy: 'Never', script: 'exit 0' }));
    for (const flags of [[], ['--detach']]) {
      const command = run([file, ...flags]);
      expect(await command.exitCode()).toBe(1);
      expect(command.stderr).toMatch(
        /cannot (create|write).*; set NODELET_STATE_DIR to a directory of your own\n$/,
      );
    }
    const deep = nodelet(['run', '--runtime', 'process', file], { stateDir: path.join(dir, 'x'.repeat(90)) });
    expect(await deep.exitCode()).toBe(1);
    expect(deep.stderr).toMatch(/is too long for a socket.*shorter name\n$/);
  });
});

describe('nodelet run without a terminal', () => {
  it('tells each change in a line and ends by itself when its pods have', async () => {
    const file = await put('job.yaml', podManifest('job', { policy: 'Never', script: 'echo one; sleep 1' }));
    const command = run([file]);
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toMatch(/^\d\d:\d\d:\d\d job: Running, 1\/1 ready$/m);
    expect(command.stdout).toMatch(/job: Completed, 0\/1 ready$/m);
    expect(command.stderr).toMatch(
      /^runtime: plain processes of this machine without isolation, as you asked/,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them must be there
    expect(command.stdout).not.toMatch(/\u001b/);
    expectNothingLeft();
  });
  it.each<[string, string, 'Never' | 'OnFailure', number]>([
    ['a pod that fails', 'exit 3', 'Never', 1],
    [
      'a pod that is restarted until it succeeds',
      'test -e $0.done || { touch $0.done; exit 1; }',
      'OnFailure',
      0,
    ],
  ])('the exit code of %s', async (_what, script, policy, code) => {
    const marked = script.replaceAll('$0', path.join(dir, 'mark'));
    const file = await put('job.yaml', podManifest('job', { policy, script: marked }));
    const command = run([file]);
    expect(await command.exitCode()).toBe(code);
    if (code === 1)
      expect(command.stderr).toContain('pod default/job failed: container app exited with code 3');
    expectNothingLeft();
  });
  it('refuses a pod that the machine is too small for, and says what would help', async () => {
    const file = await put(
      'large.yaml',
      podManifest('large', { policy: 'Never', script: 'exit 0', requests: { cpu: '100k' } }),
      podManifest('small', { policy: 'Never', script: 'exit 0', requests: { cpu: '1m' } }),
    );
    const command = run([file]);
    expect(await command.exitCode()).toBe(1);
    expect(command.stdout).toMatch(
      /large: OutOfcpu, 0\/1 ready; waits for nothing: it was refused \(OutOfcpu\): Node didn't have enough resource: cpu, requested: 100000000, used: \d+, capacity: \d+; let it request less cpu/,
    );
    expect(command.stdout).toMatch(/small: Completed/);
    expect(command.stderr).toMatch(
      /pod default\/large failed: .*\n {2}what would help: let it request less cpu, or make room for it/,
    );
    expectNothingLeft();
  });
  it('refuses a pod that selects other nodes, until the node has the label', async () => {
    const manifest = podManifest('picky', {
      policy: 'Never',
      script: 'exit 0',
      nodeSelector: { disk: 'ssd' },
    });
    const file = await put('picky.yaml', manifest);
    const refused = run([file]);
    expect(await refused.exitCode()).toBe(1);
    expect(refused.stderr).toContain('Predicate NodeAffinity failed');
    expect(refused.stderr).toContain('label the node with --node-labels');
    expect(await run([file, '--node-labels', 'disk=ssd,x=y']).exitCode()).toBe(0);
    const wrong = run([file, '--node-labels', 'a b=c']);
    expect(await wrong.exitCode()).toBe(2);
    expect(wrong.stderr).toContain('--node-labels "a b": name part must be');
    expectNothingLeft();
  });
  it('says what is wrong with a manifest, runs the others, and does not end well', async () => {
    const file = await put(
      'mixed.yaml',
      podManifest('good', { policy: 'Never', script: 'exit 0' }),
      'apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: c, image: 7}]}',
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}',
    );
    const command = run([file]);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toContain(
      `error: ${file}:6:31: spec.containers[0].image: expected a string, found a number`,
    );
    expect(command.stderr).toContain('ignored, as they mean nothing to one machine: Service web');
    expect(command.stdout).toContain('good: Completed');
  });
  it('ends with 1 when nothing is left to run', async () => {
    const file = await put('bad.yaml', 'kind: [');
    const command = run([file, path.join(dir, 'none.yaml')]);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toContain(`error: ${file}:1`);
    expect(command.stderr).toContain('none.yaml: there is no such file or directory');
    expect(command.stderr).toContain('no pod is left to run');
    expectNothingLeft();
  });
  it('reads standard input, directories and URLs', async () => {
    const pod = (name: string): string => podManifest(name, { policy: 'Never', script: 'exit 0' });
    await put('directory/a.yaml', pod('a'));
    await put('directory/b.json', pod('b'));
    await put('directory/notes.txt', 'not a manifest');
    const server = createServer((_, response) => response.end(pod('d')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const inputs = [path.join(dir, 'directory'), '-', `http://127.0.0.1:${port}/d.yaml`];
    const command = run(inputs, { input: pod('c') });
    expect(await command.exitCode()).toBe(0);
    server.close();
    for (const name of ['a', 'b', 'c', 'd']) expect(command.stdout).toContain(`${name}: Completed`);
  });
  it('shows all logs behind the names of their containers, apart from what it says itself', async () => {
    const file = await put(
      'jobs.yaml',
      podManifest('a', { policy: 'Never', script: 'echo one; echo two >&2; printf rest' }),
      podManifest('b', { policy: 'Never', script: 'sleep 0.5; echo three' }),
    );
    const command = run([file, '--logs']);
    expect(await command.exitCode()).toBe(0);
    const lines = command.stdout.trim().split('\n').sort();
    expect(lines).toEqual(['a/app | one', 'a/app | rest', 'a/app | two', 'b/app | three']);
    expect(command.stderr).toContain('b: Completed');
  });
  it('says nothing with -q but what goes wrong', async () => {
    const file = await put('job.yaml', podManifest('job', { policy: 'Never', script: 'exit 0' }));
    const command = run([file, '-q']);
    expect(await command.exitCode()).toBe(0);
    expect(command.output).toBe('');
  });
  it('stops gracefully on SIGTERM', async () => {
    const file = await put('web.yaml', podManifest('web', { script: runsOn }));
    const command = run([file]);
    await command.until('web: Running');
    command.signal('SIGTERM');
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toContain('web: Terminating');
    expect(command.stdout).toContain('web: Stopped');
    expectNothingLeft();
  });
  it('gives a pod its ConfigMap and Secret of the same file', async () => {
    const file = await put(
      'job.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {greeting: hello}',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {word: open sesame}',
      `apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  restartPolicy: Never
  containers:
  - name: app
    image: x
    command: [sh, -c, 'echo $greeting, $WORD, $(cat $NODELET_ROOT/conf/greeting)']
    envFrom: [{configMapRef: {name: conf}}]
    env: [{name: WORD, valueFrom: {secretKeyRef: {name: key, key: word}}}]
    volumeMounts: [{name: conf, mountPath: /conf}]
  volumes: [{name: conf, configMap: {name: conf}}]`,
    );
    const command = run([file, '--logs']);
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toBe('reader/app | hello, open sesame, hello\n');
    expectNothingLeft();
  });
  it.each<[string, string[], RegExp]>([
    ['no manifest', [], /name a manifest, a directory or a URL/],
    ['an unknown flag', ['--wat', 'x'], /--wat/],
    [
      'an unknown runtime',
      ['--runtime', 'docker', 'x'],
      /--runtime docker: write auto, containerd or process/,
    ],
    ['a bad name', ['--name', 'a/b', 'x'], /cannot be the name of a run/],
  ])('refuses %s', async (_what, args, message) => {
    const command = nodelet(['run', ...args]);
    expect(await command.exitCode()).toBe(2);
    expect(command.stderr).toMatch(message);
  });
  it('lets pods end well when whoever reads its output goes away', async () => {
    const marker = path.join(dir, 'ended-well');
    const script = `trap 'sleep 0.5; echo > ${marker}; exit 0' TERM; while :; do echo line; sleep 0.1; done`;
    const file = await put('chatty.yaml', podManifest('chatty', { script }));
    const command = run([file, '--logs'], { prefix: ['sh', '-c', '"$0" "$@" | head -n 1'] });
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toBe('chatty/app | line\n');
    expect(command.stderr).not.toMatch(/Killing|failed/);
    expect(existsSync(marker)).toBe(true);
    expectNothingLeft();
  });
  it('shows help with examples', async () => {
    const command = nodelet(['run', '--help']);
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toContain('Examples:');
    for (const line of command.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });
  it('works for a user without any rights', async () => {
    await rm(dir, { recursive: true });
    await mkdir(dir, { mode: 0o777 });
    const { spawnSync } = await import('node:child_process');
    spawnSync('chmod', ['777', dir]);
    const file = await put('job.yaml', podManifest('job', { policy: 'Never', script: 'id -u' }));
    // The project may lie where only its owner can read, as below root's home.
    const dist = path.join(dir, 'dist');
    await cp(path.dirname(bundle), dist, { recursive: true });
    await writeFile(path.join(dir, 'package.json'), '{"type":"module"}');
    const program = path.join(dist, path.basename(bundle));
    const command = nodelet(['run', file, '--logs'], { uid: 65534, env: { HOME: dir }, program });
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toBe('job/app | 65534\n');
    expect(command.stderr).toMatch(/runtime: plain processes.*for real containers/);
    expectNothingLeft();
  });
});

describe('nodelet run in a terminal', () => {
  it('draws one table in place and stops on Ctrl-C', async () => {
    const file = await put(
      'pods.yaml',
      podManifest('web', { script: runsOn }),
      podManifest('crash', { script: 'sleep 0.3; exit 1' }),
    );
    const command = run([file], { terminal });
    await command.until(/^crash +0\/1 +CrashLoopBackOff +1 \(\d+s ago\) +\d+s +app: next try at/m);
    await command.until(/^web +1\/1 +Running +0 +\d+s/m);
    expect(command.screen.cursorVisible).toBe(false);
    expect(command.screen.lines.filter((line) => line.startsWith('POD '))).toHaveLength(1);
    expect(command.screen.lines.filter((line) => line.startsWith('web '))).toHaveLength(1);
    command.type('\u0003');
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout).toContain('Terminating');
    expect(command.screen.lines.filter((line) => line.startsWith('web ')).join()).toMatch(
      /^web +0\/1 +Stopped/,
    );
    expect(command.screen.cursorVisible).toBe(true);
    expectNothingLeft();
  });
  it('kills what does not stop on a second Ctrl-C', async () => {
    const file = await put('pods.yaml', podManifest('mule', { script: stubborn, graceSeconds: 600 }));
    const command = run([file], { terminal });
    await command.until(/^mule +1\/1 +Running/m);
    command.type('\u0003');
    await command.until(/^mule +\d\/1 +Terminating/m);
    await command.until('Ctrl-C again kills');
    await new Promise((resolve) => setTimeout(resolve, 400));
    command.type('\u0003');
    expect(await command.exitCode()).toBe(0);
    expectNothingLeft();
  });
  it('fits the screen as its size changes', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `a-pod-with-quite-a-long-name-${index}`);
    const file = await put('pods.yaml', ...names.map((name) => podManifest(name, { script: runsOn })));
    const command = run([file], { terminal });
    await command.until(
      (shown) => shown.screen.lines.filter((line) => line.includes('Running')).length === 12,
    );
    command.stdout = '';
    command.resize(30, 8);
    await command.until((shown) => shown.stdout.includes('more pods'));
    const lastFrame = command.stdout.split('\u001b[?2026h').at(-1) ?? '';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours and moves are not seen
    const seen = lastFrame.replace(/\u001b\[[?0-9;]*[A-Za-z]/g, '').split('\r\n');
    for (const line of seen) expect([...line.replace('\r', '')].length).toBeLessThanOrEqual(30);
    expect(seen.length).toBeLessThanOrEqual(8);
    command.type('\u0003');
    expect(await command.exitCode()).toBe(0);
  });
  it.each([
    ['colours', '', true],
    ['no colours with NO_COLOR', '1', false],
  ])('%s', async (_what, noColor, colored) => {
    const file = await put('pods.yaml', podManifest('web', { policy: 'Never', script: 'sleep 0.5' }));
    const command = run([file], { terminal, env: { NO_COLOR: noColor } });
    expect(await command.exitCode()).toBe(0);
    expect(command.stdout.includes('\u001b[32m')).toBe(colored);
    const logs = run([file, '--logs', '--name', 'logs'], { terminal, env: { NO_COLOR: noColor } });
    expect(await logs.exitCode()).toBe(0);
  });
});

describe('nodelet run in the background', () => {
  it('goes on after the command, and the next run of its name takes over what a kill -9 left', async () => {
    const file = await put('web.yaml', podManifest('web', { script: `echo $$ >> ${dir}/pids; ${runsOn}` }));
    const { readFile } = await import('node:fs/promises');
    const started = run([file, '--detach', '--name', 'bg']);
    expect(await started.exitCode()).toBe(0);
    expect(started.stdout).toMatch(/^Run "bg" is up with 1 pod \(pid \d+\)\.$/m);
    expect(started.stdout).toContain('nodelet stop --name bg');
    const record = path.join(stateDir, 'run/bg/run.json');
    const pidOf = async (): Promise<number> => JSON.parse(await readFile(record, 'utf8')).pid;
    const { pollUntil } = await import('../env/index.js');
    const pids = async (): Promise<string[]> =>
      (await readFile(`${dir}/pids`, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean);
    await pollUntil('the pod runs', async () => ((await pids()).length === 1 ? true : undefined), {
      timeoutMs: 20_000,
    });

    const twice = run([file, '--detach', '--name', 'bg']);
    expect(await twice.exitCode()).toBe(1);
    expect(twice.stderr).toContain('a run named "bg" is there already');

    process.kill(await pidOf(), 'SIGKILL');
    const again = run([file, '--name', 'bg']);
    await again.until('web: Running');
    expect(await pids()).toHaveLength(1);
    again.signal('SIGTERM');
    expect(await again.exitCode()).toBe(0);
    await rm(path.join(stateDir, 'data/bg.log'), { force: true });
    expect(leftovers(stateDir).filter((name) => name !== 'data')).toEqual([]);
    expect(processesOf(stateDir)).toEqual([]);
  });
  it('a changed manifest after a kill -9: what is no longer wanted is stopped', async () => {
    const first = await put('a.yaml', podManifest('old', { script: runsOn }));
    const second = await put('b.yaml', podManifest('new', { policy: 'Never', script: 'sleep 1' }));
    const command = run([first, '--name', 'bg']);
    await command.until('old: Running');
    command.signal('SIGKILL');
    await command.exitCode();
    const next = run([second, '--name', 'bg']);
    expect(await next.exitCode()).toBe(0);
    expectNothingLeft();
  });
  it('what a killed run has left is ended and removed by nodelet stop', async () => {
    const file = await put('web.yaml', podManifest('web', { script: runsOn }));
    const command = run([file]);
    await command.until('web: Running');
    command.signal('SIGKILL');
    await command.exitCode();
    const asked = nodelet(['get', 'pods']);
    expect(await asked.exitCode()).toBe(1);
    expect(asked.stderr).toContain('its containers may still run. "nodelet stop" ends and removes them');
    const stop = nodelet(['stop']);
    expect(await stop.exitCode()).toBe(0);
    expect(stop.stdout).toBe('run "default" had crashed; what it left is removed\n');
    expectNothingLeft();
  });
  it('shows why it could not start', async () => {
    const file = await put('bad.yaml', 'kind: Pod');
    const command = run([file, '--detach']);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toContain('apiVersion: is missing');
    expect(command.stderr).toContain('no pod is left to run');
    expect(leftovers(stateDir).filter((name) => name !== 'data')).toEqual([]);
  });
  it('runs of several names live side by side', async () => {
    const file = await put('web.yaml', podManifest('web', { script: runsOn }));
    const [one, two] = [run([file, '--name', 'one']), run([file, '--name', 'two'])];
    await one.until('web: Running');
    await two.until('web: Running');
    one.signal('SIGTERM');
    expect(await one.exitCode()).toBe(0);
    expect(leftovers(stateDir)).toContain('run/two');
    two.signal('SIGTERM');
    expect(await two.exitCode()).toBe(0);
    expectNothingLeft();
  });
});
