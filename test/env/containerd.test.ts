import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cgroupDirectories } from './cgroups.js';
import { CommandError, runCommand } from './command.js';
import { startContainerd, type TestContainerd } from './containerd.js';
import { buildBusyboxImage, testImages } from './images.js';
import { pollUntil } from './poll.js';
import { isRunning, readProcess } from './processes.js';
import { protobuf, protobufField } from './protobuf.js';
import { CleanupStack } from './tempdir.js';
import { findTraces, noteTraces } from './traces.js';

const cleanups = new CleanupStack();
afterEach(() => cleanups.run());

const hostPort = 38_080;

/** A pod with a port on the host, without going through any client of ours. */
async function runSandbox(
  containerd: TestContainerd,
  cgroupParent: string,
): Promise<{ id: string; config: Buffer }> {
  const config = protobuf(
    [1, protobuf([1, 'pod'], [2, 'uid'], [3, 'default'], [4, 0])],
    [2, 'pod'],
    [5, protobuf([2, 8080], [3, hostPort])],
    [8, protobuf([1, cgroupParent])],
  );
  const response = await containerd.callCri('RuntimeService/RunPodSandbox', protobuf([1, config]));
  return { id: protobufField(response, 1)!.toString(), config };
}

async function runInSandbox(
  containerd: TestContainerd,
  sandbox: { id: string; config: Buffer },
  command: readonly string[],
): Promise<void> {
  const config = protobuf(
    [1, protobuf([1, 'main'], [2, 0])],
    [2, protobuf([1, testImages.busybox])],
    ...command.map((part) => [3, part] as const),
  );
  const request = protobuf([1, sandbox.id], [2, config], [3, sandbox.config]);
  const id = protobufField(await containerd.callCri('RuntimeService/CreateContainer', request), 1)!;
  await containerd.callCri('RuntimeService/StartContainer', protobuf([1, id]));
}

/** The id on the host of each running task's first process, by task. */
async function tasks(containerd: TestContainerd): Promise<Map<string, number>> {
  const { stdout } = await containerd.ctr(['tasks', 'list']);
  const rows = stdout.trim().split('\n').slice(1);
  return new Map(
    rows
      .map((row) => row.split(/\s+/))
      .filter(([, , status]) => status === 'RUNNING')
      .map(([id, pid]) => [id!, Number(pid)]),
  );
}

/** What a container that runs to its end writes. */
async function output(containerd: TestContainerd, image: string, args: readonly string[]): Promise<string> {
  const own = ['--cgroup', `${containerd.cgroupParent}/once`, '--runc-root', containerd.layout.runcRoot];
  const fifos = ['--fifo-dir', containerd.layout.fifoDir];
  return (await containerd.ctr(['run', '--rm', ...own, ...fifos, image, 'once', ...args])).stdout.trim();
}

const isReady = async (containerd: TestContainerd) => {
  // StatusResponse.status.conditions: RuntimeReady, then NetworkReady; a false one has no field 2.
  const status = protobufField(await containerd.callCri('RuntimeService/Status', Buffer.alloc(0)), 1)!;
  return !status.includes('NetworkPluginNotReady');
};

