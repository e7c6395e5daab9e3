/** `ps`, `get`, `stop` and `explain` against a run, as a user types them. */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Pod } from '../../src/kube/index.js';
import { pollUntil } from '../env/index.js';
import { type LocalNode, pod, runCli, shellPod, startCli, startLocalNode } from './local-node.js';

let node: LocalNode;
const nodelet = (...args: string[]) =>
  runCli([...args.slice(0, 1), '--socket', node.socketPath, ...args.slice(1)]);
const web = shellPod('web', 'echo up; exec sleep 1000', { labels: { app: 'web' } });
const other = pod(
  'db',
  [{ name: 'app', image: 'host', command: ['sleep', '1000'] }],
  {},
  { app: 'db' },
  'data',
);

beforeAll(async () => {
  node = await startLocalNode();
  node.set(web, other);
  await node.ready('web');
  await node.ready('db');
});
afterAll(() => node.close());

describe('get', () => {
  it('shows the pods of the default namespace in a table', async () => {
    const { code, stdout, stderr } = await nodelet('get', 'pods');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running +0 +\d+s\n$/);
  });

  it('shows all namespaces and addresses', async () => {
    const { stdout } = await nodelet('get', '-A', '-o', 'wide');
    const [header, ...rows] = stdout.trim().split('\n');
    expect(header).toMatch(/^NAMESPACE +NAME .* IP +NODE +NOMINATED NODE +READINESS GATES$/);
    expect(rows.map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
      ['data', 'db'],
      ['default', 'web'],
    ]);
  });

  it('gives one pod as JSON that is the pod', async () => {
    const { stdout } = await nodelet('get', 'pod', 'web', '-o', 'json');
    const shown = JSON.parse(stdout) as Pod;
    expect(shown).toMatchObject({ apiVersion: 'v1', kind: 'Pod' });
    const kept = node.kubelet.pods().find(({ metadata }) => metadata.name === 'web');
    expect(shown).toEqual(JSON.parse(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...kept })));
    // As text it is stable: printed, read and printed again it is the same.
    expect(`${JSON.stringify(shown, undefined, 4)}\n`).toBe(stdout);
  });

  it('gives several pods as a list, the same in YAML', async () => {
    const list = JSON.parse((await nodelet('get', 'pods', '-A', '-o', 'json')).stdout);
    expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' } });
    expect(list.items).toHaveLength(2);
    expect(parse((await nodelet('get', 'pods', '-A', '-o', 'yaml')).stdout)).toEqual(list);
  });

  it('selects by label and names alone', async () => {
    expect((await nodelet('get', 'pods', '-A', '-l', 'app in (db,x)', '-o', 'name')).stdout).toBe('pod/db\n');
  });

  it('says that a namespace is empty', async () => {
    const { code, stderr } = await nodelet('get', 'pods', '-n', 'nowhere');
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'No resources found in nowhere namespace.\n' });
  });

  it('names the pods that there are when it does not know one', async () => {
    const { code, stderr } = await nodelet('get', 'pod', 'wep');
    expect(code).toBe(1);
    expect(stderr).toMatch(/pods "wep" not found; did you mean "web"\?\nThere are: data\/db, web\n/);
  });

  it('watches pods come and go until Ctrl-C', async () => {
    const { child, output, ended } = startCli(['get', 'pods', '-w', '--socket', node.socketPath]);
    await pollUntil('the first row', () => /^web /m.test(output().stdout) || undefined, {
      timeoutMs: 10_000,
    });
    node.set(web, other, shellPod('brief', 'exit 3', { restartPolicy: 'Never' }));
    await pollUntil('the new pod', () => /^brief .*Error/m.test(output().stdout) || undefined, {
      timeoutMs: 15_000,
      detail: () => output().stdout,
    });
    node.set(web, other);
    child.kill('SIGINT');
    expect((await ended).signal).toBe('SIGINT');
  });
});

describe('ps', () => {
  it('shows containers with ids, images and states', async () => {
    const { code, stdout } = await nodelet('ps');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^CONTAINER ID +POD +CONTAINER +IMAGE +STATE +SINCE +RESTARTS\n/);
    expect(stdout).toMatch(/^[0-9a-z]{13} +web +app +host +Running +\d+s +0$/m);
    expect(stdout).toMatch(/^[0-9a-z]{13} +data\/db +app +/m);
  });
});

