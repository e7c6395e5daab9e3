/** `kubectl exec`, `cp` and `attach`: streams through the API server and the node to a container and back. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTempDir, runCommand } from '../env/index.js';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  phaseIs,
  podManifest,
  shell,
  startCluster,
  waitingReason,
} from './cluster.js';
import { runKubectl, startKubectl, streamProtocols } from './kubectl.js';

let cluster: Cluster;
let dir: string;

beforeAll(async () => {
  cluster = await startCluster();
  dir = (await createTempDir('streams', { cleanups: cluster.cleanups })).path;
  const echo = shell('echo hello; while read line; do echo "got $line"; done; echo over');
  await cluster.apply(
    podManifest('box', {
      containers: [
        { name: 'app', image: busybox, command: forever },
        { name: 'side', image: busybox, command: forever },
      ],
    }),
    podManifest('echo', { containers: [{ name: 'app', image: busybox, stdin: true, command: echo }] }),
    podManifest('once', {
      restartPolicy: 'Never',
      containers: [{ name: 'app', image: busybox, stdin: true, stdinOnce: true, command: echo }],
    }),
    podManifest('terminal', {
      containers: [{ name: 'app', image: busybox, stdin: true, tty: true, command: ['sh'] }],
    }),
    podManifest('no-image', { containers: [{ name: 'app', image: 'nodelet.test/none:1', command: ['sh'] }] }),
  );
  await Promise.all(['box', 'echo', 'once', 'terminal'].map((name) => cluster.untilReady(name)));
});
afterAll(() => cluster?.stop());

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const endless = 'All commands and output from this session will be recorded';

describe.each(streamProtocols)('over %s, exec', (protocol) => {
  const exec = (args: readonly string[], input?: string | Buffer) =>
    runKubectl(cluster, ['exec', ...args], { protocol, ...(input === undefined ? {} : { input }) });

  it.concurrent('gives both outputs and the exit code', async () => {
    const end = await exec(['box', '-c', 'app', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(end).toMatchObject({ exitCode: 7, text: 'out\n' });
    expect(end.stderr).toBe('err\ncommand terminated with exit code 7\n');
  });

  it.concurrent('goes to the container that is named, or to the first', async () => {
    const marked = await exec(['box', '-c', 'side', '--', 'touch', '/tmp/side']);
    expect(marked.exitCode).toBe(0);
    expect((await exec(['box', '-c', 'side', '--', 'ls', '/tmp/side'])).text).toBe('/tmp/side\n');
    const first = await exec(['box', '--', 'ls', '/tmp/side']);
    expect(first.exitCode).toBe(1);
    expect(first.stderr).toContain('Defaulted container "app" out of: app, side\n');
  });

  it.concurrent('passes large input through, and its end', async () => {
    const input = randomBytes(6 << 20);
    expect(await exec(['-i', 'box', '-c', 'app', '--', 'sha256sum'], input)).toMatchObject({
      exitCode: 0,
      text: `${sha256(input)}  -\n`,
    });
  });

  it.concurrent('passes large output through', async () => {
    const script = 'yes nodelet | head -c 8388608; yes error | head -c 1048576 >&2';
    const { exitCode, stdout, stderr } = await exec(['box', '-c', 'app', '--', 'sh', '-c', script]);
    const sent = 'error\n'.repeat(Math.ceil((1 << 20) / 6)).slice(0, 1 << 20);
    // What kubectl says of a broken connection stands among it.
    expect(stderr.replaceAll('error\n', '')).toBe(sent.replaceAll('error\n', ''));
    expect([exitCode, sha256(stdout)]).toEqual([0, sha256(Buffer.from('nodelet\n'.repeat(1 << 20)))]);
    expect(stderr).toBe(sent);
  });

  it.concurrent('passes both at once', async () => {
    const input = randomBytes(4 << 20);
    const { exitCode, stdout } = await exec(['-i', 'box', '-c', 'app', '--', 'cat'], input);
    expect([exitCode, stdout.equals(input)]).toEqual([0, true]);
  });

  it.concurrent('ends with the command, though its input is open', async () => {
    const running = await startKubectl(cluster, ['exec', '-i', 'box', '-c', 'app', '--', 'head', '-n1'], {
      protocol,
      input: 'one\n',
      keepInputOpen: true,
    });
    expect(await running.end(20_000)).toMatchObject({ exitCode: 0, text: 'one\n' });
  });

  it.concurrent('gives a terminal of the size that the client has', async () => {
    const args = ['exec', '-it', 'box', '-c', 'app', '--', 'sh', '-c', 'sleep 0.5; tty; stty size; exit 5'];
    const running = await startKubectl(cluster, args, {
      protocol,
      tty: true,
      ttySetup: 'stty rows 33 cols 77',
    });
    const { exitCode, text } = await running.end();
    expect(text).toMatch(/\/dev\/pts\/\d+\r?\n33 77\r?\n/);
    expect(exitCode).toBe(5);
  });

  it.concurrent('follows when the terminal is resized', async () => {
    const ttyFile = join(dir, `tty-${protocol}`);
    const args = ['exec', '-it', 'box', '-c', 'app', '--', 'sh'];
    const ttySetup = `tty > ${ttyFile}; stty rows 20 cols 50`;
    const running = await startKubectl(cluster, args, { protocol, tty: true, ttySetup });
    running.write('stty size\n');
    await running.untilSays(/\n20 50\r/);
    await runCommand('stty', ['-F', readFileSync(ttyFile, 'utf8').trim(), 'rows', '44', 'cols', '99']);
    await eventually('the new size arrives', async () => {
      running.write('stty size\n');
      return /\n44 99\r/.test(running.text);
    });
    running.write('exit 9\n');
    expect((await running.end()).exitCode).toBe(9);
  });

  it.concurrent('says why a command cannot be run', async () => {
    const { exitCode, stderr } = await exec(['box', '-c', 'app', '--', '/none']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^error: (Internal error occurred: )+error executing command in container: failed to exec in container: .*"\/none": stat \/none: no such file or directory: unknown\n$/,
    );
  });

  it.concurrent('says why there is no container to run it in', async () => {
    await cluster.untilPod('no-image', 'waits', (pod) => /ImagePull/.test(waitingReason(pod) ?? ''));
    expect(await exec(['no-image', '--', 'true'])).toMatchObject({
      exitCode: 1,
      stderr: 'error: unable to upgrade connection: container not found ("app")\n',
    });
    expect((await exec(['box', '-c', 'none', '--', 'true'])).stderr).toBe(
      'error: container none is not valid for pod box out of: app, side\n',
    );
  });

  it.concurrent('works on after a client that left in the middle', async () => {
    const running = await startKubectl(cluster, ['exec', '-i', 'box', '-c', 'app', '--', 'sh'], {
      protocol,
      input: 'echo up; sleep 31337\n',
      keepInputOpen: true,
    });
    await running.untilSays(/up/);
    await running.interrupt();
    expect((await exec(['box', '-c', 'app', '--', 'echo', 'still here'])).text).toBe('still here\n');
  });
});

describe.each(streamProtocols)('over %s, cp', (protocol) => {
  it('copies a directory there and back', async () => {
    const given = join(dir, `given-${protocol}`);
    const bytes = randomBytes(3 << 20);
    mkdirSync(join(given, 'deep', 'er'), { recursive: true });
    writeFileSync(join(given, 'deep', 'er', 'large'), bytes);
    writeFileSync(join(given, 'small'), 'small\n');
    const remote = `/tmp/copied-${protocol}`;
    const there = await runKubectl(cluster, ['cp', given, `box:${remote}`, '-c', 'app'], { protocol });
    expect(there).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await cluster.kubectl('exec', 'box', '-c', 'app', '--', 'cat', `${remote}/small`)).toBe('small\n');
    const got = join(dir, `got-${protocol}`);
    expect(
      (await runKubectl(cluster, ['cp', `box:${remote}`, got, '-c', 'app'], { protocol })).exitCode,
    ).toBe(0);
    expect(readFileSync(join(got, 'small'), 'utf8')).toBe('small\n');
    expect(readFileSync(join(got, 'deep', 'er', 'large')).equals(bytes)).toBe(true);
  });
});

describe('attach', () => {
  it.each(streamProtocols)('over %s gives what is said from now on, and takes input', async (protocol) => {
    const attached = await startKubectl(cluster, ['attach', '-i', 'echo'], {
      protocol,
      keepInputOpen: true,
    });
    await attached.untilSays(/try pressing enter/);
    await eventually('it answers', async () => {
      attached.write(`${protocol}\n`);
      return attached.text.includes(`got ${protocol}\n`);
    });
    attached.endInput();
    expect((await attached.end()).exitCode).toBe(0);
    expect(container(await cluster.pod('echo')).restartCount).toBe(0);
    expect(await cluster.kubectl('logs', 'echo')).toMatch(new RegExp(`^hello\n(got .*\n)*got ${protocol}\n`));
  });

  it('whose end is the end of its input ends a container that reads only once', async () => {
    const { exitCode, text } = await runKubectl(cluster, ['attach', '-i', 'once'], { input: 'one\ntwo\n' });
    expect(exitCode).toBe(0);
    expect(text).toContain('got two\n');
    await cluster.untilPod('once', 'has ended', phaseIs('Succeeded'));
    expect(await cluster.kubectl('logs', 'once')).toBe('hello\ngot one\ngot two\nover\n');
  });

  it('to a terminal works as one', async () => {
    const attached = await startKubectl(cluster, ['attach', '-it', 'terminal'], {
      tty: true,
      ttySetup: 'stty rows 21 cols 61',
    });
    await attached.untilSays(/try pressing enter/);
    await eventually('it has the size', async () => {
      attached.write('stty size\n');
      return /\n21 61\r/.test(attached.text);
    });
    await attached.interrupt();
  });

  it('to what does not run is refused', async () => {
    const { exitCode, stderr } = await runKubectl(cluster, ['attach', 'no-image']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(endless);
    expect(stderr).toContain('container app not found in pod no-image_default');
  });
});
