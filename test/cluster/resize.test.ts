/** Pods of a real cluster that ask for other resources: given, deferred, impossible, taken back, with deaths in between. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Pod,
  type PodCondition,
  parseResourceCheckpoint,
  quantityMillis,
  type ResourceRequirements,
} from '../../src/kube/index.js';
import { busybox, type Cluster, container, forever, podManifest, startCluster } from './cluster.js';

let cluster: Cluster;
let freeMillis: number;
beforeAll(async () => {
  cluster = await startCluster({
    plane: { scheduler: false },
    // Guaranteed pods with whole CPUs have them for themselves, which a resize cannot change.
    node: { config: { cpuManagerPolicy: 'static', systemReserved: { cpu: '500m' } } },
  });
  const node = await cluster.get<{ status: { allocatable: { cpu: string } } }>('node', cluster.node.name);
  freeMillis = quantityMillis(node.status.allocatable.cpu);
});
afterAll(() => cluster?.stop());

const millis = (amount: number): string => `${amount}m`;

const create = (name: string, resources: ResourceRequirements): Promise<void> =>
  cluster.apply(
    podManifest(name, {
      nodeName: cluster.node.name,
      containers: [{ name: 'app', image: busybox, command: forever, resources }],
    }),
  );

const resize = (name: string, resources: ResourceRequirements): Promise<string> =>
  cluster.kubectl(
    'patch',
    'pod',
    name,
    '--subresource=resize',
    '-p',
    JSON.stringify({ spec: { containers: [{ name: 'app', resources }] } }),
  );
const cpu = (amount: number): ResourceRequirements => ({ requests: { cpu: millis(amount) } });

const resizeCondition = (
  pod: Pod,
  type: 'PodResizePending' | 'PodResizeInProgress',
): PodCondition | undefined => pod.status?.conditions?.find((one) => one.type === type);
const isPending = (reason: string) => (pod: Pod) =>
  resizeCondition(pod, 'PodResizePending')?.reason === reason &&
  resizeCondition(pod, 'PodResizePending')?.observedGeneration === pod.metadata.generation;
const given = (pod: Pod): number => quantityMillis(container(pod).allocatedResources?.cpu);
const isGiven = (amount: number) => (pod: Pod) =>
  given(pod) === amount &&
  resizeCondition(pod, 'PodResizePending') === undefined &&
  resizeCondition(pod, 'PodResizeInProgress') === undefined;

const recorded = async (name: string): Promise<string | undefined> => {
  const path = join(cluster.node.rootDir, 'allocated_pods_state');
  if (!existsSync(path)) return undefined;
  const { metadata } = await cluster.pod(name);
  return parseResourceCheckpoint(readFileSync(path, 'utf8')).get(metadata.uid)?.ContainerResources?.app
    ?.requests?.cpu;
};

async function restart(): Promise<void> {
  await cluster.node.kill9();
  await cluster.node.start();
  await cluster.node.ready();
}

describe('a resize', () => {
  it('is given, waits for room through a restart, is taken back, and is given when room comes', async () => {
    await create('a', cpu(200));
    await create('b', cpu(400));
    const [first] = [await cluster.untilReady('a'), await cluster.untilReady('b')];
    await resize('a', cpu(300));
    const grown = await cluster.untilPod('a', 'has more', isGiven(300));
    expect(container(grown).containerID).toBe(container(first).containerID);
    expect(await recorded('a')).toBe('300m');
    await cluster.untilEvent('a', 'ResizeStarted');
    await cluster.untilEvent('a', 'ResizeCompleted');

    const tooMuch = freeMillis - 300;
    await resize('a', cpu(tooMuch));
    const waiting = await cluster.untilPod('a', 'waits', isPending('Deferred'));
    expect(resizeCondition(waiting, 'PodResizePending')?.message).toBe(
      `Node didn't have enough resource: cpu, requested: ${tooMuch}, used: 400, capacity: ${freeMillis}`,
    );
    const { message = '' } = await cluster.untilEvent('a', 'ResizeDeferred');
    expect(message).toMatch(/^Pod resize OutOfcpu: \{"containers":\[\{"name":"app"/);
    expect(await recorded('a')).toBe('300m');

    await restart();
    await cluster.untilPod('a', 'still waits', isPending('Deferred'));
    for (const name of ['a', 'b']) {
      const pod = await cluster.pod(name);
      expect(pod.status?.phase).toBe('Running');
      expect(container(pod).restartCount).toBe(0);
    }
    expect(await recorded('a')).toBe('300m');

    await resize('a', cpu(300));
    await cluster.untilPod('a', 'waits no more', isGiven(300));
    await resize('a', cpu(tooMuch));
    await cluster.untilPod('a', 'waits again', isPending('Deferred'));
    await cluster.delete('b');
    const last = await cluster.untilPod('a', 'has it', isGiven(tooMuch));
    expect(container(last).containerID).toBe(container(first).containerID);
    await cluster.delete('a');
  });

  it('that the node can never do is told so, after a restart too', async () => {
    const whole = (amount: number): ResourceRequirements => ({
      requests: { cpu: millis(amount), memory: '32Mi' },
      limits: { cpu: millis(amount), memory: '32Mi' },
    });
    await create('pinned', whole(200));
    await cluster.untilReady('pinned');
    await resize('pinned', whole(300));
    const refused = await cluster.untilPod('pinned', 'is refused', isPending('Infeasible'));
    const message = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
    expect(resizeCondition(refused, 'PodResizePending')?.message).toBe(message);
    await cluster.untilEvent('pinned', 'ResizeInfeasible');
    await restart();
    const after = await cluster.untilPod('pinned', 'is still refused', isPending('Infeasible'));
    expect(given(after)).toBe(200);
    expect(after.status?.phase).toBe('Running');
    await cluster.delete('pinned');
  });

  it('of a sidecar and of a running init container are given', async () => {
    await cluster.apply(
      podManifest('inits', {
        nodeName: cluster.node.name,
        initContainers: [
          { name: 'side', image: busybox, command: forever, restartPolicy: 'Always', resources: cpu(100) },
          { name: 'first', image: busybox, command: forever, resources: cpu(100) },
        ],
      }),
    );
    const isRunning = ({ status }: Pod, name: string): boolean =>
      status?.initContainerStatuses?.find((one) => one.name === name)?.state?.running !== undefined;
    await cluster.untilPod('inits', 'initializes', (pod) => isRunning(pod, 'first'));
    const initContainers = ['side', 'first'].map((name) => ({ name, resources: cpu(150) }));
    await cluster.kubectl(
      'patch',
      'pod',
      'inits',
      '--subresource=resize',
      '-p',
      JSON.stringify({ spec: { initContainers } }),
    );
    const done = await cluster.untilPod(
      'inits',
      'has more',
      (pod) =>
        ['side', 'first'].every((name) => container(pod, name).resources?.requests?.cpu === '150m') &&
        resizeCondition(pod, 'PodResizeInProgress') === undefined,
    );
    expect(container(done, 'side').restartCount).toBe(0);
    expect(container(done, 'first').restartCount).toBe(0);
    await cluster.delete('inits');
  });

  it('of the pod as a whole is given', async () => {
    const whole = (amount: number): ResourceRequirements => ({
      requests: { cpu: millis(amount), memory: '32Mi' },
      limits: { cpu: millis(2 * amount), memory: '64Mi' },
    });
    await cluster.apply(podManifest('together', { nodeName: cluster.node.name, resources: whole(200) }));
    const first = await cluster.untilReady('together');
    const patch = JSON.stringify({ spec: { resources: whole(300) } });
    await cluster.kubectl('patch', 'pod', 'together', '--subresource=resize', '-p', patch);
    const done = await cluster.untilPod(
      'together',
      'has more',
      (pod) =>
        pod.status?.allocatedResources?.cpu === '300m' &&
        resizeCondition(pod, 'PodResizeInProgress') === undefined,
    );
    expect(container(done).containerID).toBe(container(first).containerID);
    await cluster.untilEvent('together', 'ResizeCompleted');
    await cluster.delete('together');
  });
});
