import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ContainerState } from '../../cri/index.js';
import { formatState, parseState, type RecordedState } from './container-state.js';
import { currentBootId, identify, isAlive } from './identity.js';
import type { ProcessRuntime } from './runtime.js';
import { exited, processesWith, removePods, runPod, statusOf, TestMachine, until } from './test-pods.js';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let machine: TestMachine;
let driver: string;
let runs = 0;
beforeAll(async () => {
  machine = await TestMachine.create();
  driver = join(machine.directory, 'crash.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('test-crash.ts', import.meta.url))],
    outfile: driver,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
});
afterAll(() => machine.remove());

interface Crash {
  readonly stateDir: string;
  readonly marks: string;
  readonly status: number | null;
  readonly stdout: string;
}

function crashAfter(step: number): Crash {
  const directory = join(machine.directory, `run-${runs++}`);
  mkdirSync(directory);
  const stateDir = join(directory, 'state');
  const marks = join(directory, 'marks');
  const { status, stdout } = spawnSync(
    process.execPath,
    [driver, stateDir, machine.supervisorEntry, marks, String(step)],
    { encoding: 'utf8' },
  );
  return { stateDir, marks, status, stdout };
}

const startsOf = ({ marks }: Crash) =>
  existsSync(marks) ? readFileSync(marks, 'utf8').split('\n').length - 1 : 0;
const containerProcesses = ({ marks }: Crash) => processesWith(`MARKS=${marks}`, 'environ');
const supervisors = ({ stateDir }: Crash) => processesWith(join(stateDir, 'containers'), 'cmdline');

/** What must hold after a crash at any step. */
async function checkAdoption(crash: Crash, stopped: boolean): Promise<void> {
  // At once: a supervisor that was just started may not have claimed its start yet.
  const runtime = await machine.open({ stateDir: crash.stateDir });
  try {
    const [container, ...others] = (await runtime.listContainers({})).containers;
    expect(others).toEqual([]);
    if (container !== undefined) await checkContainer(runtime, container.id, crash, stopped);
    await removePods(runtime);
    expect((await runtime.listPodSandbox({})).items).toEqual([]);
    expect(containerProcesses(crash)).toEqual([]);
    await until('no supervisor is left', () => (supervisors(crash).length === 0 ? true : undefined));
    expect(readdirSync(join(crash.stateDir, 'containers'))).toEqual([]);
    expect(readdirSync(join(crash.stateDir, 'sandboxes'))).toEqual([]);
  } finally {
    await runtime.close();
  }
}

async function checkContainer(
  runtime: ProcessRuntime,
  containerId: string,
  crash: Crash,
  stopped: boolean,
): Promise<void> {
  // The signal was sent, and works whoever observes it.
  if (stopped) await exited(runtime, containerId);
  const first = await statusOf(runtime, containerId);
  if (first.state === ContainerState.CONTAINER_CREATED) {
    // Either a supervisor is running, or nobody but us will ever start it.
    try {
      await runtime.startContainer({ containerId });
    } catch (error) {
      expect(String(error)).toMatch(/already in starting state|in CONTAINER_RUNNING state/);
    }
    await until('it runs', async () =>
      (await statusOf(runtime, containerId)).state === ContainerState.CONTAINER_RUNNING ? true : undefined,
    );
  }
  const { state, exitCode } = await statusOf(runtime, containerId);
  if (state === ContainerState.CONTAINER_RUNNING) {
    await until('it has begun', () => (startsOf(crash) > 0 ? true : undefined));
    // The command that the killed agent ran in it may still be ending.
    await until('one process is left', () => (containerProcesses(crash).length === 1 ? true : undefined));
    // A supervisor whose start was taken back exits as soon as it learns of that.
    await until('one supervisor is left', () => (supervisors(crash).length === 1 ? true : undefined));
    const { exitCode } = await runtime.execSync({ containerId, cmd: ['true'], timeout: 10 });
    expect(exitCode).toBe(0);
    await runtime.reopenContainerLog({ containerId });
  } else {
    expect(state).toBe(ContainerState.CONTAINER_EXITED);
    expect(exitCode).toBe(143);
    expect(containerProcesses(crash)).toEqual([]);
  }
  expect(startsOf(crash)).toBe(1);
}

describe.runIf(process.platform === 'linux')('a killed agent', () => {
  it('leaves after any of its steps a pod that the next one adopts, neither twice nor lost', async () => {
    const whole = crashAfter(0);
    expect(whole.status).toBe(0);
    // The tool that built the steps is trusted to print a list of names.
    const steps = JSON.parse(whole.stdout) as string[];
    expect(steps.filter((name) => name === 'spawn')).toHaveLength(2);
    // Removing a container repeats the same step: the first and the last stand for all.
    const chosen = steps.flatMap((name, index) => {
      const repeated = name === 'unlink' && steps[index - 1] === name && steps[index + 1] === name;
      return repeated ? [] : [index + 1];
    });
    for (const step of chosen) {
      const crash = crashAfter(step);
      try {
        expect(crash.status).toBeNull();
        const kills = steps.slice(0, step).filter((name) => name === 'kill').length;
        // The first kill reopened the log.
        await checkAdoption(crash, kills > 1);
      } catch (cause) {
        throw new Error(`killed after step ${step} (${steps.slice(0, step).join(', ')})`, { cause });
      }
    }
  }, 180_000);

  it('and its killed supervisor leave nothing running', async () => {
    const { stateDir } = crashAfter(0);
    const runtime = await machine.open({ stateDir });
    const { start } = await runPod(runtime, machine.logs);
    const id = await start({ command: ['sh', '-c', 'setsid sleep 1000 & sleep 1000 & wait'] });
    await runtime.close();
    const state = parseState(readFileSync(join(stateDir, 'containers', id, 'state.json'), 'utf8'));
    if (state.kind !== 'running') throw new Error(state.kind);
    await until('it has begun', () =>
      processesWith(`NODELET_CONTAINER_ID=${id}`, 'environ').length === 3 ? true : undefined,
    );
    process.kill(state.supervisor.pid, 'SIGKILL');
    const next = await machine.open({ stateDir });
    expect(await exited(next, id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
    expect(processesWith(`NODELET_CONTAINER_ID=${id}`, 'environ')).toEqual([]);
    await removePods(next);
    await next.close();
  });
});

describe('a recycled pid', () => {
  it.each(['supervisor', 'process', 'both'] as const)('is left alone: %s', async (who) => {
    const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    const directory = join(machine.directory, `run-${runs++}`);
    mkdirSync(directory);
    const stateDir = join(directory, 'state');
    try {
      const before = await machine.open({ stateDir });
      const { create } = await runPod(before, machine.logs);
      const id = await create({ command: ['true'] });
      await before.close();
      const identity = identify(stranger.pid!);
      const imposter = { pid: stranger.pid!, startTime: '1' };
      const gone = { pid: 4_000_000, startTime: '1' };
      const state: RecordedState = {
        kind: 'running',
        bootId: await currentBootId(),
        supervisor: who === 'process' ? gone : imposter,
        process: who === 'supervisor' ? gone : imposter,
        startedAt: 1n,
      };
      writeFileSync(join(stateDir, 'containers', id, 'state.json'), formatState(state));
      const runtime = await machine.open({ stateDir });
      expect(await statusOf(runtime, id)).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 255,
        reason: 'Unknown',
      });
      await runtime.stopContainer({ containerId: id, timeout: 1 });
      await removePods(runtime);
      await runtime.close();
      expect(await isAlive(identity)).toBe(true);
    } finally {
      stranger.kill('SIGKILL');
      await once(stranger, 'exit');
    }
  });

  it('is left alone after a reboot, even with the same start time', async () => {
    const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    const directory = join(machine.directory, `run-${runs++}`);
    mkdirSync(directory);
    const stateDir = join(directory, 'state');
    try {
      const before = await machine.open({ stateDir });
      const { create } = await runPod(before, machine.logs);
      const id = await create({ command: ['true'] });
      await before.close();
      const identity = identify(stranger.pid!);
      const state: RecordedState = {
        kind: 'running',
        bootId: 'an earlier one',
        supervisor: identity,
        process: identity,
        startedAt: 1n,
      };
      writeFileSync(join(stateDir, 'containers', id, 'state.json'), formatState(state));
      const runtime = await machine.open({ stateDir });
      expect(await statusOf(runtime, id)).toMatchObject({
        exitCode: 255,
        message: 'the machine was restarted',
      });
      await removePods(runtime);
      await runtime.close();
      expect(await isAlive(identity)).toBe(true);
    } finally {
      stranger.kill('SIGKILL');
      await once(stranger, 'exit');
    }
  });
});

describe('unreadable files', () => {
  const wrongs: readonly [string, (file: string) => unknown][] = [
    ['empty', (file) => writeFileSync(file, '')],
    ['cut', (file) => writeFileSync(file, readFileSync(file).subarray(0, 12))],
    ['garbage', (file) => writeFileSync(file, '\0secret\0')],
    ['no object', (file) => writeFileSync(file, 'null')],
    ['of an unknown kind', (file) => writeFileSync(file, '{"kind":"from the future"}')],
    ['missing', (file) => rmSync(file)],
    ['a directory', (file) => [rmSync(file), mkdirSync(file)]],
    ['a FIFO', (file) => [rmSync(file), execFileSync('mkfifo', [file])]],
  ];

  it.each(
    ['container.json', 'launch.json', 'state.json'].flatMap((file) =>
      wrongs
        // Only the supervisor reads the launch file.
        .filter(
          ([wrong]) => file !== 'launch.json' || (wrong !== 'no object' && wrong !== 'of an unknown kind'),
        )
        .map(([wrong, put]) => [file, wrong, put] as const),
    ),
  )('are set aside with their container and reported once: %s is %s', async (file, _, put) => {
    const directory = join(machine.directory, `run-${runs++}`);
    mkdirSync(directory);
    const stateDir = join(directory, 'state');
    const before = await machine.open({ stateDir });
    const { create } = await runPod(before, machine.logs);
    const [broken, fine] = [await create({ command: ['true'] }), await create({ command: ['true'] })];
    await before.close();
    put(join(stateDir, 'containers', broken, file));
    const problems: string[] = [];
    const onProblem = (message: string, error: unknown) => problems.push(`${message} ${String(error)}`);
    const runtime = await machine.open({ stateDir, onProblem });
    expect((await runtime.listContainers({})).containers.map(({ id }) => id)).toEqual([fine]);
    expect(problems).toEqual([expect.stringContaining(`container ${broken} cannot be used and is kept as`)]);
    expect(problems[0]).not.toContain('secret');
    const aside = readdirSync(join(stateDir, 'containers')).filter((name) => name !== fine);
    expect(aside).toEqual([expect.stringMatching(`^${broken}\\.corrupt-`)]);
    await runtime.close();
    await (await machine.open({ stateDir, onProblem })).close();
    expect(problems).toHaveLength(1);
  });

  it.each(wrongs.filter(([wrong]) => wrong !== 'missing'))(
    'are set aside with what runs in their sandbox: the sandbox is %s',
    async (_, put) => {
      const directory = join(machine.directory, `run-${runs++}`);
      mkdirSync(directory);
      const stateDir = join(directory, 'state');
      const before = await machine.open({ stateDir });
      const { podSandboxId: sandboxId, create } = await runPod(before, machine.logs);
      const id = await create({
        command: ['sleep', '1000'],
        envs: [{ key: 'MARKS', value: Buffer.from(directory) }],
      });
      await before.startContainer({ containerId: id });
      await before.close();
      put(join(stateDir, 'sandboxes', `${sandboxId}.json`));
      const problems: string[] = [];
      const runtime = await machine.open({ stateDir, onProblem: (message) => problems.push(message) });
      expect(problems).toEqual([
        expect.stringContaining(`sandbox ${sandboxId} cannot be used and is kept as`),
        expect.stringContaining(`container ${id} cannot be used and is kept as`),
      ]);
      expect((await runtime.listContainers({})).containers).toEqual([]);
      await until('its process is gone', () =>
        processesWith(`MARKS=${directory}`, 'environ').length === 0 ? true : undefined,
      );
      await runtime.close();
    },
  );
});
