/** Resizes in place through the API of a real control plane: how soon the kernel has them, and the pod's status. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../src/kube/index.js';
import { type KubeApi, resources } from '../src/kube-client/index.js';
import { startClusterNode } from '../test/env/cluster-node.js';
import { CleanupStack, pollUntil, testImages } from '../test/env/index.js';
import { onControlPlane } from './cluster/control-plane.js';
import { type ClusterGround, namespace, type Side } from './cluster/visit.js';
import { atMost, type Bench, type Measure, median, roundsOf } from './measure.js';

/** Milliseconds from before the patch is sent. */
interface ResizeTimes {
  readonly cgroupMs: number;
  readonly statusMs: number;
}

const resizesPerRound = 10;
/** So that a look once a second is met at another moment of its second by each resize. */
const pauseMs = 1_370;
/** Longer than a kubelet that waits for its next look twice. */
const patienceMs = 30_000;
/** How closely the kernel is watched; a figure is late by this much at most. */
const lookMs = 1;

export const resize: Bench = {
  name: 'resize',
  summary: 'resizes through the API up to the cgroup; with --kubelet PATH against the reference kubelet',
  run: ({ note, options }) =>
    onControlPlane({ note, options }, async (ground, sides) => {
      const times: Record<Side['name'], ResizeTimes[]> = { nodelet: [], reference: [] };
      const rounds = roundsOf(options, options.rounds ?? (sides.length > 1 ? 2 : 1));
      for (let round = 0; round < rounds; round++) {
        // Whoever comes second may find warmer caches or a more tired machine, so each side is second about as often.
        for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
          const found = await visitNode(ground, side, `resize-${side.name}-${round}`);
          times[side.name].push(...found);
          note(
            `round ${round + 1}, ${side.name}: cgroup ${shown(found, 'cgroupMs')}, status ${shown(found, 'statusMs')}`,
          );
        }
      }
      return measuresOf(times.nodelet, times.reference);
    }),
};

function shown(times: readonly ResizeTimes[], what: keyof ResizeTimes): string {
  return `${median(times.map((one) => one[what])).toFixed(0)} ms`;
}

function measuresOf(ours: readonly ResizeTimes[], theirs: readonly ResizeTimes[]): Measure[] {
  return (['cgroupMs', 'statusMs'] as const).flatMap((what) => {
    const end = what === 'cgroupMs' ? 'cgroup' : 'status';
    const samples = ours.map((one) => one[what]);
    const mine: Measure = { name: `patch → ${end} (median)`, unit: 'ms', value: median(samples), samples };
    if (theirs.length === 0) return [mine];
    const compared = {
      unit: 'ms',
      ours: mine.value,
      theirs: median(theirs.map((one) => one[what])),
    } as const;
    const ratio: Measure = {
      name: `patch → ${end}: nodelet / reference`,
      unit: 'ratio',
      value: compared.ours / compared.theirs,
      target: atMost(0.5),
      compared,
    };
    return [mine, ratio];
  });
}

/** One pod on a fresh node, resized up and down. */
async function visitNode({ plane, api }: ClusterGround, side: Side, name: string): Promise<ResizeTimes[]> {
  const cleanups = new CleanupStack();
  try {
    const config = { syncFrequency: '1m0s', fileCheckFrequency: '20s' };
    const options = { cleanups, plane, name, kubelet: side.program, flags: ['--v=0'], config };
    const node = await startClusterNode(options);
    await node.ready();
    await api.create(resources.pods, resizablePod(name, '100m'));
    const id = await readyContainer(api, name);
    const file = quotaFile(id);
    const times: ResizeTimes[] = [];
    for (let turn = 0; turn < resizesPerRound; turn++) {
      await sleep(pauseMs);
      times.push(await resizeOnce(api, name, file, turn % 2 === 0 ? 200 : 100));
    }
    await api.delete(resources.pods, { namespace, name }, { gracePeriodSeconds: 0 });
    await node.stop();
    return times;
  } finally {
    await cleanups.run();
    await api.delete(resources.nodes, { name });
  }
}

async function resizeOnce(api: KubeApi, name: string, file: string, millis: number): Promise<ResizeTimes> {
  const cpu = `${millis}m`;
  const body = {
    spec: { containers: [{ name: 'main', resources: { requests: { cpu }, limits: { cpu } } }] },
  };
  const startMs = performance.now();
  const patched = api.patch(
    resources.pods,
    { namespace, name },
    { type: 'strategic', body },
    { subresource: 'resize' },
  );
  const seen = await Promise.all([
    until(
      `the cgroup has ${cpu}`,
      async () => Number.parseInt(readFileSync(file, 'utf8'), 10) === millis * 100,
    ),
    until(`the status has ${cpu}`, async () => {
      const { status } = await api.get(resources.pods, { namespace, name });
      return status?.containerStatuses?.[0]?.resources?.limits?.cpu === cpu;
    }),
    patched,
  ]);
  return { cgroupMs: seen[0] - startMs, statusMs: seen[1] - startMs };
}

/** The moment at which it first held. */
async function until(what: string, holds: () => Promise<boolean>): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    if (await holds()) return performance.now();
    if (performance.now() - startMs > patienceMs) throw new Error(`not within ${patienceMs} ms: ${what}`);
    await sleep(lookMs);
  }
}

/** The id of the pod's container, once the pod is ready. */
async function readyContainer(api: KubeApi, name: string): Promise<string> {
  const probe = async (): Promise<string | undefined> => {
    const { status } = await api.get(resources.pods, { namespace, name });
    const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    return isReady === true ? status?.containerStatuses?.[0]?.containerID?.split('//')[1] : undefined;
  };
  return await pollUntil(`pod ${name} is ready`, probe, { timeoutMs: 60_000 });
}

/** The file in which the kernel has the container's CPU quota, in either version of cgroups. */
function quotaFile(containerId: string): string {
  const root = '/sys/fs/cgroup';
  const trees = readdirSync(root).includes('cgroup.controllers')
    ? [{ tree: root, file: 'cpu.max' }]
    : [{ tree: join(root, 'cpu'), file: 'cpu.cfs_quota_us' }];
  for (const { tree, file } of trees) {
    const directory = readdirSync(tree, { recursive: true, encoding: 'utf8', withFileTypes: true }).find(
      (entry) => entry.isDirectory() && entry.name.includes(containerId),
    );
    if (directory !== undefined) return join(directory.parentPath, directory.name, file);
  }
  throw new Error(`no cgroup of container ${containerId} below ${root}`);
}

function resizablePod(name: string, cpu: string): Pod {
  const amounts = { cpu, memory: '32Mi' };
  return {
    metadata: { uid: 'u', name, namespace },
    spec: {
      nodeName: name,
      containers: [
        {
          name: 'main',
          image: testImages.pause,
          imagePullPolicy: 'IfNotPresent',
          resources: { requests: amounts, limits: amounts },
        },
      ],
    },
  };
}
