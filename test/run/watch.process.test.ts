/** `nodelet run --watch` on processes: what changed manifests do to pods that run. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../env/index.js';
import { Command, type CommandOptions, leftovers, processesOf } from './command.js';
import { documents, podManifest, runsOn, stubborn } from './manifests.js';

let dir: string;
let stateDir: string;
const running: Command[] = [];

beforeEach(async () => {
  dir = await mkdtemp('/tmp/nodelet-watch-');
  stateDir = path.join(dir, 'state');
  await mkdir(path.join(dir, 'm'));
});
afterEach(async () => {
  for (const command of running.splice(0)) {
    command.signal('SIGKILL');
    await command.exitCode();
    await new Command(['stop'], { stateDir }).exitCode();
  }
  await rm(dir, { recursive: true, force: true });
});

/** Writes as editors do: another file that takes the place of the old one. */
const put = async (name: string, ...manifests: string[]): Promise<void> => {
  const file = path.join(dir, 'm', name);
  await writeFile(`${file}.new`, documents(...manifests));
  await rename(`${file}.new`, file);
};
const watch = (args: readonly string[] = [], options: Partial<CommandOptions> = {}): Command => {
  const argv = ['run', '--runtime', 'process', '--watch', path.join(dir, 'm'), ...args];
  const command = new Command(argv, { stateDir, ...options });
  running.push(command);
  return command;
};
const nodelet = async (...args: string[]): Promise<string> => {
  const command = new Command(args, { stateDir });
  expect(await command.exitCode(), command.stderr).toBe(0);
  return command.stdout;
};
const stop = async (command: Command): Promise<number | null> => {
  running.splice(running.indexOf(command), 1);
  command.signal('SIGTERM');
  const code = await command.exitCode();
  expect(leftovers(stateDir)).toEqual([]);
  expect(processesOf(stateDir)).toEqual([]);
  return code;
};
const settings = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {word: ${value}}\n`;
/** Tells each start of a container, and each end by request. */
const marked = (name: string): string =>
  `trap 'echo end >> ${dir}/${name}.log; exit 0' TERM; echo start >> ${dir}/${name}.log; while :; do sleep 0.1; done`;
const marks = async (name: string): Promise<string[]> =>
  (await readFile(path.join(dir, `${name}.log`), 'utf8').catch(() => '')).split('\n').filter(Boolean);
const until = (what: string, isSo: () => Promise<boolean>): Promise<unknown> =>
  pollUntil(what, async () => ((await isSo()) ? true : undefined), {
    timeoutMs: 30_000,
    detail: () => running.map(({ output }) => output).join('\n'),
  });

describe('nodelet run --watch', () => {
  it('follows a directory: updates, replaces, starts and ends pods, and tells why', async () => {
    const web = (script: string, image = 'x:1'): string => podManifest('web', { script, image });
    const deployment = (replicas: number): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: dep}
spec:
  replicas: ${replicas}
  template:
    spec: {containers: [{name: c, image: x, command: [sh, -c, "${runsOn}"]}]}`;
    await put('web.yaml', web(runsOn));
    await put('dep.yaml', deployment(1));
    const command = watch();
    await command.until('web: Running');

    await put('web.yaml', web(runsOn, 'x:2'));
    await command.until('web: updated in place, as spec.containers[0].image changed');
    await command.until('web: Running, 1/1 ready, 1 restart');

    await put('job.yaml', podManifest('job', { policy: 'Never', script: 'exit 0' }));
    await command.until('job: Completed');
    expect(await nodelet('explain', 'job')).toContain(
      'the pod is started  because it is new in the manifests',
    );

    await put('web.yaml', web(marked('web'), 'x:2'));
    await command.until(
      'web: takes the place of the running pod after its end, as spec.containers[0].command[2] changed',
    );
    await until('the new pod runs', async () => (await marks('web')).length === 1);
    expect(await nodelet('explain', 'web')).toMatch(
      /takes the place of an earlier one, after its end {2}because spec\.containers\[0\]\.command\[2\] changed/,
    );

    await put('dep.yaml', deployment(3));
    await until(
      'three pods run',
      async () => (await nodelet('get', 'pods')).match(/^dep-.*Running/gm)?.length === 3,
    );
    await rm(path.join(dir, 'm/dep.yaml'));
    await until('they are gone', async () => !(await nodelet('get', 'pods')).includes('dep-'));
    expect(await marks('web')).toHaveLength(1);
    expect(await stop(command)).toBe(0);
    expect(await marks('web')).toEqual(['start', 'end']);
  });

  it('tells of errors once, changes nothing then, and everything else goes on', async () => {
    await put('a.yaml', podManifest('a', { script: marked('a') }));
    await put('b.yaml', podManifest('b', { script: runsOn, image: 'x:1' }));
    const command = watch(['-q']);
    await until('both run', async () => (await marks('a')).length === 1);
    const file = path.join(dir, 'm/a.yaml');
    await put(
      'a.yaml',
      podManifest('a', { script: runsOn }).replace('"command":', '"comand":').replace('"app"', '7'),
    );
    await command.until(`error: ${file}: until this is right, what it said before holds`);
    expect(command.stderr).toContain(`error: ${file}:1:`);
    expect(command.stderr).toContain('spec.containers[0].name: expected a string, found a number');
    await put('b.yaml', podManifest('b', { script: runsOn, image: 'x:2' }));
    await until('b is changed', async () => (await nodelet('get', 'pods', '-o', 'json')).includes('x:2'));
    await put('a.yaml', '');
    await command.until('it is empty; write a Pod into it');
    expect(command.stderr.match(/found a number/g)).toHaveLength(1);
    expect(await marks('a')).toHaveLength(1);
    expect(await stop(command)).toBe(1);
    expect(command.stdout).toBe('');
  });

  it('brings changed ConfigMaps into the volumes of running pods', async () => {
    const reader = JSON.parse(
      podManifest('reader', { script: `echo $NODELET_ROOT > ${dir}/root; ${runsOn}` }),
    );
    reader.spec.volumes = [{ name: 'conf', configMap: { name: 'conf' } }];
    reader.spec.containers[0].volumeMounts = [{ name: 'conf', mountPath: '/conf' }];
    await put('pod.yaml', JSON.stringify(reader));
    await put('conf.yaml', settings('one'));
    const command = watch();
    const word = (): string => {
      try {
        return readFileSync(
          path.join(readFileSync(path.join(dir, 'root'), 'utf8').trim(), 'conf/word'),
          'utf8',
        );
      } catch {
        return '';
      }
    };
    await until('the first word', async () => word() === 'one');
    await put('conf.yaml', settings('two'));
    await until('the second word', async () => word() === 'two');
    expect(command.output).toContain('ConfigMap default/conf of the manifests changed');
    expect(command.output).not.toMatch(/reader: .*restart/);
    expect(await stop(command)).toBe(0);
  });

  it('shows in the table why a pod ends', async () => {
    await put('mule.yaml', podManifest('mule', { script: stubborn, graceSeconds: 2 }));
    const command = watch([], { terminal: { columns: 150, rows: 10 } });
    await command.until(/^mule +1\/1 +Running/m);
    await put('mule.yaml', podManifest('mule', { script: runsOn, graceSeconds: 2 }));
    await command.until(
      /^mule +1\/1 +Terminating +.*its end: another one takes its place, as spec\.containers\[0\]\.command\[2\] changed/m,
    );
    await command.until(/^mule +1\/1 +Running +0 +\d+s *$/m);
    command.type('\u0003');
    running.pop();
    expect(await command.exitCode()).toBe(0);
  });

  it('killed while changes are applied loses and doubles nothing, whenever that is', async () => {
    for (const [round, delayMs] of [0, 300].entries()) {
      await rm(path.join(dir, 'a.log'), { force: true });
      await rm(path.join(dir, 'b.log'), { force: true });
      await put('a.yaml', podManifest('a', { script: marked('a') }));
      await put('b.yaml', podManifest('b', { script: marked('b'), image: 'x:1' }));
      const killed = watch();
      await until('both run', async () => (await marks('a')).length + (await marks('b')).length === 2);
      await put('a.yaml', podManifest('a', { script: `: ${round}; ${marked('a')}` }));
      await put('b.yaml', podManifest('b', { script: marked('b'), image: 'x:2' }));
      if (delayMs > 0) await killed.until('b: updated in place');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      killed.signal('SIGKILL');
      running.pop();
      await killed.exitCode();

      const again = watch();
      // Each ran before and after the change, once, and one after the other.
      const order = (name: string): Promise<string> => marks(name).then((lines) => lines.join(' '));
      await until(
        'both changed',
        async () => (await order('a')) === 'start end start' && (await order('b')) === 'start end start',
      );
      await again.until(/b: Running, 1\/1 ready, 1 restart/);
      expect(await stop(again)).toBe(0);
      for (const name of ['a', 'b']) expect(await order(name)).toBe('start end start end');
    }
  });

  it('goes on in the background', async () => {
    await put('a.yaml', podManifest('a', { script: marked('a') }));
    const started = watch(['-d']);
    expect(await started.exitCode()).toBe(0);
    running.pop();
    expect(started.stdout).toContain('Run "default" is up with 1 pod');
    await put('b.yaml', podManifest('b', { script: marked('b') }));
    await until('b runs', async () => (await marks('b')).length === 1);
    await put('b.yaml', 'kind: [');
    const log = path.join(stateDir, 'data/default.log');
    await until('the error is in the log', async () => (await readFile(log, 'utf8')).includes('b.yaml:1:'));
    await nodelet('stop');
    expect(processesOf(stateDir)).toEqual([]);
  });

  it.each<[string, string[], number, RegExp]>([
    ['standard input', ['-'], 2, /--watch cannot follow standard input: write the manifests to a file/],
    [
      'only URLs',
      ['http://127.0.0.1:1/x'],
      2,
      /--watch follows files and directories, and URLs are read once/,
    ],
    ['what is not there', ['/tmp/nodelet-none.yaml'], 1, /none\.yaml: there is no such file or directory/],
  ])('does not follow %s', async (_what, args, code, message) => {
    const command = new Command(['run', '--watch', ...args], { stateDir });
    expect(await command.exitCode()).toBe(code);
    expect(command.stderr).toMatch(message);
  });

  it('waits for manifests in an empty directory', async () => {
    const command = watch();
    await command.until('runtime: ');
    await put('a.yaml', podManifest('a', { policy: 'Never', script: 'exit 0' }));
    await command.until('a: Completed');
    expect(await stop(command)).toBe(0);
  });
});
