import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ContainerState, PodSandboxState, Signal } from '../../cri/index.js';
import { parseState } from './container-state.js';
import { execOutputLimitBytes } from './exec.js';
import { longestRecordBytes } from './log-lines.js';
import type { ProcessRuntime } from './runtime.js';
import { exited, output, processesWith, runPod, statusOf, TestMachine, until } from './test-pods.js';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let machine: TestMachine;
let runtime: ProcessRuntime;
beforeAll(async () => {
  machine = await TestMachine.create();
  runtime = await machine.open();
});
afterAll(async () => {
  await machine.remove();
  expect(machine.problems).toEqual([]);
});

const pod = () => runPod(runtime, machine.logs);
const stateFile = (id: string) => join(machine.stateDir, 'containers', id, 'state.json');
const recorded = (id: string) => parseState(readFileSync(stateFile(id), 'utf8'));
const runningOf = (id: string) => {
  const state = recorded(id);
  if (state.kind !== 'running') throw new Error(`container ${id} is ${state.kind}`);
  return state;
};
const lives = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] !== 'Z';
  } catch {
    return false;
  }
};

describe('a container', () => {
  it('has the pod’s environment, mounts and working directory', async () => {
    const volume = join(machine.directory, 'volume');
    mkdirSync(volume);
    writeFileSync(join(volume, 'greeting'), 'hello\n');
    const { start } = await pod();
    const id = await start({
      command: [
        'sh',
        '-c',
        'echo "$A"; cat greeting; cat "$NODELET_ROOT/data/greeting"; env | grep -c ^VITEST',
      ],
      envs: [{ key: 'A', value: Buffer.from('eins') }],
      mounts: [{ containerPath: '/data', hostPath: volume }],
      workingDir: '/data',
    });
    expect(await output(runtime, id)).toEqual([
      'stdout F eins',
      'stdout F hello',
      'stdout F hello',
      'stdout F 0',
    ]);
  });

  it('has a private working directory by default, which is removed with it', async () => {
    const { start } = await pod();
    const id = await start({ command: ['sh', '-c', 'echo kept > file; ls "$NODELET_ROOT"'] });
    expect(await output(runtime, id)).toEqual(['stdout F file']);
    await runtime.removeContainer({ containerId: id });
    expect(() => statSync(join(machine.stateDir, 'containers', id))).toThrow('ENOENT');
  });

  it('runs as the requested user', async () => {
    const { start } = await pod();
    const id = await start({
      command: ['sh', '-c', 'id -u; id -g; touch mine'],
      linux: { securityContext: { runAsUser: { value: 4711 }, runAsGroup: { value: 4712 } } },
    });
    expect(await output(runtime, id)).toEqual(['stdout F 4711', 'stdout F 4712']);
    expect(await statusOf(runtime, id)).toMatchObject({
      exitCode: 0,
      user: { linux: { uid: 4711, gid: 4712 } },
    });
  });

  it('as another user can access its mounts, and nothing else that is closed', async () => {
    const closed = join(machine.directory, 'closed');
    const volume = join(closed, 'pods', 'volume');
    mkdirSync(volume, { recursive: true });
    mkdirSync(join(closed, 'pods', 'other'));
    writeFileSync(join(closed, 'pods', 'file'), 'f');
    chmodSync(volume, 0o777);
    chmodSync(closed, 0o750);
    const { start } = await pod();
    const id = await start({
      command: [
        'sh',
        '-c',
        'echo data > "$NODELET_ROOT/data/file"; cat "$NODELET_ROOT/etc/file"; echo; id -g; pwd; ' +
          `ls ${closed}/pods; touch own; sleep 100`,
      ],
      mounts: [
        { containerPath: '/data', hostPath: volume },
        { containerPath: '/etc/file', hostPath: join(closed, 'pods', 'file') },
      ],
      linux: { securityContext: { runAsUser: { value: 4711 }, runAsGroup: { value: 4712 } } },
    });
    const privateRoot = join(machine.stateDir, 'containers', id, 'root');
    await until('it has written', () => existsSync(join(privateRoot, 'own')) || undefined);
    expect(readFileSync(join(volume, 'file'), 'utf8')).toBe('data\n');
    expect(statSync(join(volume, 'file')).uid).toBe(4711);
    // An exec command sees the same.
    const { stdout, exitCode } = await runtime.execSync({
      containerId: id,
      cmd: ['sh', '-c', 'cat "$NODELET_ROOT/data/file"; id -u; ls /sys | head -1 | wc -l'],
      timeout: 10,
    });
    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['data\n4711\n1\n', 0]);
    await runtime.stopContainer({ containerId: id, timeout: 0 });
    expect(await output(runtime, id)).toEqual([
      'stdout F f',
      'stdout F 4712',
      `stdout F ${privateRoot}`,
      'stdout F file',
      'stdout F volume',
    ]);
    await runtime.removeContainer({ containerId: id });
    expect(readFileSync(join(volume, 'file'), 'utf8')).toBe('data\n');
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(machine.directory);
  });

  it('without a command, and without one of its image’s name, cannot be created', async () => {
    const { create } = await pod();
    await expect(create({ image: { image: 'example.test/no-such-command-here:1' } })).rejects.toThrow(
      /there is no "no-such-command-here" on the PATH .* set "command:" in the pod, or use a container runtime/,
    );
  });

  it('without a command runs the one of its image’s name', async () => {
    const { start } = await pod();
    const id = await start({ image: { image: 'example.test/tools/echo:1' }, args: ['hi'] });
    expect(await output(runtime, id)).toEqual(['stdout F hi']);
  });

  it.each([
    [
      'not there',
      ['no-such-command-here'],
      'exec: "no-such-command-here": executable file not found in $PATH',
    ],
    ['not executable', ['/etc/passwd'], 'exec: "/etc/passwd": permission denied'],
    ['run in a directory that is not there', ['sh'], 'no such file or directory'],
  ])('whose command is %s fails to start', async (name, command, message) => {
    const { create } = await pod();
    const workingDir = name.startsWith('run in') ? '/no/such/directory' : '';
    const containerId = await create({ command, workingDir });
    await expect(runtime.startContainer({ containerId })).rejects.toThrow(message);
    const status = await statusOf(runtime, containerId);
    expect(status).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 128,
      reason: 'StartError',
      startedAt: 0n,
    });
    expect(status.message).toContain(message);
  });

  it.each([
    ['an exit code', 'exit 42', 42, 'Error'],
    ['a signal', 'kill -INT $$; sleep 5', 130, 'Error'],
    ['success', 'exit 0', 0, 'Completed'],
  ])('that ends by %s reports it', async (_, script, exitCode, reason) => {
    const { start } = await pod();
    const id = await start({ command: ['sh', '-c', script] });
    expect(await exited(runtime, id)).toMatchObject({ exitCode, reason });
  });

  it('splits long lines, and writes a last one without its newline', async () => {
    const { start } = await pod();
    const script = `head -c ${longestRecordBytes + 5} /dev/zero | tr '\\0' x; echo; printf end`;
    const id = await start({ command: ['sh', '-c', script] });
    expect(await output(runtime, id)).toEqual([
      `stdout P ${'x'.repeat(longestRecordBytes)}`,
      'stdout F xxxxx',
      'stdout F end',
    ]);
  });
});

