/** Device plugins on a real control plane: the scheduler counts their devices, and no death of agent or plugin loses one. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Node, Pod } from '../../src/kube/index.js';
import { TestDevicePlugin } from '../env/device-plugin.js';
import { CleanupStack, startContainerd } from '../env/index.js';
import { SampleDevicePlugin, sampleResource } from '../env/sample-device-plugin.js';
import {
  busybox,
  type Cluster,
  condition,
  container,
  eventually,
  forever,
  podManifest,
  startCluster,
} from './cluster.js';

let cluster: Cluster;
let plugin: SampleDevicePlugin;
const cleanups = new CleanupStack();

beforeAll(async () => {
  // Only the newer runtime adds devices by their CDI names.
  const containerd = await startContainerd({ cleanups, release: 'newer' });
  cluster = await startCluster({ node: { containerd, config: { nodeStatusUpdateFrequency: '1s' } } });
  plugin = await SampleDevicePlugin.find({
    directory: path.join(cluster.node.rootDir, '../devices'),
    cdiSpecDir: containerd.layout.cdiSpecDir,
  });
  await plugin.start();
}, 900_000);
afterAll(async () => {
  await plugin?.stop('SIGTERM');
  await cluster?.stop();
  await cleanups.run();
});

const pod = (name: string, resource = sampleResource) =>
  podManifest(name, {
    containers: [
      { name: 'app', image: busybox, command: forever, resources: { limits: { [resource]: '1' } } },
    ],
    terminationGracePeriodSeconds: 1,
  });

/** What the node offers of a resource: all devices, and those that work. */
async function offered(resource: string): Promise<[string | undefined, string | undefined]> {
  const { status } = await cluster.get<Node>('node', cluster.node.name);
  return [status?.capacity?.[resource], status?.allocatable?.[resource]].map(String) as [string, string];
}

const untilOffered = (capacity: string, allocatable: string, resource = sampleResource): Promise<void> =>
  eventually(`the node offers ${allocatable} of ${capacity} ${resource}`, async () => {
    const [all, working] = await offered(resource);
    return all === capacity && working === allocatable;
  });

const deviceOf = async (name: string): Promise<string | undefined> =>
  (await cluster.environment(name)).CDI_DEVICE;

/** By container: what must stay while agents and plugins come and go. */
const lives = async (...names: readonly string[]): Promise<unknown[]> =>
  Promise.all(
    names.map(async (name) => {
      const { containerID, restartCount } = container(await cluster.pod(name));
      return { name, containerID, restartCount, device: await deviceOf(name) };
    }),
  );

async function startAgent(): Promise<void> {
  plugin.removeSocket();
  await cluster.node.start();
  await cluster.node.ready();
  await eventually('plugins can register', async () => existsSync(plugin.registrationSocket));
}

it('the scheduler places pods as long as there are devices, and each container sees its own', async () => {
  await untilOffered('2', '2');
  await cluster.apply(pod('one'), pod('two'));
  await cluster.untilReady('one');
  await cluster.untilReady('two');
  expect([await deviceOf('one'), await deviceOf('two')].sort()).toEqual(['CDI-Dev-1', 'CDI-Dev-2']);
});

it('a pod too many waits, and gets the device that becomes free', async () => {
  await cluster.apply(pod('three'));
  const waiting = await cluster.untilPod('three', 'cannot be placed', (found: Pod) => {
    return condition(found, 'PodScheduled') === 'False';
  });
  const { message } = waiting.status?.conditions?.find(({ type }) => type === 'PodScheduled') ?? {};
  expect(message).toContain(`Insufficient ${sampleResource}`);
  const freed = await deviceOf('one');
  await cluster.delete('one');
  await cluster.untilReady('three');
  expect(await deviceOf('three')).toBe(freed);
});

it('the status of a pod tells how its device is', async () => {
  await cluster.untilPod('two', 'shows its device', (found) => {
    return container(found).allocatedResourcesStatus?.[0]?.resources?.[0]?.health === 'Healthy';
  });
  expect(container(await cluster.pod('two')).allocatedResourcesStatus).toEqual([
    {
      name: sampleResource,
      resources: [{ resourceID: (await deviceOf('two'))?.replace('CDI-', ''), health: 'Healthy' }],
    },
  ]);
});

it('without its plugin the node offers nothing, pods run on, and all is back with the plugin', async () => {
  const before = await lives('two', 'three');
  await plugin.stop('SIGKILL');
  await untilOffered('2', '0');
  expect(await lives('two', 'three')).toEqual(before);
  await plugin.start();
  await untilOffered('2', '2');
  expect(await lives('two', 'three')).toEqual(before);
});

it.each<[string, () => Promise<void>]>([
  [
    'the agent, and the plugin registers again by itself',
    async () => {
      await cluster.node.kill9();
      await startAgent();
    },
  ],
  [
    'the agent, then the plugin',
    async () => {
      await cluster.node.kill9();
      await plugin.stop('SIGKILL');
      await startAgent();
      await untilOffered('0', '0');
      await plugin.start();
    },
  ],
  [
    'the plugin, then the agent',
    async () => {
      await plugin.stop('SIGKILL');
      await untilOffered('2', '0');
      await cluster.node.kill9();
      await startAgent();
      await plugin.start();
    },
  ],
])('kill -9 of %s: no pod loses its device, and none is given twice', async (_, die) => {
  const before = await lives('two', 'three');
  await die();
  await untilOffered('2', '2');
  expect(await lives('two', 'three')).toEqual(before);
  await cluster.apply(pod('late'));
  await cluster.untilPod('late', 'waits', (found) => condition(found, 'PodScheduled') === 'False');
  await cluster.delete('late');
});

it('a device that falls ill is no longer offered, its pod says so, and both are mended with it', async () => {
  const resource = 'nodelet.test/gpu';
  const own = new TestDevicePlugin({ rootDir: cluster.node.rootDir, resource, devices: ['gpu-0', 'gpu-1'] });
  await own.start();
  try {
    await untilOffered('2', '2', resource);
    await cluster.apply(pod('ill', resource));
    await cluster.untilReady('ill');
    expect((await cluster.environment('ill')).DEVICES).toBe('gpu-0');
    const shows = (health: string) =>
      cluster.untilPod('ill', `shows its device as ${health}`, (found) => {
        return container(found).allocatedResourcesStatus?.[0]?.resources?.[0]?.health === health;
      });
    own.setHealthy('gpu-0', false);
    await shows('Unhealthy');
    await untilOffered('2', '1', resource);
    own.setHealthy('gpu-0', true);
    await shows('Healthy');
    await untilOffered('2', '2', resource);
  } finally {
    await own.stop();
  }
  await untilOffered('2', '0', resource);
});
