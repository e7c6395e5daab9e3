/** `kubectl port-forward`, `debug` and `run`: what a person does to look into a pod, through the node. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  podManifest,
  startCluster,
} from './cluster.js';
import {
  type KubectlProcess,
  runKubectl,
  type StreamProtocol,
  startKubectl,
  streamProtocols,
} from './kubectl.js';

let cluster: Cluster;
const echoPort = 8080;
const silentPort = 9;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.apply(echoPod('echo'), podManifest('box'));
  await Promise.all(['echo', 'box'].map((name) => cluster.untilReady(name)));
});
afterAll(() => cluster?.stop());

/** Says back what it hears on a port, to many at once. */
function echoPod(name: string): object {
  return podManifest(name, {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'app',
        image: busybox,
        command: ['nc', '-ll', '-p', String(echoPort), '-e', 'cat'],
        readinessProbe: { tcpSocket: { port: echoPort }, periodSeconds: 1 },
      },
    ],
  });
}

interface Forward {
  readonly kubectl: KubectlProcess;
  readonly localPort: number;
}

async function forward(protocol: StreamProtocol, target: string, port: number): Promise<Forward> {
  const kubectl = await startKubectl(cluster, ['port-forward', target, `:${port}`], { protocol });
  const [, local] = await kubectl.untilSays(/Forwarding from 127\.0\.0\.1:(\d+) -> /);
  return { kubectl, localPort: Number(local) };
}

/** Sends bytes, ends its side, and returns all that comes back. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  // The close that follows an error ends the exchange.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(bytes);
  await closed;
  return Buffer.concat(got);
}

describe.each(streamProtocols)('port-forward over %s', (protocol) => {
  it.concurrent('carries many connections at once, large data both ways, and their ends', async () => {
    const { kubectl, localPort } = await forward(protocol, 'pod/echo', echoPort);
    const sent = Array.from({ length: 6 }, (_, at) => randomBytes(at === 0 ? 5 << 20 : 300_000 + at));
    const got = await Promise.all(sent.map((bytes) => exchange(localPort, bytes)));
    expect(got.map((bytes, at) => bytes.equals(sent[at] as Buffer))).toEqual(sent.map(() => true));
    expect((await exchange(localPort, Buffer.from('once more'))).toString()).toBe('once more');
    await kubectl.interrupt();
    expect(kubectl.stderr).toBe('');
  });

  it.concurrent('keeps a connection that says nothing for a while', async () => {
    const { kubectl, localPort } = await forward(protocol, 'pod/echo', echoPort);
    const socket = connect(localPort, '127.0.0.1');
    await once(socket, 'connect');
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    socket.write('still there');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toBe('still there');
    socket.destroy();
    await kubectl.interrupt();
  });

  it.concurrent('says so when nobody listens', async () => {
    const { kubectl, localPort } = await forward(protocol, 'pod/echo', silentPort);
    expect(await exchange(localPort, Buffer.from('anybody?'))).toEqual(Buffer.alloc(0));
    await kubectl.untilSays(/error forwarding port 9 to pod [0-9a-f]{64}, uid : .*refused/);
    await kubectl.untilSays(/error: lost connection to pod/);
    expect((await kubectl.end()).exitCode).toBe(1);
  });

  it.concurrent('ends when the pod does', async () => {
    const name = `short-${protocol.toLowerCase()}`;
    await cluster.apply(echoPod(name));
    await cluster.untilReady(name);
    const { kubectl, localPort } = await forward(protocol, `pod/${name}`, echoPort);
    const socket = connect(localPort, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('hello');
    await once(socket, 'data');
    await cluster.delete(name);
    await eventually('the connection is gone', async () => {
      if (socket.destroyed || socket.readableEnded) return true;
      socket.write('?');
      return false;
    });
    const again = await exchange(localPort, Buffer.from('anybody?')).catch(() => Buffer.alloc(0));
    expect(again.length).toBe(0);
    await kubectl.interrupt();
  });
});

describe('debug', () => {
  it('runs a container of its own in the pod, which sees the processes of its target', async () => {
    const args = ['debug', '-i', 'box', `--image=${busybox}`, '--target=app', '-c', 'looker', '--', 'sh'];
    const input = 'echo I am $$; ps | grep -c "[s]leep 1000000"; cat /proc/1/root/etc/passwd | head -n1\n';
    const running = await startKubectl(cluster, args, { keepInputOpen: true });
    await eventually('it answers', async () => {
      running.write(input);
      return /root:x:0:0/.test(running.text);
    });
    expect(running.text).toMatch(/I am \d+\n[1-9]/);
    running.write('exit 0\n');
    expect((await running.end()).exitCode).toBe(0);
    const pod = await cluster.untilPod(
      'box',
      'shows the end of its ephemeral container',
      (seen) => container(seen, 'looker').state?.terminated !== undefined,
    );
    expect(container(pod, 'looker').state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(container(pod).restartCount).toBe(0);
    expect(await cluster.kubectl('logs', 'box', '-c', 'looker')).toContain('root:x:0:0');
  });

  it('leaves a container without a target to itself, and lets commands into it', async () => {
    await cluster.kubectl('debug', 'box', `--image=${busybox}`, '-c', 'alone', '--', ...forever);
    await cluster.untilPod('box', 'runs another', (seen) =>
      (seen.status?.ephemeralContainerStatuses ?? []).some(
        ({ name, state }) => name === 'alone' && state?.running !== undefined,
      ),
    );
    const { text } = await runKubectl(cluster, ['exec', 'box', '-c', 'alone', '--', 'ps']);
    expect(text.split('\n').filter((line) => line.includes('sleep 1000000'))).toHaveLength(2);
    expect((await cluster.pod('box')).status?.phase).toBe('Running');
  });
});

describe('run', () => {
  it('with input and --rm speaks to a pod for as long as it lives', async () => {
    const args = ['run', 'brief', '-i', '--rm', '--restart=Never', `--image=${busybox}`, '--command', '--'];
    const running = await startKubectl(
      cluster,
      [...args, 'sh', '-c', 'while read line; do [ $line = end ] && exit 0; echo got $line; done'],
      { keepInputOpen: true },
    );
    await eventually('it answers', async () => {
      running.write('hello\n');
      return running.text.includes('got hello\n');
    });
    running.write('end\n');
    const { exitCode, text } = await running.end();
    expect(exitCode).toBe(0);
    expect(text).toContain('pod "brief" deleted');
    await cluster.untilGone('brief');
  });

  it('in a terminal gives the exit code of what was run there', async () => {
    const args = ['run', 'shell', '-it', '--rm', '--restart=Never', `--image=${busybox}`, '--', 'sh'];
    const running = await startKubectl(cluster, args, { tty: true });
    await eventually('there is a prompt', async () => {
      running.write('tty\n');
      return running.text.includes('/dev/pts/0');
    });
    running.write('exit 4\n');
    const { exitCode, text } = await running.end();
    expect(text).toContain('pod "shell" deleted');
    expect(exitCode).toBe(4);
  });
});
