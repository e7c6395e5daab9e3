/** In which order the containers of one pod start, end and start over. */
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContainerStatus } from '../../src/cri/index.js';
import type { Container, PodSpec } from '../../src/kube/index.js';
import { busybox, eventually, forever, isReady, manifest, shell, stopsAfter, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({ config: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } } });
  await node.start();
});
afterAll(() => node.stop());

const runs = (name: string, command: string[], more: Partial<Container> = {}): Container => ({
  name,
  image: busybox,
  command,
  ...more,
});
const sidecar = (name: string, command: string[] = forever): Container =>
  runs(name, command, { restartPolicy: 'Always' });

const apply = (name: string, spec: Partial<PodSpec>): Promise<void> =>
  node.apply(`${name}.yaml`, manifest(name, { spec: { terminationGracePeriodSeconds: 30, ...spec } }));

/** What the runtime tells of the newest instance of each container. */
const instances = async (name: string): Promise<Record<string, ContainerStatus>> => {
  const found: Record<string, ContainerStatus> = {};
  for (const { id, metadata } of (await node.containers(name)).reverse()) {
    const { status } = await node.cri.containerStatus({ containerId: id });
    if (status !== undefined) found[metadata?.name ?? ''] = status;
  }
  return found;
};

/** Tells containers on the host's network what to do each time they ask. */
class Prompter {
  readonly #lines = new Map<string, (string | Promise<string>)[]>();
  readonly #server = createServer(async (request, response) => {
    response.end((await this.#lines.get(request.url?.slice(1) ?? '')?.shift()) ?? 'run');
  });

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** A command that ends with one code after another, each time it is started, or goes on to `run` for ever. */
  command(name: string, lines: (string | Promise<string>)[]): string[] {
    this.#lines.set(name, lines);
    const address = this.#server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    return shell(
      `code=$(wget -qO- http://127.0.0.1:${port}/${name}) || exit 99; [ "$code" = run ] || exit $code; ${forever.at(-1)}`,
    );
  }
}

const prompter = new Prompter();
beforeAll(() => prompter.start());
afterAll(() => prompter.stop());