describe('startContainerd', () => {
  it('runs pods and containers, keeps them over a restart, loses them in a reboot, and leaves nothing', async () => {
    const containerd = await startContainerd({ cleanups });
    const { layout } = containerd;
    expect((await containerd.ctr(['images', 'list', '--quiet'])).stdout.split('\n')).toEqual(
      expect.arrayContaining(Object.values(testImages)),
    );

    await containerd.runContainer({ id: 'alone', image: testImages.busybox, args: ['sleep', '1000'] });
    const sandbox = await runSandbox(containerd, `${containerd.cgroupParent}/pod`);
    await runInSandbox(containerd, sandbox, ['sh', '-c', 'echo hello > /www/a; httpd -f -p 8080 -h /www']);
    const unnamedCgroup = await runSandboxWithoutCgroup(containerd);
    const address = `http://127.0.0.1:${hostPort}/a`;
    const answer = await pollUntil(
      'the pod answers on its host port',
      async () => {
        const response = await fetch(address).catch(() => undefined);
        return response?.text();
      },
      { timeoutMs: 10_000 },
    );
    expect(answer).toBe('hello\n');

    const before = await tasks(containerd);
    expect([...before.keys()]).toEqual(expect.arrayContaining(['alone', sandbox.id, unnamedCgroup]));
    expect(before.size).toBe(4);
    const firstPid = containerd.pid;
    await containerd.restart();
    expect(containerd.pid).not.toBe(firstPid);
    expect(await tasks(containerd)).toEqual(before);

    const workload = [...before.values()].map((pid) => readProcess(pid)!);
    const beforeReboot = noteTraces(layout, [...before.values()]);
    expect(beforeReboot.networkNamespaces).toHaveLength(2);
    await containerd.wipeState();
    expect(workload.filter(isRunning)).toEqual([]);
    expect((await tasks(containerd)).size).toBe(0);
    expect((await containerd.ctr(['containers', 'list', '--quiet'])).stdout).toContain('alone');
    expect((await containerd.ctr(['images', 'list', '--quiet'])).stdout).toContain(testImages.busybox);

    await runSandboxWithoutCgroup(containerd, 'again');
    const atTheEnd = noteTraces(layout, [...(await tasks(containerd)).values(), containerd.pid!]);
    expect(atTheEnd.networkNamespaces).toHaveLength(1);
    expect(atTheEnd.shimSockets).toHaveLength(1);
    await containerd.stop();
    expect(await findTraces(layout, beforeReboot)).toEqual([]);
    expect(await findTraces(layout, atTheEnd)).toEqual([]);
    expect(cgroupDirectories(`/k8s.io/${unnamedCgroup}`)).toEqual([]);
    await containerd.stop();
  });

  it('runs two side by side that know nothing of each other', async () => {
    const [one, two] = await Promise.all([
      startContainerd({ cleanups }),
      startContainerd({ cleanups, images: [] }),
    ]);
    expect(one.subnet).not.toBe(two.subnet);
    expect((await two.ctr(['images', 'list', '--quiet'])).stdout).not.toContain(testImages.busybox);
    const [first, second] = await Promise.all([
      runSandbox(one, `${one.cgroupParent}/pod`),
      runSandboxWithoutCgroup(two),
    ]);
    const running = { id: 'same', image: testImages.pause };
    await Promise.all([one.runContainer(running), two.runContainer(running)]);

    const traces = noteTraces(one.layout, [...(await tasks(one)).values()]);
    await one.stop();
    expect(await findTraces(one.layout, traces)).toEqual([]);
    expect([...(await tasks(two)).keys()].sort()).toEqual([second, 'same'].sort());
    expect(existsSync(`/sys/class/net/${two.layout.bridge}`)).toBe(true);
    expect(first.id).not.toBe(second);
  });

  it('ends containers that were left frozen', async () => {
    const containerd = await startContainerd({ cleanups, images: [] });
    await containerd.runContainer({ id: 'alone', image: testImages.pause });
    const noted = noteTraces(containerd.layout, [...(await tasks(containerd)).values()]);
    await containerd.ctr(['tasks', 'pause', 'alone']);
    await containerd.stop();
    expect(await findTraces(containerd.layout, noted)).toEqual([]);
  });

  it('comes back after it was killed, with its containers', async () => {
    const containerd = await startContainerd({ cleanups, images: [] });
    await containerd.runContainer({ id: 'alone', image: testImages.pause });
    const before = await tasks(containerd);
    await containerd.kill();
    expect(containerd.pid).toBeUndefined();
    await expect(containerd.callCri('RuntimeService/Status', Buffer.alloc(0))).rejects.toThrow('code 14');
    await containerd.start();
    expect(await tasks(containerd)).toEqual(before);
  });

  it('has no pod network on demand, until it is installed', async () => {
    const containerd = await startContainerd({ cleanups, images: [], cni: false });
    expect(await isReady(containerd)).toBe(false);
    containerd.setNetworkReady(true);
    await pollUntil('the network is ready', async () => ((await isReady(containerd)) ? true : undefined), {
      timeoutMs: 10_000,
    });
  });

  it('takes overrides of its configuration, and says what is wrong with them', async () => {
    const containerd = await startContainerd({ cleanups, images: [], config: { debug: { level: 'debug' } } });
    expect(containerd.logs()).toContain('level=debug');
    const broken = startContainerd({ cleanups, config: { oom_score: 'high' } });
    const refusal = {
      packaged: /containerd ended at its start:\n.*Can't convert high/,
      newer: /containerd ended at its start:\n.*cannot decode TOML string into .*OOMScore of type int/,
    };
    await expect(broken).rejects.toThrow(refusal[containerd.release]);
  });
});

