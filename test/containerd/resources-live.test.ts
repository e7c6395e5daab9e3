/** What can change in real pods while they run: their resources, and containers that are added to look inside. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Container, Pod } from '../../src/kube/index.js';
import { busybox, eventually, forever, TestNode } from './agent.js';
import { apiPod, ownPodCgroups, withKubelet } from './embedded.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create();
});
afterAll(() => node.stop());

const mebi = 1024 * 1024;

const app = (cpu: string, memory: string, more: Partial<Container> = {}): Container => ({
  name: 'app',
  image: busybox,
  command: forever,
  resources: { requests: { cpu, memory }, limits: { cpu, memory } },
  ...more,
});

/** A file of the cgroup of the pod's container, as it sees it; this machine has cgroup v1. */
async function cgroup(containerId: string, file: string): Promise<number> {
  const { stdout } = await node.cri.execSync({
    containerId,
    cmd: ['cat', `/sys/fs/cgroup/${file}`],
    timeout: 10,
  });
  return Number(Buffer.from(stdout));
}

const idOf = async (pod: string, container = 'app'): Promise<string> => {
  const { containers } = await node.cri.listContainers({ filter: { state: { state: 1 } } });
  const found = containers.find(
    ({ labels, metadata }) => labels['io.kubernetes.pod.name'] === pod && metadata?.name === container,
  );
  return found?.id ?? '';
};

it('resources change in place: the same container with other limits', async () => {
  await withKubelet(node, [], async ({ set, untilReady, status }) => {
    set(apiPod('resized', { containers: [app('200m', '64Mi')] }));
    await untilReady('resized');
    const id = await idOf('resized');
    expect(await cgroup(id, 'cpu/cpu.cfs_quota_us')).toBe(20_000);
    set(apiPod('resized', { containers: [app('400m', '96Mi')] }));
    await eventually('the kernel knows', async () => (await cgroup(id, 'cpu/cpu.cfs_quota_us')) === 40_000);
    expect(await cgroup(id, 'cpu/cpu.shares')).toBe(409);
    expect(await cgroup(id, 'memory/memory.limit_in_bytes')).toBe(96 * mebi);
    expect(await idOf('resized')).toBe(id);
    await eventually(
      'the status shows it',
      async () => status('resized').containerStatuses?.[0]?.resources?.limits?.cpu === '400m',
    );
    expect(status('resized').containerStatuses?.[0]?.restartCount).toBe(0);
  });
});

async function podCgroups() {
  const { cgroups, control, names } = await ownPodCgroups(node);
  const bounds = (pod: Pod): string => {
    const { cpuShares, quotaMicros, memoryLimitBytes } = control.read(names.ofPod(pod));
    return [cpuShares, quotaMicros, memoryLimitBytes === -1 ? -1 : memoryLimitBytes / mebi].join();
  };
  return { cgroups, bounds };
}

it('the cgroup of a pod changes with it: no container is held by what its pod had before', async () => {
  const { cgroups, bounds } = await podCgroups();
  const use: Parameters<typeof withKubelet>[2] = async ({ set, untilReady }) => {
    const sized = (cpu: string, memory: string) => apiPod('bounded', { containers: [app(cpu, memory)] });
    const pod = sized('200m', '64Mi');
    set(pod);
    await untilReady('bounded');
    const id = await idOf('bounded');
    expect(bounds(pod)).toBe('204,20000,64');
    set(sized('400m', '96Mi'));
    await eventually('it grows', async () => bounds(pod) === '409,40000,96');
    set(sized('300m', '80Mi'));
    await eventually('it shrinks', async () => bounds(pod) === '307,30000,80');
    expect(await cgroup(id, 'memory/memory.limit_in_bytes')).toBe(80 * mebi);
    expect(await idOf('bounded')).toBe(id);
  };
  await withKubelet(node, [], use, { cgroups });
});

