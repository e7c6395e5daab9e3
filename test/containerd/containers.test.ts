/** What single containers ask for: their own restart rules, last words, input, stop signals, and what their status tells. */
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../src/kube/index.js';
import { remoteCommand } from '../../src/streaming/index.js';
import { buildBusyboxImage } from '../env/index.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({
    config: {
      crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
      featureGates: { ContainerStopSignals: true },
    },
  });
  await node.start();
});
afterAll(() => node.stop());

const runs = (name: string, command: string[], more: Partial<Container> = {}): Container => ({
  name,
  image: busybox,
  command,
  ...more,
});
const apply = (name: string, spec: Partial<PodSpec>): Promise<void> =>
  node.apply(`${name}.yaml`, manifest(name, { spec: { terminationGracePeriodSeconds: 20, ...spec } }));

const idOf = async (pod: string, container = 'app'): Promise<string> => {
  const found = (await node.containers(pod)).find(
    ({ metadata, state }) => metadata?.name === container && state === 1,
  );
  if (found === undefined) throw new Error(`container ${container} of pod ${pod} does not run`);
  return found.id;
};

describe.concurrent('restarting', () => {
  it("a container's own policy and rules win over the pod's", async () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const rules = { restartPolicy: 'Never', restartPolicyRules: [rule] };
    await apply('own-policy', {
      restartPolicy: 'Never',
      containers: [
        runs('stays', forever),
        runs('fails', shell('exit 1'), { restartPolicy: 'OnFailure' }),
        runs('succeeds', shell('exit 0'), { restartPolicy: 'OnFailure' }),
        runs('by-rule', shell('exit 42'), rules),
        runs('by-no-rule', shell('exit 1'), rules),
      ],
    });
    const status = await node.until('own-policy', 'has restarted what it should', (one) =>
      ['fails', 'by-rule'].every(
        (name) =>
          (one.containerStatuses?.find((container) => container.name === name)?.restartCount ?? 0) >= 2,
      ),
    );
    const of = (name: string) => status.containerStatuses?.find((container) => container.name === name);
    expect(status.phase).toBe('Running');
    expect(of('stays')).toMatchObject({ restartCount: 0, ready: true });
    expect(of('succeeds')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
    expect(of('by-no-rule')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 1 } } });
    await node.remove('own-policy.yaml');
  });

  it('a pod that is always restarted keeps a container that is never', async () => {
    await apply('own-never', {
      containers: [runs('stays', forever), runs('once', shell('exit 3'), { restartPolicy: 'Never' })],
    });
    const status = await node.until(
      'own-never',
      'has its ended container',
      ({ containerStatuses = [] }) => containerStatuses[0]?.state?.terminated !== undefined,
    );
    expect(status.containerStatuses?.[0]).toMatchObject({ name: 'once', restartCount: 0 });
    await eventually('the other one runs', async () => (await node.running('own-never')).length === 1);
    expect(node.starts('own-never', 'once')).toBe(1);
    expect(status.phase).toBe('Running');
  });
});

describe.concurrent('last words', () => {
  it('are cut: of the file the last 4096 bytes, of the log the last 2048 of 80 lines', async () => {
    const fromLog = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    const lines = (count: number, of: string) =>
      `i=0; while [ $i -lt ${count} ]; do i=$((i+1)); echo ${of}; done`;
    await apply('long', {
      restartPolicy: 'Never',
      containers: [
        runs('file', shell(`(head -c 5000 /dev/zero | tr '\\0' x; echo -n end) > /words; exit 1`), {
          terminationMessagePath: '/words',
        }),
        runs('lines', shell(`${lines(100, '$i')}; exit 1`), fromLog),
        runs('bytes', shell(`${lines(60, `${'y'.repeat(99)}`)}; exit 1`), fromLog),
      ],
    });
    const status = await node.until('long', 'has failed', ({ phase }) => phase === 'Failed');
    const words = (name: string): string =>
      status.containerStatuses?.find((container) => container.name === name)?.state?.terminated?.message ??
      '';
    // The status of three containers may hold 12288 bytes of messages, 4096 of each.
    expect(words('file')).toBe(`${'x'.repeat(4093)}end`);
    expect(words('lines').trim().split('\n')).toEqual(Array.from({ length: 80 }, (_, n) => String(n + 21)));
    expect(words('bytes')).toHaveLength(2048);
    expect(words('bytes').endsWith(`${'y'.repeat(99)}\n`)).toBe(true);
  });
});