describe.concurrent('starting', () => {
  it('init containers run one after another, sidecars stay beside what follows, containers come last', async () => {
    await apply('order', {
      initContainers: [
        runs('first', shell('sleep 0.3')),
        sidecar('early'),
        runs('second', shell('sleep 0.3')),
        sidecar('late'),
      ],
      containers: [runs('main', forever), runs('other', forever)],
    });
    const status = await node.untilReady('order');
    expect(status.initContainerStatuses?.map(({ name, ready, started }) => [name, ready, started])).toEqual([
      ['first', true, false],
      ['early', true, true],
      ['second', true, false],
      ['late', true, true],
    ]);
    const { first, early, second, late, main, other } = await instances('order');
    const moments = [
      first?.startedAt,
      first?.finishedAt,
      early?.startedAt,
      second?.startedAt,
      second?.finishedAt,
      late?.startedAt,
      main?.startedAt,
      other?.startedAt,
    ];
    expect(moments).toEqual([...moments].sort((a, b) => Number((a ?? 0n) - (b ?? 0n))));
    expect(moments.every((moment) => moment !== undefined && moment > 0n)).toBe(true);
  });

  it('a failed init container is run again until it succeeds, and only then the containers', async () => {
    await apply('retry', {
      restartPolicy: 'OnFailure',
      hostNetwork: true,
      initContainers: [
        runs('init', prompter.command('retry', ['3', '4', '0'])),
        runs('next', shell('exit 0')),
      ],
      containers: [runs('main', forever)],
    });
    const status = await node.untilReady('retry');
    const [init, next] = status.initContainerStatuses ?? [];
    expect(init?.restartCount).toBe(2);
    expect(init?.state?.terminated?.exitCode).toBe(0);
    expect(next?.restartCount).toBe(0);
    const { next: ran, main } = await instances('retry');
    expect(main!.startedAt >= ran!.finishedAt).toBe(true);
    expect(status.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('a failed init container ends a pod that is never restarted', async () => {
    await apply('never', {
      restartPolicy: 'Never',
      initContainers: [sidecar('side'), runs('init', shell('exit 3'))],
      containers: [runs('main', forever)],
    });
    const status = await node.until('never', 'has failed', ({ phase }) => phase === 'Failed');
    expect(status.initContainerStatuses?.[1]?.state?.terminated?.exitCode).toBe(3);
    expect(status.containerStatuses?.[0]?.state?.waiting?.reason).toBe('PodInitializing');
    await node.untilGone('never');
    expect(node.starts('never', 'main')).toBe(0);
  });

  it("a rule of its own restarts an init container that the pod's policy would not", async () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    await apply('rule', {
      restartPolicy: 'Never',
      hostNetwork: true,
      initContainers: [
        runs('init', prompter.command('rule', ['42', '0']), {
          restartPolicy: 'Never',
          restartPolicyRules: [rule],
        }),
      ],
      containers: [runs('main', forever)],
    });
    const status = await node.untilReady('rule');
    expect(status.initContainerStatuses?.[0]?.restartCount).toBe(1);
    expect(status.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});

describe.concurrent('ending', () => {
  it('sidecars are stopped after the containers, the last one first, on what is left of the grace', async () => {
    const directory = path.join(node.dir, 'ends');
    await mkdir(directory);
    /** Notes when it is told to stop, and when it does. */
    const notes = (name: string, seconds: number): Container => ({
      ...runs(
        name,
        shell(
          `trap 'echo ${name} told >> /ends/order; sleep ${seconds}; echo ${name} ends >> /ends/order; exit 0' TERM; while true; do sleep 0.1; done`,
        ),
      ),
      volumeMounts: [{ name: 'ends', mountPath: '/ends' }],
    });
    await apply('stop', {
      volumes: [{ name: 'ends', hostPath: { path: directory } }],
      initContainers: [
        { ...notes('s0', 0), restartPolicy: 'Always' },
        { ...notes('s1', 1.2), restartPolicy: 'Always' },
      ],
      containers: [notes('main', 2.2)],
    });
    await node.untilReady('stop');
    await node.remove('stop.yaml');
    await node.untilGone('stop');
    expect((await readFile(path.join(directory, 'order'), 'utf8')).trim().split('\n')).toEqual([
      'main told',
      'main ends',
      's1 told',
      's1 ends',
      's0 told',
      's0 ends',
    ]);
    await eventually('it is told', async () => node.logOf('stop', 'container.stop').length === 3);
    const timeouts = node
      .logOf('stop', 'container.stop: Stopped container')
      .map((line) => Number(/ timeoutSeconds=(\d+)/.exec(line)?.[1]));
    expect(timeouts[0]).toBe(30);
    expect(timeouts[1]).toBeLessThanOrEqual(28);
    expect(timeouts[2]).toBeLessThan(timeouts[1]!);
  });

  it('a pod whose containers are done has its sidecars stopped and succeeds', async () => {
    await apply('done', {
      restartPolicy: 'Never',
      initContainers: [sidecar('s0'), sidecar('s1', stopsAfter(1))],
      containers: [runs('main', shell('sleep 1'))],
    });
    await node.until('done', 'has succeeded', ({ phase }) => phase === 'Succeeded');
    const { main, s0, s1 } = await instances('done');
    expect(s1!.finishedAt > main!.finishedAt).toBe(true);
    expect(s0!.finishedAt > s1!.finishedAt).toBe(true);
    for (const name of ['s0', 's1', 'main']) expect(node.starts('done', name)).toBe(1);
  });

  it('a sidecar that ends is started again beside the containers, which run on', async () => {
    await apply('beside', {
      restartPolicy: 'Never',
      initContainers: [sidecar('side')],
      containers: [runs('main', forever)],
    });
    await node.untilReady('beside');
    const before = await instances('beside');
    await node.killProcess(before.side!.id);
    await node.until(
      'beside',
      'has its sidecar again',
      (one) => isReady(one) && one.initContainerStatuses?.[0]?.restartCount === 1,
    );
    const after = await instances('beside');
    expect(after.main?.id).toBe(before.main?.id);
    expect(after.side?.id).not.toBe(before.side?.id);
  });
});

describe.concurrent('starting over', () => {
  it('an exit that asks for it takes all containers of the pod along, in the same sandbox', async () => {
    const restartPolicyRules = [
      { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } },
    ];
    let end = (_code: string): void => {};
    const ending = new Promise<string>((resolve) => {
      end = resolve;
    });
    await apply('over', {
      hostNetwork: true,
      initContainers: [runs('init', shell('sleep 0.1')), sidecar('side')],
      containers: [
        runs('main', forever),
        runs('source', prompter.command('over', [ending]), { restartPolicy: 'Never', restartPolicyRules }),
      ],
    });
    await node.untilReady('over');
    const sandboxes = await node.readySandboxes('over');
    const before = await instances('over');
    end('7');
    const status = await node.until(
      'over',
      'has started over for good',
      (one) => isReady(one) && (one.containerStatuses ?? []).every(({ restartCount }) => restartCount > 0),
    );
    const counts = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    expect(counts.map(({ name }) => name).sort()).toEqual(['init', 'main', 'side', 'source']);
    expect(counts.map(({ restartCount }) => restartCount)).toEqual([1, 1, 1, 1]);
    const after = await instances('over');
    for (const name of ['init', 'side', 'main', 'source']) {
      expect(after[name]?.id, name).not.toBe(before[name]?.id);
    }
    expect(after.init!.startedAt <= after.side!.startedAt).toBe(true);
    expect(after.side!.startedAt <= after.main!.startedAt).toBe(true);
    expect(await node.readySandboxes('over')).toEqual(sandboxes);
    // Nothing of the time before is left but logs, by which restarts are counted.
    expect(await node.containers('over')).toHaveLength(4);
  });
});