describe('stopping', () => {
  it('sends the container’s stop signal to its group', async () => {
    const { start } = await pod();
    const id = await start({
      command: ['sh', '-c', 'trap "exit 9" QUIT; echo ready; sleep 1000 & wait'],
      stopSignal: Signal.SIGNAL_SIGQUIT,
    });
    const { logPath } = await statusOf(runtime, id);
    await until('it is ready', () => (readFileSync(logPath, 'utf8').includes('ready') ? true : undefined));
    await runtime.stopContainer({ containerId: id, timeout: 20 });
    expect(await statusOf(runtime, id)).toMatchObject({ exitCode: 9 });
  });

  it.each([
    ['SIGTERM', 30, 143],
    ['SIGKILL without grace', 0, 137],
  ])('by %s shows in the exit code', async (_, timeout, exitCode) => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    await runtime.stopContainer({ containerId, timeout });
    expect(await statusOf(runtime, containerId)).toMatchObject({ exitCode, reason: 'Error' });
  });

  it.runIf(process.platform === 'linux' && process.geteuid?.() === 0)(
    'ends what left its session and its environment',
    async () => {
      const { start } = await pod();
      const seconds = `1000${Math.trunc(Math.random() * 1e6)}`;
      const command = `env -i setsid sh -c 'sleep ${seconds} & exit' & env -i setsid sleep ${seconds} & sleep 1000`;
      const id = await start({ command: ['sh', '-c', command] });
      await until('they are there', () => (processesWith(seconds, 'cmdline').length >= 3 ? true : undefined));
      const cgroup = readFileSync(join(machine.stateDir, 'containers', id, 'cgroup'), 'utf8');
      expect(existsSync(cgroup)).toBe(true);
      await runtime.stopContainer({ containerId: id, timeout: 0 });
      await until('they are gone', () => (processesWith(seconds, 'cmdline').length === 0 ? true : undefined));
      await runtime.removeContainer({ containerId: id });
      expect(existsSync(cgroup)).toBe(false);
    },
  );

  it.runIf(process.platform === 'linux')('ends everything that the container started', async () => {
    const { start } = await pod();
    const id = await start({
      command: ['sh', '-c', 'sleep 1000 & setsid sleep 1000 & trap "" TERM; wait; sleep 1000'],
    });
    await until('its processes are there', () =>
      processesWith(`NODELET_CONTAINER_ID=${id}`, 'environ').length >= 3 ? true : undefined,
    );
    await runtime.stopContainer({ containerId: id, timeout: 1 });
    expect(await statusOf(runtime, id)).toMatchObject({ exitCode: 137 });
    await until('its processes are gone', () =>
      processesWith(`NODELET_CONTAINER_ID=${id}`, 'environ').length === 0 ? true : undefined,
    );
  });
});