describe('explain', () => {
  it('tells the life of a pod through the socket, and from disk', async () => {
    const live = await nodelet('explain', 'web');
    expect(live.code).toBe(0);
    expect(live.stdout).toMatch(/^Pod default\/web \(uid-default-web\)\n[\s\S]*Now: Running, ready\n/);
    const fromDisk = await runCli(['explain', 'web', '--root-dir', node.rootDir]);
    expect(fromDisk.stdout).toMatch(/Now: Running, ready\n/);
    const { stdout } = await nodelet('explain', 'web', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ pod: { name: 'web' }, phase: 'Running', ready: true });
  });

  it('shows the last lines of a log beside the exit, and nothing in them acts on the terminal', async () => {
    const crash = shellPod('crash', "echo before; printf '\\033[2Jlast words\\n'; exit 3");
    node.set(web, other, crash);
    await node.until('crash', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    const { stdout } = await nodelet('explain', 'crash');
    expect(stdout).toMatch(
      /^ {2}app: .*\n {4}the last lines before it ended with 3:\n {4}\| before\n {4}\| last words\n/m,
    );
    const { exits } = JSON.parse((await nodelet('explain', 'crash', '-o', 'json')).stdout);
    expect(exits).toEqual([{ container: 'app', exitCode: 3, lines: ['before', 'last words'] }]);
    expect((await nodelet('explain', 'web')).stdout).not.toContain('the last lines');
    node.set(web, other);
  });

  it('follows what happens', async () => {
    const steady = shellPod('followed', 'sleep 2; exit 0', { restartPolicy: 'Never' });
    node.set(web, other, steady);
    await node.until('followed', ({ status }) => status?.phase === 'Running');
    const { child, output, ended } = startCli(['explain', 'followed', '-f', '--socket', node.socketPath]);
    await pollUntil('the end of the pod', () => output().stdout.match(/Running → Succeeded/) ?? undefined, {
      timeoutMs: 15_000,
      detail: () => output().stdout,
    });
    child.kill('SIGINT');
    await ended;
    node.set(web, other);
  });

  it('names the pods that it knows', async () => {
    const { code, stderr } = await nodelet('explain', 'nope');
    expect(code).toBe(1);
    expect(stderr).toMatch(/no pod "nope" in the timeline; known are: .*default\/web/);
  });
});

describe('stop', () => {
  it('stops one pod and waits for its end', async () => {
    node.set(web, other, shellPod('gone', 'exec sleep 1000'));
    await node.ready('gone');
    const { code, stdout } = await nodelet('stop', 'gone', '--grace-period', '1');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'pod "gone" stopped\n' });
    expect(node.stops.at(-1)).toMatchObject({
      pods: [{ name: 'gone', namespace: 'default' }],
      gracePeriodSeconds: 1,
    });
  });

  it('does not stop what it does not know', async () => {
    expect(await nodelet('stop', 'nope')).toMatchObject({ code: 1 });
    expect(await nodelet('stop', 'web', '--now', '--grace-period', '3')).toMatchObject({ code: 2 });
  });
});

describe('the socket', () => {
  it('is for its user alone', async () => {
    expect(statSync(node.socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(node.socketPath)).mode & 0o777).toBe(0o700);
  });

  it('cannot be opened by another user', async () => {
    const source = `require('net').connect(${JSON.stringify(node.socketPath)}).on('error', (e) => { console.log(e.code); process.exit(3); }).on('connect', () => process.exit(0))`;
    const attempt = spawnSync(
      'setpriv',
      ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, '-e', source],
      {
        encoding: 'utf8',
      },
    );
    expect(attempt).toMatchObject({ status: 3, stdout: 'EACCES\n', stderr: '' });
  });

  it('says what to do when nobody answers', async () => {
    const { code, stderr } = await runCli(['get', '--socket', path.join(node.dir, 'none')]);
    expect(code).toBe(1);
    expect(stderr).toContain('start one with nodelet run FILE');
  });
});

describe('the command line', () => {
  it.each([
    [
      'an unknown flag with its nearest name',
      ['get', '--watc'],
      /unknown flag: --watc; did you mean --watch\?/,
    ],
    ['a letter that is no flag', ['logs', '-z', 'x'], /unknown shorthand flag: 'z' in -z/],
    ['a pod that is missing', ['logs'], /name a pod/],
    [
      'a format that does not exist',
      ['get', '-o', 'jsn'],
      /allowed formats are: json,yaml,name,wide; did you mean json\?/,
    ],
    ['a command without --', ['exec', 'web', 'ls'], /put -- before the command: nodelet exec web -- ls/],
  ])('refuses %s', async (_, args, message) => {
    const { code, stderr } = await runCli(args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
  });

  it.each(['ps', 'get', 'logs', 'exec', 'port-forward', 'stop', 'explain', 'completion'])(
    '%s has help with examples',
    async (command) => {
      const { code, stdout } = await runCli([command, '--help']);
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nUsage:\n[\s\S]*\nExamples:\n/);
    },
  );

  it.each(['bash', 'zsh', 'fish'])('has a completion script for %s', async (shell) => {
    const { code, stdout } = await runCli(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('completion words --');
  });

  it('completes commands', async () => {
    expect((await runCli(['completion', 'words', '--', 'po'])).stdout).toBe('port-forward\n');
  });
});
