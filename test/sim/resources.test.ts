/** Other requests and limits for a pod that runs. */
import { afterEach, expect, it } from 'vitest';
import type { Container } from '../../src/kube/index.js';
import { endNodes, startNode } from './node.js';
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
