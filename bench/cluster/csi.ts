/** Pods with a volume of a storage driver each, created through the API at once: how soon they run, and what the driver is asked. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/kube/index.js';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { startClusterNode } from '../../test/env/cluster-node.js';
import { TestCsiDriver } from '../../test/env/csi-driver.js';
import { CleanupStack, pollUntil, testImages } from '../../test/env/index.js';
import { processTreeCpuMs } from '../agent.js';
import {
  atMost,
  type Bench,
  type BenchOptions,
  type Measure,
  median,
  type Target,
  type Unit,
} from '../measure.js';
import { onControlPlane } from './control-plane.js';
import { compared } from './figures.js';
import { PodWatch } from './pod-moments.js';
import { type ClusterGround, namespace, type Side } from './visit.js';

/** One burst on a fresh node. */
interface CsiRound {
  readonly readySeconds: readonly number[];
  readonly goneSeconds: readonly number[];
  readonly cpuToStartSeconds: number;
  /** Calls to the driver for each pod. */
  readonly callsToStart: number;
  readonly callsToDelete: number;
}

interface CsiFigure {
  readonly name: string;
  readonly unit: Unit;
  readonly target?: Target;
  of(round: CsiRound): number;
}

const driverName = 'bench.test';
const settleMs = 3_000;

const figures: readonly CsiFigure[] = [
  { name: 'created → ready, p50', unit: 's', of: ({ readySeconds }) => median(readySeconds) },
  {
    name: 'all ready',
    unit: 's',
    of: ({ readySeconds }) => Math.max(...readySeconds),
    target: atMost(0.7),
  },
  { name: 'all gone', unit: 's', of: ({ goneSeconds }) => Math.max(...goneSeconds), target: atMost(1) },
  {
    name: 'CPU to start',
    unit: 's',
    of: ({ cpuToStartSeconds }) => cpuToStartSeconds,
    target: atMost(1),
  },
  {
    name: 'calls to the driver per pod to start',
    unit: 'count',
    of: ({ callsToStart }) => callsToStart,
    target: atMost(1),
  },
  {
    name: 'calls to the driver per pod to delete',
    unit: 'count',
    of: ({ callsToDelete }) => callsToDelete,
    target: atMost(1),
  },
];

export const csi: Bench = {
  name: 'csi',
  summary: 'pods with a volume of a storage driver each; with --kubelet PATH against the reference kubelet',
  run: ({ note, options }) =>
    onControlPlane({ note, options }, async (ground, sides) => {
      const { pods, rounds } = formOf(options);
      await describeDriver(ground.api);
      const found: Record<Side['name'], CsiRound[]> = { nodelet: [], reference: [] };
      for (let round = 0; round < rounds; round++) {
        // Whoever comes second may find warmer caches or a more tired machine, so each side is second about as often.
        for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
          const figure = await visitNode(ground, side, pods, `csi-${side.name}-${round}`);
          found[side.name].push(figure);
          note(`round ${round + 1}, ${side.name}, ${pods} at once: ${formatRound(figure)}`);
        }
      }
      return measuresOf(pods, found.nodelet, found.reference);
    }),
};

/** Without the reference there is nothing to compare with, and a short look will do. */
function formOf({ kubelet, pods, rounds, quick }: BenchOptions): { pods: number; rounds: number } {
  const isFull = kubelet !== undefined;
  const usual = isFull ? 100 : quick === true ? 5 : 20;
  return { pods: Math.max(...(pods ?? [usual])), rounds: rounds ?? (isFull ? 3 : 1) };
}

function measuresOf(pods: number, ours: readonly CsiRound[], theirs: readonly CsiRound[]): Measure[] {
  return figures.map(({ name, unit, of, target }) =>
    compared({ title: `${pods} pods: ${name}`, unit, target }, ours.map(of), theirs.map(of)),
  );
}

function formatRound(round: CsiRound): string {
  return figures.map(({ name, of, unit }) => `${name} ${of(round).toFixed(2)} ${unit}`).join(', ');
}

async function describeDriver(api: KubeApi): Promise<void> {
  await api.create(resources.csiDrivers, { metadata: { name: driverName }, spec: { attachRequired: false } });
}