describe('commands', () => {
  it('have the container’s environment and directory', async () => {
    const { start } = await pod();
    const containerId = await start({
      command: ['sleep', '1000'],
      envs: [{ key: 'A', value: Buffer.from('eins') }],
    });
    const cmd = ['sh', '-c', 'echo "$A"; [ "$PWD" = "$NODELET_ROOT" ] || exit 1'];
    const { stdout, exitCode } = await runtime.execSync({ containerId, cmd, timeout: 20 });
    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['eins\n', 0]);
  });

  it('return no more output than the limit', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    const cmd = ['head', '-c', String(execOutputLimitBytes + 100_000), '/dev/zero'];
    const { stdout, exitCode } = await runtime.execSync({ containerId, cmd, timeout: 60 });
    expect([stdout.length, exitCode]).toEqual([execOutputLimitBytes, 0]);
  });

  it('that do not exist are named', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    await expect(runtime.execSync({ containerId, cmd: ['nosuch'], timeout: 5 })).rejects.toThrow(
      'failed to exec in container: exec: "nosuch": executable file not found in $PATH',
    );
  });

  it('do not wait for what they leave in the background, and end with the container', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    const cmd = ['sh', '-c', 'sleep 1000 & echo done'];
    const { stdout } = await runtime.execSync({ containerId, cmd, timeout: 20 });
    expect(Buffer.from(stdout).toString()).toBe('done\n');
    const running = runtime.execSync({ containerId, cmd: ['sleep', '1000'], timeout: 0 });
    await until('it runs', () =>
      processesWith(`NODELET_CONTAINER_ID=${containerId}`, 'environ').length === 3 ? true : undefined,
    );
    await runtime.stopContainer({ containerId, timeout: 0 });
    expect((await running).exitCode).toBe(137);
    // A process that was killed takes a moment to go.
    await until('all have ended', () =>
      processesWith(`NODELET_CONTAINER_ID=${containerId}`, 'environ').length === 0 ? true : undefined,
    );
  });
});

it.runIf(process.platform === 'linux')('statistics are those of the processes', async () => {
  const { start, podSandboxId } = await pod();
  const containerId = await start({ command: ['sh', '-c', 'while :; do :; done'] });
  const used = await until('it used the processor', async () => {
    const { stats } = await runtime.containerStats({ containerId });
    return (stats?.cpu?.usageCoreNanoSeconds?.value ?? 0) > 50_000_000 ? stats : undefined;
  });
  expect(used.memory?.rssBytes?.value).toBeGreaterThan(100_000);
  const stats = await until('its rate is known', async () => {
    const { stats } = await runtime.podSandboxStats({ podSandboxId });
    return (stats?.linux?.cpu?.usageNanoCores?.value ?? 0) > 0 ? stats : undefined;
  });
  expect(stats?.linux?.process?.processCount?.value).toBe(1);
  await runtime.stopContainer({ containerId, timeout: 0 });
  expect((await runtime.containerStats({ containerId })).stats?.cpu).toBeUndefined();
});

