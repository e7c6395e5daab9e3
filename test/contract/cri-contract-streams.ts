/** What a runtime does with the streams of Exec, Attach and PortForward, seen through nodelet's own client. */

import { once } from 'node:events';
import { type Duplex, PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ContainerState, CriError, isNotFound } from '../../src/cri/index.js';
import {
  openPortForward,
  type RemoteCommandOptions,
  type RemoteCommandResult,
  remoteCommand,
  type TerminalSize,
  UpgradeRefused,
} from '../../src/streaming/index.js';
import { freePort } from '../env/index.js';
import { type Contract, fails, runsForever } from './cri-contract-pods.js';

interface Session {
  readonly stdin?: string | Buffer | Readable;
  readonly tty?: boolean;
  readonly stderr?: boolean;
  readonly resize?: AsyncIterable<TerminalSize>;
  readonly signal?: AbortSignal;
}

export function describeStreams(contract: Contract): void {
  describeExec(contract);
  describeAttach(contract);
  describePortForward(contract);
}

function describeExec({ cri, subject, fresh }: Contract): void {
  const exec = async (containerId: string, cmd: readonly string[], session: Session = {}) => {
    const { url } = await cri().exec({ containerId, cmd, ...flagsOf(session) });
    return run(url, session);
  };
  const running = async (): Promise<string> => {
    const pod = fresh().pod({});
    await pod.run();
    return pod.start({ command: runsForever });
  };

  describe('exec', () => {
    it('keeps output and errors apart and tells the exit code', async () => {
      const end = await exec(await running(), ['sh', '-c', 'echo out; echo err >&2; exit 4']);
      expect(end).toMatchObject({ exitCode: 4, stdout: 'out\n', stderr: 'err\n' });
      expect(end.message).toContain('4');
    });
    it('ends well with code 0', async () => {
      expect(await exec(await running(), ['true'])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    });
    it('tells the command of the end of its input', async () => {
      const end = await exec(await running(), ['cat'], { stdin: 'abc\n' });
      expect(end).toMatchObject({ exitCode: 0, stdout: 'abc\n' });
    });
    it('carries more than any buffer holds, both ways', async () => {
      const bytes = Buffer.alloc(3 * 1024 * 1024);
      for (let at = 0; at < bytes.length; at++) bytes[at] = 97 + ((at * 7 + (at >> 10)) % 26);
      const end = await exec(await running(), ['cat'], { stdin: bytes });
      expect(end.exitCode).toBe(0);
      expect(end.stdout.length).toBe(bytes.length);
      expect(end.stdout === bytes.toString('latin1')).toBe(true);
    });
    it('with a terminal has one output', async () => {
      const cmd = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
      const end = await exec(await running(), cmd, { tty: true });
      expect(end).toMatchObject({ exitCode: 3, stdout: 'out\r\nerr\r\n' });
    });
    it('tells the size of the terminal and its changes', async ({ skip }) => {
      skip(!subject().terminals, 'there is no terminal behind it');
      const sizes = async function* (): AsyncGenerator<TerminalSize> {
        yield { width: 132, height: 43 };
      };
      const cmd = ['sh', '-c', 'until test "$(stty size)" = "43 132"; do sleep 0.1; done; stty size'];
      const end = await exec(await running(), cmd, { tty: true, resize: sizes() });
      expect(end.stdout).toContain('43 132');
    });
    it('that the client gives up leaves the container alone', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: runsForever });
      const stop = new AbortController();
      const session = fails(exec(containerId, ['sleep', '1000'], { signal: stop.signal }));
      await pod.settled();
      stop.abort();
      expect(await session).toMatchObject({ name: 'Cancelled' });
      expect((await pod.status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
    });
    it('of what is not there tells so', async () => {
      const error = await fails(exec(await running(), ['/no/such/command']));
      expect(String(error)).toMatch(/error executing command in container.*no\/such\/command/s);
    });
    it('gives an address that can be used once', async () => {
      const { url } = await cri().exec({
        containerId: await running(),
        cmd: ['true'],
        ...flagsOf({}),
      });
      expect(await run(url, {})).toMatchObject({ exitCode: 0 });
      const error = await fails(run(url, {}));
      expect(error).toBeInstanceOf(UpgradeRefused);
      expect(error).toMatchObject({ statusCode: 404 });
    });
    it('wants a running container and streams that make sense', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: ['true'] });
      await pod.exited(containerId);
      expect(await fails(exec(containerId, ['true']))).toBeInstanceOf(CriError);
      expect(await fails(exec('nosuchcontainer', ['true']))).toSatisfy(isNotFound);
      const id = await pod.start({ command: runsForever, attempt: 1 });
      for (const streams of [{}, { stdout: true, stderr: true, tty: true }]) {
        const error = await fails(cri().exec({ containerId: id, cmd: ['true'], ...streams }));
        expect(error).toMatchObject({ codeName: 'InvalidArgument' });
      }
    });
  });
}

