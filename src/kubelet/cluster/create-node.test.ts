import { afterEach, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import { unimplementedCriRuntime } from '../../cri/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { resources } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { readSettings } from '../settings.js';
import { createNode } from './create-node.js';
import type { NodeOptions } from './node-options.js';

const started: TaskGroup[] = [];
afterEach(async () => {
  for (const tasks of started.splice(0)) await tasks.stop();
});

async function nodeUnderTest(more: Partial<NodeOptions> = {}) {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  started.push(tasks);
  const settings = await readSettings({
    nodeName: 'n1',
    runtime: unimplementedCriRuntime(),
    rootDir: '/',
    clock,
    random: () => 0,
    config: { maxPods: 7, registerWithTaints: [{ key: 'k', effect: 'NoSchedule' }] },
  });
  const clusterNode = await createNode(settings, {
    flags: { nodeLabels: { a: 'b' }, nodeIp: '', externalCloud: true },
    kubeletVersion: 'v1.37.1',
    network: { read: async () => ({ addresses: [], routed: { 4: [], 6: [] } }), resolve: async () => [] },
    runtime: { networkError: undefined, handlers: [], errors: () => [], checkOnce: async () => undefined },
    api: { heartbeat: api, main: api, resetConnections: () => undefined },
    ...more,
  });
  return { clock, api, tasks, clusterNode, settings };
}

it('a node of a cluster is registered, ready and alive', async () => {
  let readied = 0;
  const { clock, api, tasks, clusterNode, settings } = await nodeUnderTest({
    onReady: () => void readied++,
  });
  clusterNode.start(tasks);
  await clock.advance(200);
  const node = await api.get(resources.nodes, { name: 'n1' });
  expect(node.metadata.labels).toMatchObject({ a: 'b', 'kubernetes.io/hostname': 'n1' });
  expect(node.spec?.taints?.map(({ key }) => key)).toEqual([
    'k',
    'node.cloudprovider.kubernetes.io/uninitialized',
  ]);
  expect(node.status?.capacity?.pods).toBe('7');
  expect(node.status?.nodeInfo).toMatchObject({
    kubeletVersion: 'v1.37.1',
    containerRuntimeVersion: 'unknown://Unknown',
  });
  expect(node.status?.conditions?.at(-1)).toMatchObject({ type: 'Ready', status: 'True' });
  expect(readied).toBe(1);
  const lease = await api.get(resources.leases, { namespace: 'kube-node-lease', name: 'n1' });
  expect(lease.metadata.ownerReferences?.[0]?.uid).toBe(node.metadata.uid);
  expect(settings.registry.text()).toContain('kubelet_node_startup_registration_duration_seconds');
});

it('registerNode false leaves the object to others', async () => {
  const { clock, api, tasks, settings } = await nodeUnderTest();
  const clusterNode = await createNode(
    { ...settings, registry: new Registry(), config: { ...settings.config, registerNode: false } },
    {
      flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
      kubeletVersion: 'v1.37.1',
      runtime: { networkError: undefined, handlers: [], errors: () => [], checkOnce: async () => undefined },
      api: { heartbeat: api, main: api, resetConnections: () => undefined },
    },
  );
  clusterNode.start(tasks);
  await clock.advance(1000);
  expect(api.calls.some(({ verb }) => verb === 'create')).toBe(false);
  await api.create(resources.nodes, { metadata: { name: 'n1' } });
  await clock.advance(1000);
  const lease = await api.get(resources.leases, { namespace: 'kube-node-lease', name: 'n1' });
  expect(lease.spec?.holderIdentity).toBe('n1');
});

it('before the API has told of the node it is built here; what pods are admitted by is known at once', async () => {
  const { clusterNode } = await nodeUnderTest();
  expect(clusterNode.known).toBeUndefined();
  expect(clusterNode.atFirst.status).toMatchObject({ capacity: { pods: '7' }, allocatable: { pods: '7' } });
  expect((await clusterNode.node()).metadata.name).toBe('n1');
  expect(clusterNode.known?.status?.capacity?.pods).toBe('7');
});

it('a reservation that the machine does not have is refused', async () => {
  const { api, settings } = await nodeUnderTest();
  const config = { ...settings.config, kubeReserved: { cpu: '1000000' } };
  const clusterNode = createNode(
    { ...settings, config },
    {
      flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
      kubeletVersion: 'v1.37.1',
      runtime: { networkError: undefined, handlers: [], errors: () => [], checkOnce: async () => undefined },
      api: { heartbeat: api, main: api, resetConnections: () => undefined },
    },
  );
  await expect(clusterNode).rejects.toThrow('invalid Node Allocatable configuration. Resource "cpu"');
});

it('a bad --node-ip is refused', async () => {
  const flags = { nodeLabels: {}, nodeIp: '1.1.1.1,2.2.2.2', externalCloud: false };
  await expect(nodeUnderTest({ flags })).rejects.toThrow('bad --node-ip "1.1.1.1,2.2.2.2"');
});
