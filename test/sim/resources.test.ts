/** Other requests and limits for a pod that runs. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError } from '../../src/cri/index.js';
import type { Container } from '../../src/kube/index.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

const app = (cpu: string, more: Partial<Container> = {}): Container => ({
  name: 'app',
  image: 'app:1',
  resources: { requests: { cpu }, limits: { cpu } },
  ...more,
});

it('more cpu for a container that runs on', async () => {
  const node = await startNode();
  node.set([apiPod('a', { containers: [app('1')] })]);
  await node.untilReady('a');
  expect(node.line.of('updateContainerResources')).toEqual([]);
  const [before] = node.machine.running('a');
  node.set([apiPod('a', { containers: [app('2')] })]);
  await node.until('it is told', () => node.line.of('updateContainerResources').length > 0);
  await node.advance(60_000);
  expect(node.line.of('updateContainerResources').map(({ request }) => request)).toMatchObject([
    { containerId: before?.id, linux: { cpuShares: 2048, cpuQuota: 200_000 } },
  ]);
  expect(node.machine.running('a')).toEqual([before]);
  expect(node.metric('kubelet_pod_resize_duration_milliseconds_count', { success: 'true' })).toBe(1);
});

it('more cpu for a container that has to start over for it', async () => {
  const policy = { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] };
  const node = await startNode();
  node.set([apiPod('a', { containers: [app('1', policy)] })]);
  await node.untilReady('a');
  node.set([apiPod('a', { containers: [app('2', policy)] })]);
  await node.until('it starts over', () => node.machine.running('a')[0]?.attempt === 1);
  await node.advance(60_000);
  expect(node.events('a', 'Killing').map(({ message }) => message)).toEqual([
    'Container app resize requires restart',
  ]);
  expect(node.machine.running('a')[0]?.attempt).toBe(1);
  expect(node.line.of('updateContainerResources')).toEqual([]);
});

describe('a resize that cannot be done', () => {
  const memory = (limit: string): Container => ({
    name: 'app',
    image: 'app:1',
    resources: { limits: { memory: limit } },
  });

  /** The simulated container uses 1 MiB, so that half of it is refused. */
  it('is tried again later each time, and at once when other resources are asked for', async () => {
    const node = await startNode();
    const start = node.clock.now();
    node.set([apiPod('a', { containers: [memory('8Mi')] })]);
    await node.untilReady('a');
    node.set([apiPod('a', { containers: [memory('512Ki')] })]);
    await node.advance(5 * minute);
    const failures = node
      .recorded('pod.resize', 'a')
      .map(({ timeMs }) => Math.round((timeMs - start) / 1000));
    expect(failures.length).toBeGreaterThan(2);
    expect(failures.length).toBeLessThan(7);
    const gaps = failures.slice(1).map((at, index) => at - failures[index]!);
    for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(10 * 2 ** index);
    expect(node.line.of('updateContainerResources')).toEqual([]);
    expect(node.line.of('containerStats').length).toBe(failures.length);
    node.set([apiPod('a', { containers: [memory('4Mi')] })]);
    await node.until('it is told', () => node.line.of('updateContainerResources').length === 1, second);
  });

  it('by the runtime costs a bounded number of calls', async () => {
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        updateContainerResources: async () => {
          throw new CriError('Unknown', 'no such cgroup');
        },
      }),
    });
    node.set([apiPod('a', { containers: [app('1')] })]);
    await node.untilReady('a');
    node.set([apiPod('a', { containers: [app('2')] })]);
    await node.advance(10 * minute);
    const calls = node.line.of('updateContainerResources').length;
    expect(calls).toBeGreaterThan(2);
    expect(calls).toBeLessThan(10);
    expect(node.recorded('worker.sync', 'a').length).toBeLessThan(40);
  });
});
