/** The pod resources API over a real socket: what it lists, refuses and counts. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { GrpcConnection, type GrpcServer, serveGrpc } from '../../grpc/index.js';
import type { Container, Pod } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { PodResourcesLister } from './gen/pod-resources.js';
import { PodResourcesLister as AlphaLister } from './gen/pod-resources-alpha.js';
import { createPodResourcesMetrics } from './metrics.js';
import { podResourcesServices } from './services.js';

const clock = new VirtualClock();
const container = (name: string, change: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  ...change,
});
const pod = (name: string): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: {
    initContainers: [container('init'), container('side', { restartPolicy: 'Always' })],
    containers: [container('app')],
  },
});
const active = pod('active');
const ended = pod('ended');

let server: GrpcServer;
let client: GrpcConnection;
let registry: Registry;
let socketPath: string;
let root: string;

beforeEach(async () => {
  registry = new Registry();
  root = await mkdtemp(path.join(tmpdir(), 'pod-resources-'));
  socketPath = path.join(root, 'd', 'kubelet.sock');
  const services = podResourcesServices({
    clock,
    metrics: createPodResourcesMetrics(registry),
    activePods: () => [active],
    allPods: () => [active, ended],
    listsActivePods: true,
    devices: (_, name) => [
      { resourceName: 'x.io/nic', id: `${name}-1`, numaNodes: [0, 1] },
      { resourceName: 'x.io/nic', id: `${name}-2`, numaNodes: undefined },
    ],
    cpus: (_, name) => (name === 'app' ? [2, 3] : []),
    memory: () => [{ type: 'memory', bytes: 2 ** 40, numaNodes: [0] }],
    podCpus: (uid) => (uid === 'uid-active' ? [7, 8] : []),
    podMemory: () => [{ type: 'memory', bytes: 5, numaNodes: [1] }],
    claims: (_, { name }) =>
      name === 'side'
        ? undefined
        : [
            {
              name: 'claim',
              namespace: 'ns',
              devices: ['a', 'b'].map((id) => ({
                driver: 'd',
                poolName: 'p',
                deviceName: id,
                shareId: id === 'a' ? 's' : undefined,
                cdiDeviceIds: [`v/c=${id}`],
              })),
            },
          ],
    allocatable: {
      devices: () => [{ resourceName: 'x.io/nic', id: 'n', numaNodes: [1] }],
      cpus: () => [1, 2],
      memory: () => [{ type: 'hugepages-2Mi', bytes: 1, numaNodes: [0] }],
    },
  });
  server = await serveGrpc(services, { socketPath, directoryMode: 0o750 });
  client = new GrpcConnection(socketPath);
  await clock.advance(1000);
});
afterEach(async () => {
  client.close();
  await server.close();
  await expect(stat(socketPath)).rejects.toThrow('ENOENT');
  await rm(root, { recursive: true });
});

const topology = (id: number) => ({ nodes: [{ id }] });

it('lists active pods: sidecars and containers, a device once for each of its NUMA nodes', async () => {
  const { podResources } = await client.unary(PodResourcesLister.list, {});
  expect(podResources.map(({ name }) => name)).toEqual(['active']);
  const [side, app] = podResources[0]?.containers ?? [];
  expect([side?.name, side?.dynamicResources]).toEqual(['side', []]);
  expect(app).toEqual({
    name: 'app',
    devices: [
      { resourceName: 'x.io/nic', deviceIds: ['app-1'], topology: topology(0) },
      { resourceName: 'x.io/nic', deviceIds: ['app-1'], topology: topology(1) },
      { resourceName: 'x.io/nic', deviceIds: ['app-2'] },
    ],
    cpuIds: [2, 3],
    memory: [{ memoryType: 'memory', size: 2 ** 40, topology: topology(0) }],
    dynamicResources: [
      {
        claimName: 'claim',
        claimNamespace: 'ns',
        claimResources: [
          { cdiDevices: [{ name: 'v/c=a' }], driverName: 'd', poolName: 'p', deviceName: 'a', shareId: 's' },
          { cdiDevices: [{ name: 'v/c=b' }], driverName: 'd', poolName: 'p', deviceName: 'b' },
        ],
      },
    ],
  });
  expect((await stat(path.dirname(socketPath))).mode & 0o777).toBe(0o750);
});

it('lists all pods in its first version, and devices only of those that have not ended', async () => {
  const { podResources } = await client.unary(AlphaLister.list, {});
  expect(podResources.map(({ name, containers }) => [name, containers])).toEqual([
    ['active', [{ name: 'app', devices: [{ resourceName: 'x.io/nic', deviceIds: ['app-1', 'app-2'] }] }]],
    ['ended', [{ name: 'app', devices: [] }]],
  ]);
});

it('gets one active pod, with what it was given as a whole', async () => {
  const found = await client.unary(PodResourcesLister.get, { podName: 'active', podNamespace: 'ns' });
  expect(found.podResources).toMatchObject({
    cpuIds: [7, 8],
    memory: [{ memoryType: 'memory', size: 5, topology: topology(1) }],
  });
  expect(found.podResources?.containers).toHaveLength(2);
  await expect(
    client.unary(PodResourcesLister.get, { podName: 'ended', podNamespace: 'ns' }),
  ).rejects.toThrow('rpc error: code = Unknown desc = pod ended in namespace ns not found');
  expect(registry.text()).toContain('kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1');
});

it('tells what can be given out', async () => {
  expect(await client.unary(PodResourcesLister.getAllocatableResources, {})).toEqual({
    devices: [{ resourceName: 'x.io/nic', deviceIds: ['n'], topology: topology(1) }],
    cpuIds: [1, 2],
    memory: [{ memoryType: 'hugepages-2Mi', size: 1, topology: topology(0) }],
  });
});

it('refuses calls that come too fast, of both versions together, and does not count them', async () => {
  for (let call = 0; call < 6; call++) await client.unary(PodResourcesLister.list, {});
  for (let call = 0; call < 4; call++) await client.unary(AlphaLister.list, {});
  const refused = 'rpc error: code = ResourceExhausted desc = rejected by rate limit';
  await expect(client.unary(PodResourcesLister.list, {})).rejects.toThrow(refused);
  await expect(client.unary(AlphaLister.list, {})).rejects.toThrow(refused);
  await clock.advance(10);
  await client.unary(PodResourcesLister.list, {});
  const text = registry.text();
  expect(text).toContain('kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 7');
  expect(text).toContain('kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 4');
  expect(text).toContain('kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 7');
});
