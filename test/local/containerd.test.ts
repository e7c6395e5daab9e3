/** Streams through the streaming server of a real container runtime. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CleanupStack, createTempDir, pollUntil, startContainerd, testImages } from '../env/index.js';
import { cli, runCli, startCli } from './local-node.js';
import { startRun } from './run-child.js';

const cleanups = new CleanupStack();
let env: NodeJS.ProcessEnv = {};
const nodelet = (args: string[], input?: string) =>
  runCli(args, { env, ...(input === undefined ? {} : { input }) });

beforeAll(async () => {
  const containerd = await startContainerd({ cleanups });
  const { path: dir } = await createTempDir('local', { cleanups });
  env = { NODELET_STATE_DIR: path.join(dir, 'state') };
  await startRun({
    name: 'real',
    dir,
    env,
    cleanups,
    flags: ['--container-runtime-endpoint', containerd.endpoint],
    pods: [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web' },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'app',
              image: testImages.busybox,
              command: ['sh', '-c', 'echo up; exec nc -ll -p 8080 -e cat'],
              ports: [{ name: 'echo', containerPort: 8080 }],
            },
          ],
        },
      },
    ],
  });
});
afterAll(() => cleanups.run());

it('shows logs', async () => {
  expect(await nodelet(['logs', 'web'])).toMatchObject({ code: 0, stdout: 'up\n' });
});

it('passes input, output and exit codes', async () => {
  expect(
    await nodelet(['exec', '-q', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']),
  ).toMatchObject({
    code: 7,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await nodelet(['exec', '-i', 'web', '--', 'cat'], 'hi\n')).toMatchObject({
    code: 0,
    stdout: 'hi\n',
  });
  const much = randomBytes(1 << 20).toString('base64');
  const { stdout } = await nodelet(['exec', '-i', 'web', '--', 'cat'], much);
  expect(stdout === much).toBe(true);
});

it('ends with the command though it reads no input', async () => {
  for (let round = 0; round < 3; round++) {
    // What a pipe holds: containerd itself may wait for more to be read.
    const { code, stdout } = await nodelet(['exec', '-i', 'web', '--', 'echo', 'hi'], 'x'.repeat(10_000));
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hi\n' });
  }
});

it('gives a terminal', async () => {
  const command = `stty rows 33 cols 77; ${process.execPath} ${cli} exec -it web -- sh -c "tty; sleep 1; stty size"`;
  const { stdout } = spawnSync('script', ['-qfc', command, '/dev/null'], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  expect(stdout).toMatch(/\/dev\/pts\/\d+[\s^@]+33 77/);
});

it('says what the runtime says of a command that does not exist', async () => {
  const { code, stderr } = await nodelet(['exec', 'web', '--', 'no-such-command']);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/no-such-command|126|127/);
});

it('forwards a port and half-closes', async () => {
  const { child, output, ended } = startCli(['port-forward', 'web', ':echo'], { env });
  const [, port] = await pollUntil(
    'the first line',
    () => /^Forwarding from 127\.0\.0\.1:(\d+) -> 8080$/m.exec(output().stdout) ?? undefined,
    { timeoutMs: 15_000, detail: () => JSON.stringify(output()) },
  );
  const bytes = randomBytes(5 << 20);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.end(bytes);
  await once(socket, 'end');
  expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  child.kill('SIGINT');
  await ended;
});