it('the pod level changes: the pod and the container without limits follow, the other stays', async () => {
  const { cgroups, bounds } = await podCgroups();
  const use: Parameters<typeof withKubelet>[2] = async ({ set, untilReady, status }) => {
    const sized = (cpu: string, memory: string) =>
      apiPod('levels', {
        containers: [app('100m', '32Mi'), { name: 'free', image: busybox, command: forever }],
        resources: { requests: { cpu, memory }, limits: { cpu, memory } },
      });
    const pod = sized('200m', '64Mi');
    set(pod);
    await untilReady('levels');
    const [own, free] = [await idOf('levels'), await idOf('levels', 'free')];
    const quotas = async () => [
      await cgroup(own, 'cpu/cpu.cfs_quota_us'),
      await cgroup(free, 'cpu/cpu.cfs_quota_us'),
    ];
    expect(bounds(pod)).toBe('204,20000,64');
    expect(await quotas()).toEqual([10_000, 20_000]);
    set(sized('300m', '96Mi'));
    await eventually('all grows', async () => bounds(pod) === '307,30000,96');
    await eventually('the container follows', async () => String(await quotas()) === '10000,30000');
    expect(await cgroup(free, 'memory/memory.limit_in_bytes')).toBe(96 * mebi);
    set(sized('150m', '48Mi'));
    await eventually('all shrinks', async () => bounds(pod) === '153,15000,48');
    expect(await quotas()).toEqual([10_000, 15_000]);
    expect(await idOf('levels', 'free')).toBe(free);
    expect(status('levels').containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  };
  await withKubelet(node, [], use, { cgroups });
});

it('a container that must restart for its memory has the new limit, and its pod, too', async () => {
  const { cgroups, bounds } = await podCgroups();
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  const use: Parameters<typeof withKubelet>[2] = async ({ set, untilReady, status }) => {
    const sized = (cpu: string, memory: string) =>
      apiPod('anew', {
        terminationGracePeriodSeconds: 1,
        initContainers: [{ ...app('50m', '16Mi'), name: 'side', restartPolicy: 'Always' }],
        containers: [app(cpu, memory, { resizePolicy })],
      });
    const pod = sized('200m', '64Mi');
    set(pod);
    await untilReady('anew');
    const [id, side] = [await idOf('anew'), await idOf('anew', 'side')];
    set(sized('300m', '48Mi'));
    await eventually('it runs again', async () => ![id, ''].includes(await idOf('anew')));
    expect(await cgroup(await idOf('anew'), 'memory/memory.limit_in_bytes')).toBe(48 * mebi);
    expect(bounds(pod)).toBe('358,35000,64');
    expect(await idOf('anew', 'side')).toBe(side);
    await eventually('it is counted', async () => status('anew').containerStatuses?.[0]?.restartCount === 1);
  };
  await withKubelet(node, [], use, { cgroups });
});

it('a limit below what is used is refused', async () => {
  await withKubelet(node, [], async ({ set, untilReady, kubelet }) => {
    set(apiPod('full', { containers: [app('200m', '64Mi')] }));
    await untilReady('full');
    const id = await idOf('full');
    set(apiPod('full', { containers: [app('200m', '100Ki')] }));
    await eventually('it is told', async () =>
      kubelet.timeline
        .ofPod('uid-full')
        .some(
          ({ error }) =>
            error?.includes('cannot decrease memory limits: attempting to set container "app"') === true,
        ),
    );
    expect(await cgroup(id, 'memory/memory.limit_in_bytes')).toBe(64 * mebi);
  });
});

it('a debug container sees the processes of its target, and is never started again', async () => {
  await withKubelet(node, [], async ({ set, untilReady, status }) => {
    const spec = { containers: [app('100m', '32Mi', { command: ['sleep', '4321'] })] };
    set(apiPod('debugged', spec));
    await untilReady('debugged');
    set(
      apiPod('debugged', {
        ...spec,
        ephemeralContainers: [
          { name: 'debug', image: busybox, command: ['sh', '-c', 'ps; exit 3'], targetContainerName: 'app' },
        ],
      }),
    );
    await eventually(
      'it has ended',
      async () => status('debugged').ephemeralContainerStatuses?.[0]?.state?.terminated?.exitCode === 3,
    );
    const { containers } = await node.cri.listContainers({});
    const debug = containers.filter(({ metadata }) => metadata?.name === 'debug');
    expect(debug).toHaveLength(1);
    const { status: seen } = await node.cri.containerStatus({ containerId: debug[0]?.id ?? '' });
    expect(await readFile(seen?.logPath ?? '', 'utf8')).toContain('sleep 4321');
    expect(status('debugged').containerStatuses?.[0]?.restartCount).toBe(0);
  });
});