describe.concurrent('input', () => {
  it('of a container that takes it once ends with the client', async () => {
    await apply('once', {
      restartPolicy: 'Never',
      containers: [runs('app', ['cat'], { stdin: true, stdinOnce: true })],
    });
    await node.untilReady('once');
    const { url } = await node.cri.attach({
      containerId: await idOf('once'),
      stdin: true,
      stdout: true,
      tty: false,
      stderr: false,
    });
    const stdout = new PassThrough();
    const read = text(stdout);
    await remoteCommand({ target: { url }, stdin: Readable.from(['hello\n']), stdout, tty: false });
    stdout.end();
    expect(await read).toBe('hello\n');
    const status = await node.until('once', 'has ended', ({ phase }) => phase === 'Succeeded');
    expect(status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  });

  it('of another stays open for the next, and a terminal answers', async () => {
    await apply('terminal', { containers: [runs('app', ['sh'], { stdin: true, tty: true })] });
    await node.untilReady('terminal');
    const containerId = await idOf('terminal');
    for (const word of ['one', 'two']) {
      const { url } = await node.cri.attach({ containerId, stdin: true, stdout: true, tty: true });
      const stdin = new PassThrough();
      const stdout = new PassThrough();
      const stop = new AbortController();
      const session = remoteCommand({ target: { url }, stdin, stdout, tty: true, signal: stop.signal }).catch(
        (error: unknown) => error,
      );
      stdin.write(`echo "<${word}>"; tty\n`);
      let seen = '';
      while (!new RegExp(`<${word}>\\r\\n/dev/pts/`).test(seen)) {
        const [chunk] = await once(stdout, 'data');
        seen += String(chunk);
      }
      stop.abort();
      await session;
    }
    expect(await idOf('terminal')).toBe(containerId);
  });
});

describe.concurrent('the stop signal', () => {
  const tells = (signal: string) => `trap 'echo ${signal} > /dev/termination-log; exit 0' ${signal}`;
  /** Which signal a container gets that is stopped for its liveness. */
  const received = async (name: string, more: Partial<Container>): Promise<string | undefined> => {
    const command = shell(`${tells('TERM')}; ${tells('USR1')}; while true; do sleep 0.1; done`);
    const exec = { command: ['test', '!', '-e', '/tmp/end'] };
    const livenessProbe = { exec, periodSeconds: 1, failureThreshold: 1 };
    await apply(name, {
      os: { name: 'linux' },
      restartPolicy: 'Never',
      containers: [runs('app', command, { livenessProbe, ...more })],
    });
    await node.untilReady(name);
    await node.exec(name, 'app', 'touch', '/tmp/end');
    const status = await node.until(name, 'has ended', ({ phase }) => phase === 'Succeeded');
    return status.containerStatuses?.[0]?.state?.terminated?.message;
  };

  it('is that of the image', async () => {
    const config = { stopSignal: 'SIGUSR1' };
    await node.containerd.importImages([
      await buildBusyboxImage({ name: 'nodelet.test/usr1:1', config }, []),
    ]);
    expect(await received('of-image', { image: 'nodelet.test/usr1:1' })).toBe('USR1\n');
  });

  it('of a spec that the runtime is too old for leaves its own choice', async () => {
    expect(await received('of-spec', { lifecycle: { stopSignal: 'SIGUSR1' } })).toMatch(/^(TERM|USR1)\n$/);
  });
});

it.concurrent('the status tells class, resources and conditions', async () => {
  const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  await apply('told', { containers: [runs('app', forever, { resources })] });
  const status = await node.untilReady('told');
  expect(status.qosClass).toBe('Burstable');
  expect(status.containerStatuses?.[0]).toMatchObject({
    resources,
    allocatedResources: resources.requests,
    started: true,
    ready: true,
    containerID: expect.stringMatching(/^containerd:\/\/[0-9a-f]{64}$/),
    imageID: expect.stringContaining('sha256:'),
  });
  expect(status.conditions?.map((condition) => [condition.type, condition.status])).toEqual([
    ['PodReadyToStartContainers', 'True'],
    ['Initialized', 'True'],
    ['Ready', 'True'],
    ['ContainersReady', 'True'],
    ['PodScheduled', 'True'],
  ]);
});