/** The driver binds directories, which costs it next to nothing, so that the kubelet's share is seen. */
async function visitNode(ground: ClusterGround, side: Side, pods: number, name: string): Promise<CsiRound> {
  const { plane, api } = ground;
  const cleanups = new CleanupStack();
  try {
    const node = await startClusterNode({ cleanups, plane, name, kubelet: side.program, flags: ['--v=0'] });
    const driver = new TestCsiDriver({
      rootDir: node.rootDir,
      dataDir: path.join(node.rootDir, '../volumes'),
      name: driverName,
    });
    cleanups.defer('the storage driver', () => driver.stop());
    const watch = new PodWatch(api, namespace);
    cleanups.defer('the watch of pods', () => watch.stop());
    await watch.synced();
    await driver.start();
    await node.ready();
    await pollUntil(
      'the driver is registered',
      () => (driver.told.some(({ pluginRegistered }) => pluginRegistered) ? true : undefined),
      { timeoutMs: 60_000 },
    );
    const names = Array.from({ length: pods }, (_, index) => `${name}-${index}`);
    await Promise.all(names.map((claim) => makeClaim(api, claim)));
    await sleep(settleMs);

    const problems = (): string => node.log.slice(-4000);
    const { pid = 0 } = node;
    driver.calls.length = 0;
    const cpuBeforeMs = processTreeCpuMs(pid);
    let startMs = performance.now();
    await Promise.all(names.map((pod) => api.create(resources.pods, podWithClaim(pod, name))));
    const ready = (await watch.allReady(names, problems)).map((ms) => (ms - startMs) / 1000);
    const cpuToStartSeconds = (processTreeCpuMs(pid) - cpuBeforeMs) / 1000;
    const callsToStart = driver.calls.length / pods;
    await sleep(settleMs);

    driver.calls.length = 0;
    startMs = performance.now();
    await Promise.all(names.map((pod) => api.delete(resources.pods, { namespace, name: pod })));
    const gone = (await watch.allGone(names, problems)).map((ms) => (ms - startMs) / 1000);
    await pollUntil(
      'all volumes are unstaged',
      () => (driver.log('nodeUnstageVolume').length >= pods ? true : undefined),
      { timeoutMs: 120_000, detail: problems },
    );
    const callsToDelete = driver.calls.length / pods;
    await node.stop();
    await Promise.all(names.map((claim) => deleteClaim(api, claim)));
    return { readySeconds: ready, goneSeconds: gone, cpuToStartSeconds, callsToStart, callsToDelete };
  } finally {
    await cleanups.run();
    await api.delete(resources.nodes, { name });
  }
}

/** As the controllers of a cluster leave it: bound. */
async function makeClaim(api: KubeApi, name: string): Promise<void> {
  const [capacity, accessModes] = [{ storage: '1Gi' }, ['ReadWriteOnce']];
  const { metadata } = await api.create(resources.persistentVolumeClaims, {
    metadata: { name, namespace },
    spec: { accessModes, storageClassName: '', volumeName: name, resources: { requests: capacity } },
  });
  await api.create(resources.persistentVolumes, {
    metadata: { name },
    spec: {
      capacity,
      accessModes,
      storageClassName: '',
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { namespace, name, uid: metadata.uid },
      csi: { driver: driverName, volumeHandle: name },
    },
  });
  await api.patch(
    resources.persistentVolumeClaims,
    { namespace, name },
    { type: 'merge', body: { status: { phase: 'Bound', capacity, accessModes } } },
    { subresource: 'status' },
  );
}

async function deleteClaim(api: KubeApi, name: string): Promise<void> {
  await api.delete(resources.persistentVolumeClaims, { namespace, name });
  await api.delete(resources.persistentVolumes, { name });
}

function podWithClaim(name: string, nodeName: string): Pod {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  return {
    metadata: { uid: 'u', name, namespace },
    spec: {
      nodeName,
      containers: [{ name: 'main', image: testImages.pause, imagePullPolicy: 'IfNotPresent', volumeMounts }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
    },
  };
}