function describeAttach({ cri, fresh }: Contract): void {
  const attach = async (containerId: string, session: Session) => {
    const { url } = await cri().attach({ containerId, ...flagsOf(session) });
    return run(url, session);
  };

  describe('attach', () => {
    it('shows output and ends with the container', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['sh', '-c', 'sleep 2; echo out; echo err >&2; exit 5'] });
      const end = await attach(id, {});
      expect(end).toMatchObject({ stdout: 'out\n', stderr: 'err\n' });
      expect(await pod.exited(id)).toMatchObject({ exitCode: 5 });
    });
    it('brings input to the container, again and again, and leaves it running', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: ['cat'], stdin: true });
      for (const word of ['one', 'two']) {
        const stdin = new PassThrough();
        const stop = new AbortController();
        const { url } = await cri().attach({ containerId, ...flagsOf({ stdin, stderr: false }) });
        const stdout = new PassThrough();
        const session = fails(
          remoteCommand({ target: { url }, stdin, stdout, tty: false, signal: stop.signal }),
        );
        stdin.write(`${word}\n`);
        expect(String((await once(stdout, 'data'))[0])).toBe(`${word}\n`);
        stop.abort();
        expect(await session).toMatchObject({ name: 'Cancelled' });
      }
      expect((await pod.status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
      const { logPath } = await pod.status(containerId);
      const lines = await pod.logLines(logPath, 2);
      expect(lines.map((line) => line.split(' F ')[1])).toEqual(['one', 'two']);
    });
    it('ends the input of a container that takes it once', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['cat'], stdin: true, stdinOnce: true });
      expect(await attach(id, { stdin: 'abc\n' })).toMatchObject({ stdout: 'abc\n' });
      expect(await pod.exited(id)).toMatchObject({ exitCode: 0 });
    });
    it('to a container with a terminal has one output', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['sh', '-c', 'sleep 2; echo out; echo err >&2'], tty: true });
      expect(await attach(id, { tty: true })).toMatchObject({ stdout: 'out\r\nerr\r\n' });
    });
    it('wants a running container', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['true'] });
      await pod.exited(id);
      expect(await fails(attach(id, {}))).toBeInstanceOf(Error);
      expect(await fails(attach('nosuchcontainer', {}))).toSatisfy(isNotFound);
    });
  });
}

function describePortForward({ cri, subject, fresh }: Contract): void {
  const forward = async (podSandboxId: string) => {
    const { url } = await cri().portForward({ podSandboxId, port: [] });
    return openPortForward({ target: { url } });
  };

  /** On connections of their own: some servers get stuck on what was sent to a port before anybody listened. */
  const listening = (podSandboxId: string, port: number): Promise<void> =>
    until(async () => {
      const ports = await forward(podSandboxId);
      try {
        return (await echo(await ports.open(port), 'there?')) === 'there?';
      } finally {
        await ports.close();
      }
    });

  describe('port-forward', () => {
    it('carries data both ways, many connections at once, each with ends of its own', async () => {
      const port = await freePort();
      const pod = fresh().pod({});
      const sandbox = await pod.run();
      await pod.start({ ...subject().echoServer(port) });
      await listening(sandbox, port);
      const ports = await forward(sandbox);
      const words = Array.from({ length: 20 }, (_, index) => `${index} `.repeat(5000));
      expect(await Promise.all(words.map(async (word) => echo(await ports.open(port), word)))).toEqual(words);
      await ports.close();
    });
    it('tells of a port where nobody listens, and goes on', async () => {
      const port = await freePort();
      const silent = await freePort();
      const pod = fresh().pod({});
      const sandbox = await pod.run();
      await pod.start({ ...subject().echoServer(port) });
      await listening(sandbox, port);
      const ports = await forward(sandbox);
      const error = await fails(echo(await ports.open(silent), ''));
      expect(String(error)).toMatch(new RegExp(`${silent}.*refused`, 's'));
      expect(await echo(await ports.open(port), 'still there?')).toBe('still there?');
      await ports.close();
    });
    it('wants a sandbox that is there', async () => {
      expect(await fails(forward('nosuchsandbox'))).toSatisfy(isNotFound);
    });
  });
}

function flagsOf({ stdin, tty = false, stderr = !tty }: Session) {
  return { stdin: stdin !== undefined, stdout: true, stderr, tty };
}

async function run(
  url: string,
  session: Session,
): Promise<RemoteCommandResult & { readonly stdout: string; readonly stderr: string }> {
  const { stdin, tty = false, stderr = !tty, resize, signal } = session;
  const out = new PassThrough();
  const err = new PassThrough();
  const options: RemoteCommandOptions = {
    target: { url },
    stdin: stdin === undefined ? undefined : stdin instanceof Readable ? stdin : Readable.from([stdin]),
    stdout: out,
    stderr: stderr ? err : undefined,
    tty,
    resize,
    signal,
  };
  const texts = Promise.all([text(out), text(err)]);
  try {
    const result = await remoteCommand(options);
    out.end();
    err.end();
    const [stdout, stderr] = await texts;
    return { ...result, stdout, stderr };
  } finally {
    out.end();
    err.end();
    await texts;
  }
}

/** Sends the text, closes its side, and gives what comes back until the other side is closed, too. */
async function echo(connection: Duplex, word: string): Promise<string> {
  connection.end(word);
  return text(connection);
}

async function until(attempt: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    try {
      if (await attempt()) return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