/** A pod whose cgroup is left to the runtime. */
async function runSandboxWithoutCgroup(containerd: TestContainerd, name = 'bare'): Promise<string> {
  const config = protobuf([1, protobuf([1, name], [2, name], [3, 'default'], [4, 0])]);
  const response = await containerd.callCri('RuntimeService/RunPodSandbox', protobuf([1, config]));
  return protobufField(response, 1)!.toString();
}

describe('the test images', () => {
  it('do what they say', async () => {
    const containerd = await startContainerd({ cleanups });
    expect(await output(containerd, testImages.busybox, ['sh', '-c', 'id -u; stat -c %a /tmp'])).toBe(
      '0\n1777',
    );
    expect(await output(containerd, testImages.nonroot, ['sh', '-c', 'id -u; pwd'])).toBe('1000\n/home/app');
    expect(await output(containerd, testImages.namedUser, ['id', '-un'])).toBe('nobody');
    expect(await output(containerd, testImages.exits, [])).toBe('');
    const failure = await output(containerd, testImages.exits, ['/bin/exits', '3']).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(CommandError);
    expect(failure).toMatchObject({ exitCode: 3 });

    const files = [{ type: 'file', path: 'data', content: 'mine' }] as const;
    const own = await buildBusyboxImage(
      { name: 'nodelet.test/own:1', config: { cmd: ['cat', '/data'] } },
      files,
    );
    await containerd.importImages([own]);
    // ctr may end before it has passed on what so short a program prints.
    await expect.poll(() => output(containerd, own.name, []), { timeout: 60_000 }).toBe('mine');
  });

  it('pause ends on SIGTERM and reaps what others leave', async () => {
    const containerd = await startContainerd({ cleanups, images: [] });
    await containerd.runContainer({ id: 'pause', image: testImages.pause });
    const pid = (await tasks(containerd)).get('pause')!;
    const inside = (id: string, ...command: string[]) =>
      containerd.ctr([
        'tasks',
        'exec',
        '--exec-id',
        id,
        '--fifo-dir',
        containerd.layout.fifoDir,
        'pause',
        ...command,
      ]);
    await inside('orphan', 'sh', '-c', 'sleep 0.1 &');
    let count = 0;
    await pollUntil(
      'the orphan is reaped',
      async () => {
        const { stdout } = await inside(`ps${count++}`, 'ps', '-o', 'stat,args');
        return /^Z| 0\.1$/m.test(stdout) ? undefined : true;
      },
      { timeoutMs: 5_000 },
    );
    const pause = readProcess(pid)!;
    await containerd.ctr(['tasks', 'kill', '--signal', 'SIGTERM', 'pause']);
    await pollUntil('pause ends', () => (isRunning(pause) ? undefined : true), { timeoutMs: 5_000 });
  });
});

it('leaves nothing of a process that was killed, once the next one starts', async () => {
  const script = join(import.meta.dirname, 'leftovers.fixture.ts');
  const { stdout } = await runCommand(process.execPath, [
    '--import',
    import.meta.resolve('tsx'),
    script,
  ]).catch((error: unknown) => {
    if (error instanceof CommandError && error.exitCode === undefined) {
      return error;
    }
    throw error;
  });
  const left = JSON.parse(stdout) as {
    layout: TestContainerd['layout'];
    traces: ReturnType<typeof noteTraces>;
  };
  expect(await findTraces(left.layout, left.traces)).not.toEqual([]);
  await startContainerd({ cleanups, images: [] });
  expect(await findTraces(left.layout, left.traces)).toEqual([]);
});