describe('the state directory', () => {
  it('is private to its owner, and so are its files', async () => {
    const { create } = await pod();
    const id = await create({ command: ['true'] });
    expect(statSync(machine.stateDir).mode & 0o777).toBe(0o700);
    for (const name of ['container.json', 'launch.json', 'state.json']) {
      expect(statSync(join(machine.stateDir, 'containers', id, name)).mode & 0o777).toBe(0o600);
    }
  });

  it('cannot be used by two agents', async () => {
    const other = await TestMachine.create();
    const agent = spawn('sleep', ['1000']);
    try {
      mkdirSync(other.stateDir);
      const startTime = readFileSync(`/proc/${agent.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19];
      writeFileSync(join(other.stateDir, 'owner.json'), JSON.stringify({ pid: agent.pid, startTime }));
      await expect(other.open()).rejects.toThrow(`is in use by process ${agent.pid}`);
      writeFileSync(join(other.stateDir, 'owner.json'), JSON.stringify({ pid: agent.pid, startTime: '1' }));
      await other.open();
    } finally {
      agent.kill();
      await other.remove();
    }
  });
});

describe('a supervisor', () => {
  it('that is killed takes its container with it, with an unknown exit', async () => {
    const { start } = await pod();
    const id = await start({ command: ['sh', '-c', 'sleep 1000 & wait'] });
    const { supervisor, process: first } = runningOf(id);
    process.kill(supervisor.pid, 'SIGKILL');
    expect(await exited(runtime, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(lives(first.pid)).toBe(false);
    expect(recorded(id).kind).toBe('exited');
  });

  it('survives the signals of a machine that shuts down', async () => {
    const { start } = await pod();
    const id = await start({ command: ['sh', '-c', 'sleep 1; exit 3'] });
    const { supervisor } = runningOf(id);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(supervisor.pid, signal);
    expect(await exited(runtime, id)).toMatchObject({ exitCode: 3 });
  });

  it('that cannot be started makes the start fail', async () => {
    const other = await TestMachine.create();
    try {
      const broken = join(other.directory, 'broken.mjs');
      writeFileSync(broken, 'throw new Error("it is broken")');
      const own = await other.open({ supervisorEntry: broken });
      const { create } = await runPod(own, other.logs);
      const containerId = await create({ command: ['true'] });
      await expect(own.startContainer({ containerId })).rejects.toThrow(
        /could not be started.*it is broken/s,
      );
      expect(await statusOf(own, containerId)).toMatchObject({ exitCode: 128, reason: 'StartError' });
    } finally {
      await other.remove();
    }
  });
});

describe('the next agent', () => {
  it('finds everything as it was', async () => {
    const own = await TestMachine.create();
    try {
      const first = await own.open();
      const { podSandboxId, start, create } = await runPod(first, own.logs);
      const runs = await start({ command: ['sh', '-c', 'echo one; sleep 2; echo two; exit 5'] });
      const ended = await start({ command: ['false'] });
      const created = await create({ command: ['true'] });
      await exited(first, ended);
      const before = await statusOf(first, runs);
      await first.close();
      await expect(first.version({})).rejects.toThrow('the process runtime is closed');

      const second = await own.open();
      expect(await statusOf(second, runs)).toEqual(before);
      expect(await statusOf(second, ended)).toMatchObject({ exitCode: 1, reason: 'Error' });
      const { status } = await second.podSandboxStatus({ podSandboxId });
      expect(status?.state).toBe(PodSandboxState.SANDBOX_READY);
      const { exitCode } = await second.execSync({ containerId: runs, cmd: ['true'], timeout: 10 });
      expect(exitCode).toBe(0);
      await second.startContainer({ containerId: created });
      expect(await exited(second, created)).toMatchObject({ exitCode: 0 });
      // Nobody listened when it exited: the exit is on record.
      await second.close();
      const state = join(own.stateDir, 'containers', runs, 'state.json');
      await until('it has ended', () =>
        readFileSync(state, 'utf8').includes('"exited"') ? true : undefined,
      );
      const third = await own.open();
      expect(await output(third, runs)).toEqual(['stdout F one', 'stdout F two']);
      expect(await statusOf(third, runs)).toMatchObject({ exitCode: 5, startedAt: before.startedAt });
      await expect(runPod(third, own.logs)).resolves.toBeDefined();
      expect(own.problems).toEqual([]);
    } finally {
      await own.remove();
    }
  });
});

it('a container of a sandbox that was stopped does not start', async () => {
  const { create, podSandboxId } = await pod();
  const containerId = await create({ command: ['true'] });
  await runtime.stopPodSandbox({ podSandboxId });
  await expect(runtime.startContainer({ containerId })).rejects.toThrow(
    `sandbox container "${podSandboxId}" is not running`,
  );
  expect(await statusOf(runtime, containerId)).toMatchObject({ exitCode: 128, reason: 'StartError' });
  expect(recorded(containerId).kind).toBe('exited');
});
