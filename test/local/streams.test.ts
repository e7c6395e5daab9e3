/** `exec` and `port-forward` against a run, as a user types them: pipes, exit codes, a terminal, connections. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pollUntil } from '../env/index.js';
import { type CliChild, cli, type LocalNode, pod, runCli, startCli, startLocalNode } from './local-node.js';

/** Sends back what it gets; after the client's half-close it says what it got and ends. */
const echoServer = `
  const { createServer } = require('node:net');
  const { createHash } = require('node:crypto');
  createServer({ allowHalfOpen: true }, (socket) => {
    const hash = createHash('sha256');
    socket.on('data', (chunk) => { hash.update(chunk); if (!socket.write(chunk)) { socket.pause(); socket.once('drain', () => socket.resume()); } });
    socket.on('end', () => socket.end(hash.digest('hex')));
    socket.on('error', () => {});
  }).listen(Number(process.argv[1]), '127.0.0.1');
`;

let node: LocalNode;
let remotePort = 0;
const exec = (args: string[], options?: Parameters<typeof runCli>[1]) =>
  runCli(['exec', '--socket', node.socketPath, ...args], options);

beforeAll(async () => {
  remotePort = await freePort();
  node = await startLocalNode();
  node.set(
    pod('web', [
      { name: 'app', image: 'host', command: ['sleep', '1000'], env: [{ name: 'COLOUR', value: 'blue' }] },
      {
        name: 'echo',
        image: 'host',
        command: [process.execPath, '-e', echoServer, String(remotePort)],
        ports: [{ name: 'echo', containerPort: remotePort }],
      },
    ]),
  );
  await node.ready('web');
});
afterAll(() => node.close());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('exec', () => {
  it('shows output and errors apart, in the environment of the container', async () => {
    const { code, stdout, stderr } = await exec([
      'web',
      '-q',
      '--',
      'sh',
      '-c',
      'echo out $COLOUR; echo err >&2',
    ]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'out blue\n', stderr: 'err\n' });
  });

  it('passes the exit code on', async () => {
    const { code, stderr } = await exec(['web', '-c', 'app', '--', 'sh', '-c', 'exit 7']);
    expect({ code, stderr }).toEqual({ code: 7, stderr: 'command terminated with exit code 7\n' });
  });

  it('passes the end of standard input on', async () => {
    expect(await exec(['-i', 'web', '-c', 'app', '--', 'cat'], { input: 'hi\n' })).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    });
  });

  it('ends with the command though standard input is open', async () => {
    const { child, ended } = startCli(
      ['exec', '-i', '--socket', node.socketPath, 'web', '-c', 'app', '--', 'true'],
      { input: 'open' },
    );
    expect((await ended).code).toBe(0);
    child.stdin?.destroy();
  });

  it('moves much both ways', async () => {
    const input = randomBytes(2 << 20).toString('base64');
    const { stdout, code } = await exec(['-i', 'web', '-c', 'app', '--', 'cat'], { input });
    expect(code).toBe(0);
    expect(stdout === input).toBe(true);
  });

  it('says that a command does not exist, and what containers there are', async () => {
    expect((await exec(['web', '-c', 'app', '--', 'no-such-command'])).code).not.toBe(0);
    expect(await exec(['web', '-c', 'nope', '--', 'true'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('It has: app, echo'),
    });
  });

  it('goes on without a terminal where there is none', async () => {
    const { stderr, stdout } = await exec(['-it', 'web', '-c', 'app', '--', 'echo', 'hi']);
    expect(stderr).toBe('Unable to use a TTY - input is not a terminal or the right kind of file\n');
    expect(stdout).toBe('hi\n');
  });

  it('gives a terminal with its size and keys, and gives it back', async () => {
    const command = `tty; stty rows 33 cols 77; ${process.execPath} ${cli} exec -it --socket ${node.socketPath} web -c app -- sh; echo "code $?"; stty -a`;
    const terminal = spawn('script', ['-qfc', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let seen = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
    });
    const until = (what: RegExp) =>
      pollUntil(String(what), () => what.exec(seen) ?? undefined, { timeoutMs: 15_000, detail: () => seen });
    const [outer = ''] = await until(/\/dev\/pts\/\d+/);
    terminal.stdin.write('echo inner $(tty) ready-$((1+1))\n');
    const [, inner] = await until(/inner (\S+) ready-2/);
    expect(inner).toMatch(/^\/dev\/pts\/\d+$/);
    expect(inner).not.toBe(outer);
    terminal.stdin.write('stty size\n');
    await until(/33 77/);
    spawnSync('stty', ['-F', outer, 'rows', '40', 'cols', '100']);
    await new Promise((resolve) => setTimeout(resolve, 500));
    terminal.stdin.write('stty size\n');
    await until(/40 100/);
    // Ctrl-C goes to the command in the container, not to the one that shows it.
    terminal.stdin.write('sleep 100\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    terminal.stdin.write('\x03');
    terminal.stdin.write('echo after-$((2+2))\n');
    await until(/after-4/);
    terminal.stdin.write('exit 5\n');
    await until(/code 5/);
    await until(/[^-]icanon[\s\S]*[^-]echo /);
    terminal.stdin.end();
    await once(terminal, 'close');
  });
});

