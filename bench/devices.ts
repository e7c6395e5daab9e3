/** What devices cost: admission of pods with a device, and the answers of the local APIs for 250 pods. */

import type { Pod } from '../src/kube/index.js';
import { deviceProvider } from '../src/kubelet/rooms/device-provider.js';
import { Registry } from '../src/metrics/index.js';
import { createPodsApi, createPodsApiMetrics, PodsService } from '../src/pods/pods-api/index.js';
import { devicePod, TestDevices } from '../src/resources/device-manager/test-node.js';
import { TestPlugin } from '../src/resources/device-manager/test-plugins.js';
import {
  createPodResourcesMetrics,
  PodResourcesLister,
  podResourcesServices,
} from '../src/resources/pod-resources/index.js';
import { atMost, type Bench, type Measure, medianOf, roundsOf } from './measure.js';

const deviceCount = 64;
const admittedPods = 100;
const window = 20;
/** Pods that hold a device at a time: the oldest ends when another comes. */
const holdingPods = 60;
const listedPods = 250;
const fewPods = 50;
const ratedRounds = 7;
/** A single call is too short to be measured. */
const calls = 20;

export const devices: Bench = {
  name: 'devices',
  summary: `admission of ${admittedPods} pods on ${deviceCount} devices, and the local APIs with ${listedPods} pods`,
  async run({ options }) {
    const rounds = roundsOf(options, ratedRounds);
    const early: number[] = [];
    const late: number[] = [];
    const lists = { few: [] as number[], many: [] as number[], bytes: 0 };
    const pods = { first: [] as number[], again: [] as number[], bytes: 0 };
    // The first round compiles.
    for (let round = -1; round < rounds; round++) {
      const costs = await admitAll();
      const few = await listResources(fewPods);
      const many = await listResources(listedPods);
      const listed = await listPods(listedPods);
      if (round < 0) continue;
      early.push(mean(costs.slice(0, window)));
      late.push(mean(costs.slice(-window)));
      lists.few.push(few.ms);
      lists.many.push(many.ms);
      lists.bytes = many.bytes;
      pods.first.push(listed.firstMs);
      pods.again.push(listed.againMs);
      pods.bytes = listed.bytes;
    }
    const growth = late.map((each, index) => each / (early[index] ?? each));
    const perPod = lists.many.map(
      (each, index) => each / listedPods / ((lists.few[index] ?? each) / fewPods),
    );
    const measures: Measure[] = [
      medianOf(
        `CPU of an admission with a device, the last ${window} of ${admittedPods}`,
        'ms',
        late,
        atMost(5),
      ),
      medianOf(
        `CPU of an admission with a device, the last ${window} / the first ${window}`,
        'ratio',
        growth,
      ),
      medianOf(`CPU of List of the pod resources of ${listedPods} pods`, 'ms', lists.many, atMost(20)),
      medianOf(
        `CPU of List of the pod resources per pod, ${listedPods} pods / ${fewPods}`,
        'ratio',
        perPod,
        atMost(2),
      ),
      { name: `List of the pod resources of ${listedPods} pods`, unit: 'kB', value: lists.bytes / 1000 },
      medianOf(`CPU of ListPods of ${listedPods} pods, the first time`, 'ms', pods.first, atMost(50)),
      medianOf(`CPU of ListPods of ${listedPods} pods, nothing has changed`, 'ms', pods.again, atMost(10)),
      { name: `ListPods of ${listedPods} pods`, unit: 'kB', value: pods.bytes / 1000 },
    ];
    return measures;
  },
};

async function nodeWith(count: number): Promise<TestDevices> {
  const node = await TestDevices.start();
  const ids = Array.from({ length: count }, (_, index) => ({ id: `dev-${index}`, nodes: [index % 2] }));
  await new TestPlugin(node.sockets, 'dp.sock', { devices: ids }).register();
  await node.settled();
  return node;
}

/** The CPU of each admission, in ms: the plugin answers at once, and the record is on a disk in memory. */
async function admitAll(): Promise<readonly number[]> {
  const node = await nodeWith(deviceCount);
  const costs: number[] = [];
  for (let count = 0; count < admittedPods; count++) {
    node.active.delete(`pod-${count - holdingPods}`);
    const pod = devicePod(`pod-${count}`);
    const started = process.cpuUsage();
    const refusal = await node.admit(pod);
    costs.push(cpuMs(started));
    if (refusal !== undefined) throw new Error(refusal);
  }
  await node.manager.stop();
  return costs;
}

