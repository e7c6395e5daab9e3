import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ContainerState } from '../../cri/index.js';
import { remoteCommand } from '../../streaming/index.js';
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

async function run(url: string, { stdin, tty = false }: { stdin?: string; tty?: boolean } = {}) {
  const stdout = new PassThrough();
  const out = text(stdout);
  const result = await remoteCommand({
    target: { url },
    stdin: stdin === undefined ? undefined : Readable.from([stdin]),
    stdout,
    tty,
  }).finally(() => stdout.end());
  return { ...result, out: await out };
}

/** Writes a line to a container and reads what comes back. */
async function ask(containerId: string, line: string): Promise<string> {
  const { url } = await runtime.attach({ containerId, stdin: true, stdout: true });
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stop = new AbortController();
  const session = remoteCommand({ target: { url }, stdin, stdout, tty: false, signal: stop.signal });
  stdin.write(`${line}\n`);
  const [answer] = await once(stdout, 'data');
  stop.abort();
  await expect(session).rejects.toMatchObject({ name: 'Cancelled' });
  return String(answer);
}

describe('a container with input', () => {
  it('keeps it when the agent is replaced', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['cat'], stdin: true });
    expect(await ask(containerId, 'before')).toBe('before\n');
    await runtime.close();
    runtime = await machine.open();
    expect((await statusOf(runtime, containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(await ask(containerId, 'after')).toBe('after\n');
    await runtime.stopContainer({ containerId, timeout: 0 });
    expect(await output(runtime, containerId)).toEqual(['stdout F before', 'stdout F after']);
  });

  it('with stdinOnce loses it with the first client, even if that just disconnects', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['cat'], stdin: true, stdinOnce: true });
    expect(await ask(containerId, 'only')).toBe('only\n');
    expect(await exited(runtime, containerId)).toMatchObject({ exitCode: 0 });
  });

  it('sends its output to all attached clients', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sh', '-c', 'read x; echo got $x'], stdin: true });
    const watching = Promise.all(
      [1, 2, 3].map(async () => run((await runtime.attach({ containerId, stdout: true })).url)),
    );
    // Both must be attached before the output comes.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { url } = await runtime.attach({ containerId, stdin: true, stdout: true });
    expect((await run(url, { stdin: 'it\n' })).out).toBe('got it\n');
    expect((await watching).map(({ out }) => out)).toEqual(['got it\n', 'got it\n', 'got it\n']);
  });
});

describe.runIf(process.platform === 'linux')('a container on a terminal', () => {
  it('leads its session, is stopped by signals and reports its exit code', async () => {
    const { start } = await pod();
    const command = [
      'sh',
      '-c',
      "trap 'echo bye; exit 9' TERM; test -t 0 && echo $TERM; while :; do sleep 0.1; done",
    ];
    const containerId = await start({ command, tty: true, stdin: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await runtime.stopContainer({ containerId, timeout: 20 });
    expect(await exited(runtime, containerId)).toMatchObject({ exitCode: 9 });
    expect(await output(runtime, containerId)).toEqual(
      expect.arrayContaining(['stdout F xterm\r', 'stdout F bye\r']),
    );
    expect(processesWith(`NODELET_CONTAINER_ID=${containerId}`, 'environ')).toEqual([]);
  });

  it('that ends at once loses neither output nor exit code', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sh', '-c', "echo it\\'s; exit 4"], tty: true });
    expect(await exited(runtime, containerId)).toMatchObject({ exitCode: 4 });
    expect(await output(runtime, containerId)).toEqual(["stdout F it's\r"]);
  });
});

describe('a command in a container', () => {
  it('gets its arguments unchanged, also on a terminal', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    const cmd = ['printf', '%s|', "it's", '$HOME', 'a b', '"q"', '*'];
    for (const tty of [false, true]) {
      const { url } = await runtime.exec({ containerId, cmd, stdout: true, tty });
      expect((await run(url, { tty })).out).toBe(`it's|$HOME|a b|"q"|*|`);
    }
  });

  it('is killed with all it started when its client disconnects', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    for (const tty of [false, true]) {
      const cmd = ['sh', '-c', 'sleep 2000 & sleep 2000'];
      const { url } = await runtime.exec({ containerId, cmd, stdout: true, tty });
      const stop = new AbortController();
      const session = remoteCommand({
        target: { url },
        stdout: new PassThrough(),
        tty,
        signal: stop.signal,
      });
      const others = (): number => processesWith(`NODELET_CONTAINER_ID=${containerId}`, 'environ').length - 1;
      await until('it runs', () => (others() >= 3 ? true : undefined));
      stop.abort();
      await expect(session).rejects.toMatchObject({ name: 'Cancelled' });
      await until('it is gone', () => (others() === 0 ? true : undefined));
    }
    expect((await statusOf(runtime, containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
  });

  it('ends with its container', async () => {
    const { start } = await pod();
    const containerId = await start({ command: ['sleep', '1000'] });
    const { url } = await runtime.exec({ containerId, cmd: ['sleep', '1000'], stdout: true });
    const session = run(url);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await runtime.stopContainer({ containerId, timeout: 0 });
    expect(await session).toMatchObject({ exitCode: 137 });
  });
});