describe('port-forward', () => {
  const forward = async (...ports: string[]): Promise<CliChild & { readonly localPort: number }> => {
    const child = startCli(['port-forward', '--socket', node.socketPath, 'web', ...ports]);
    const [, port] = await pollUntil(
      'the first line',
      () => /^Forwarding from 127\.0\.0\.1:(\d+) -> \d+$/m.exec(child.output().stdout) ?? undefined,
      { timeoutMs: 15_000, detail: () => JSON.stringify(child.output()) },
    );
    return { ...child, localPort: Number(port) };
  };

  /** Sends everything, closes its half, and collects what comes until the other half is closed. */
  const talk = async (port: number, bytes: Buffer): Promise<Buffer> => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.end(bytes);
    await once(socket, 'end');
    return Buffer.concat(chunks);
  };

  it('moves five megabytes both ways intact, and half-closes', async () => {
    const { child, localPort, output, ended } = await forward(`:${remotePort}`);
    const bytes = randomBytes(5 << 20);
    const answer = await talk(localPort, bytes);
    expect(answer.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(answer.subarray(bytes.length).toString()).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(output().stdout).toContain(`Handling connection for ${localPort}\n`);
    child.kill('SIGINT');
    expect((await ended).signal).toBe('SIGINT');
  });

  it('serves connections at the same time, and a named port', async () => {
    const { child, localPort, ended } = await forward(':echo');
    const answers = await Promise.all(
      [1, 2, 3, 4].map(async (byte) => {
        const bytes = Buffer.alloc(300_000, byte);
        return (await talk(localPort, bytes)).subarray(0, bytes.length).equals(bytes);
      }),
    );
    expect(answers).toEqual([true, true, true, true]);
    child.kill('SIGINT');
    await ended;
  });

  it('tells what is wrong with one connection, and goes on', async () => {
    const closed = await freePort();
    const { child, localPort, output, ended } = await forward(`:${closed}`);
    await talk(localPort, Buffer.from('x')).catch(() => undefined);
    await pollUntil('an error', () => /error forwarding|refused/i.exec(output().stderr) ?? undefined, {
      timeoutMs: 10_000,
      detail: () => JSON.stringify(output()),
    });
    expect(child.exitCode).toBe(null);
    child.kill('SIGINT');
    await ended;
  });

  it('says that a port is taken', async () => {
    const { code, stderr } = await runCli([
      'port-forward',
      '--socket',
      node.socketPath,
      'web',
      String(remotePort),
      '--address',
      '127.0.0.1',
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/unable to listen on 127\.0\.0\.1:\d+: .*; something listens there already/);
  });
});