async function listResources(count: number): Promise<{ ms: number; bytes: number }> {
  const node = await nodeWith(count);
  const pods = Array.from({ length: count }, (_, index) => devicePod(`pod-${index}`));
  for (const pod of pods) await node.admit(pod);
  const provider = deviceProvider(node.manager);
  const [service] = podResourcesServices({
    clock: fastClock(),
    metrics: createPodResourcesMetrics(new Registry()),
    activePods: () => pods,
    allPods: () => pods,
    listsActivePods: true,
    devices: (uid, container) => provider.devicesOf(uid, container),
    cpus: () => [],
    memory: () => [],
    podCpus: () => [],
    podMemory: () => [],
    claims: () => [],
    allocatable: { devices: () => provider.allocatable(), cpus: () => [], memory: () => [] },
  });
  // The implementation has a function for each method of the table.
  const { list } = (service?.implementation ?? {}) as { list(): Promise<object> };
  let bytes = 0;
  const started = process.cpuUsage();
  for (let call = 0; call < calls; call++)
    bytes = PodResourcesLister.list.response.encode(await list()).length;
  const ms = cpuMs(started) / calls;
  await node.manager.stop();
  return { ms, bytes };
}

async function listPods(count: number): Promise<{ firstMs: number; againMs: number; bytes: number }> {
  const pods = Array.from({ length: count }, (_, index): Pod => {
    const pod = structuredClone(typicalPod);
    return { ...pod, metadata: { ...pod.metadata, name: `pod-${index}`, uid: `uid-${index}` } };
  });
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const statuses = new Map(pods.map(({ metadata, status }) => [metadata.uid, status]));
  const { services } = createPodsApi({
    clock: fastClock(),
    metrics: createPodsApiMetrics(new Registry()),
    allSourcesReady: () => true,
    pods: () => pods,
    podOf: (uid) => byUid.get(uid),
    statusOf: (uid) => statuses.get(uid),
    onMisfit: (_, error) => {
      throw error;
    },
  });
  // As above.
  const { listPods: list } = (services[0]?.implementation ?? {}) as {
    listPods(request: object): Promise<object>;
  };
  const timed = async (): Promise<{ ms: number; bytes: number }> => {
    const started = process.cpuUsage();
    const bytes = PodsService.listPods.response.encode(await list({})).length;
    return { ms: cpuMs(started), bytes };
  };
  const first = await timed();
  const again = await timed();
  return { firstMs: first.ms, againMs: again.ms, bytes: first.bytes };
}

/** As most pods of clusters are: one container with probes and resources, and the token of its account. */
const typicalPod: Pod = {
  metadata: {
    name: 'p',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1234567',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web', 'pod-template-hash': '5d4f8c7b9d' },
    annotations: { 'example.com/checksum': '0123456789abcdef0123456789abcdef' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d4f8c7b9d', uid: 'owner', controller: true },
    ],
  },
  spec: {
    nodeName: 'node',
    restartPolicy: 'Always',
    serviceAccountName: 'default',
    tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 300 }],
    volumes: [
      {
        name: 'kube-api-access',
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }],
        },
      },
    ],
    containers: [
      {
        name: 'app',
        image: 'registry.example/web:1.2.3',
        args: ['--port=8080', '--log-level=info'],
        env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
        ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 5 },
        volumeMounts: [{ name: 'kube-api-access', mountPath: '/var/run/secrets', readOnly: true }],
      },
    ],
  },
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    hostIP: '192.0.2.1',
    startTime: '2026-01-01T00:00:01Z',
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:02Z',
    })),
    containerStatuses: [
      {
        name: 'app',
        ready: true,
        started: true,
        restartCount: 0,
        image: 'registry.example/web:1.2.3',
        imageID:
          'registry.example/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
        containerID: 'containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
        state: { running: { startedAt: '2026-01-01T00:00:02Z' } },
        lastState: {},
      },
    ],
  },
};

/** A clock on which no call comes too fast. */
function fastClock(): { monotonic(): number } {
  let now = 0;
  return {
    monotonic: () => {
      now += 1000;
      return now;
    },
  };
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

function mean(samples: readonly number[]): number {
  return samples.reduce((sum, each) => sum + each, 0) / samples.length;
}
