/** What watching costs when nothing happens: CPU of a relist and of planning per pod, memory per pod, and whether they grow. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/async/index.js';
import { type CriClient, connectCri, type ObservedPodStatus } from '../src/cri/index.js';
import type { Pod } from '../src/kube/index.js';
import { createKubelet } from '../src/kubelet/index.js';
import { readManifest } from '../src/pods/sources/static-pod.js';
import { filelessPodConfigs } from '../src/runtime-manager/config/index.js';
import { type ProbeVerdicts, planPod } from '../src/runtime-manager/index.js';
import { listPod, listPods, type ObservePorts, podStatus } from '../src/runtime-manager/observe/observe.js';
import { Pleg } from '../src/runtime-manager/pleg/index.js';
import { Timeline } from '../src/timeline/index.js';
import { CleanupStack, createTempDir, pollUntil } from '../test/env/index.js';
import { atMost, type Bench, type Measure, medianOf, roundsOf } from './measure.js';
import { idlePod } from './pods.js';
import { startSim } from './sim-process.js';

const few = 100;
const many = 500;
const ratedRounds = 7;
/** Each sample looks at so many pods, in as many relists as that takes. */
const podsPerSample = 5_000;
const plansPerSample = 2_000;
const planSamples = 10;
const nobodyProbes: ProbeVerdicts = { liveness: () => 'success', startup: () => 'success' };

export const relist: Bench = {
  name: 'relist',
  summary: `${many} pods against ${few}: what looking at them and keeping them costs`,
  async run({ note, options }) {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      // Code that is run for the first time is compiled and kept; neither belongs to a pod.
      await openNode(dir, 10, cleanups);
      const nodes = [await openNode(dir, few, cleanups), await openNode(dir, many, cleanups)] as const;
      note(`${few + many} pods run; relists begin`);
      return await measure(nodes, roundsOf(options, ratedRounds));
    } finally {
      await cleanups.run();
    }
  },
};

/** A runtime full of pods that run, and a PLEG that has seen them. */
interface SimNode {
  readonly pods: readonly Pod[];
  readonly pleg: Pleg;
  readonly heapBytes: number;
}

async function openNode(dir: string, count: number, cleanups: CleanupStack): Promise<SimNode> {
  const sim = await startSim(join(dir, `${count}.sock`));
  cleanups.defer('a simulated runtime', sim.stop);
  const cri = connectCri({ endpoint: sim.endpoint, requestTimeoutMs: 120_000 });
  cleanups.defer('the CRI client', async () => cri.close());
  const pods = twoContainerPods(count);
  const heapBytes = await runPods(cri, dir, pods);
  const ports: ObservePorts = { cri, clock: systemClock, terminationMessage: undefined };
  const pleg = new Pleg({
    clock: systemClock,
    timeline: new Timeline(),
    runtime: {
      listPods: () => listPods(ports, { runningOnly: false }),
      listPod: (uid) => listPod(ports, uid),
      podStatus: (uid, name, namespace) => podStatus(ports, uid, name, namespace),
    },
  });
  // The first look inspects every pod; the ones that follow find nothing new.
  await pleg.relist();
  return { pods, pleg, heapBytes };
}

function twoContainerPods(count: number): Pod[] {
  return Array.from({ length: count }, (_, index) => {
    const manifest = idlePod(`p-${index}`);
    const [main] = manifest.spec.containers;
    const text = JSON.stringify({
      ...manifest,
      spec: { ...manifest.spec, containers: [main, { ...main, name: 'second' }] },
    });
    const { pods } = readManifest(
      text,
      { kind: 'file', path: `/p-${index}` },
      { nodeName: 'bench', refuseApiReferences: false },
    );
    return pods;
  }).flat();
}

/** Has a whole kubelet start the pods; returns the heap that it holds while they run. */
async function runPods(cri: CriClient, dir: string, pods: readonly Pod[]): Promise<number> {
  const beforeBytes = usedHeapBytes();
  const kubelet = await createKubelet({
    nodeName: 'bench',
    runtime: cri,
    runtimeEndsCalls: true,
    rootDir: join(dir, 'root'),
    config: { maxPods: 2 * many },
    podConfigs: filelessPodConfigs,
    podDirectories: false,
    sources: [
      {
        name: 'file',
        create: ({ deliver }) => ({ run: (signal) => deliver({ source: 'file', pods }, signal) }),
      },
    ],
  });
  const failed = kubelet.start();
  try {
    const running = pollUntil(
      `${pods.length} simulated pods run`,
      () =>
        kubelet.pods().filter(({ status }) => status?.phase === 'Running').length === pods.length
          ? true
          : undefined,
      { timeoutMs: 60_000, intervalMs: 200 },
    );
    await Promise.race([running, failed.then((error) => Promise.reject(error))]);
    await sleep(500);
    return usedHeapBytes() - beforeBytes;
  } finally {
    await kubelet.stop();
  }
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** What is left after everything that can be forgotten has been. */
function usedHeapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function measure([small, large]: readonly [SimNode, SimNode], rounds: number): Promise<Measure[]> {
  const relistUs = { small: [] as number[], large: [] as number[] };
  const planUs = { small: [] as number[], large: [] as number[] };
  const nodes = { small, large };
  for (let round = 0; round < rounds; round++) {
    for (const size of ['small', 'large'] as const) {
      relistUs[size].push(await relistCost(nodes[size]));
    }
    // Short samples one after the other, so that the least of each is one that nothing disturbed.
    for (let sample = 0; sample < planSamples; sample++) {
      for (const size of ['small', 'large'] as const) planUs[size].push(planCost(nodes[size]));
    }
  }
  return [
    growth(`CPU of a relist per pod: ${many} pods / ${few} pods`, relistUs),
    growth(`CPU of planning per pod: ${many} pods / ${few} pods`, planUs),
    medianOf(`CPU of a relist per pod, ${few} pods`, 'µs', relistUs.small),
    medianOf(`CPU of a relist per pod, ${many} pods`, 'µs', relistUs.large),
    medianOf('CPU of planning per pod', 'µs', planUs.large),
    { name: `heap per pod, ${few} pods`, unit: 'kB', value: small.heapBytes / few / 1000 },
    { name: `heap per pod, ${many} pods`, unit: 'kB', value: large.heapBytes / many / 1000 },
  ];
}

function growth(
  name: string,
  costs: { readonly small: readonly number[]; readonly large: readonly number[] },
): Measure {
  return {
    name,
    unit: 'ratio',
    // The least of each: what disturbs a sample makes it dearer, and never cheaper.
    value: Math.min(...costs.large) / Math.min(...costs.small),
    samples: costs.large.map((cost, round) => cost / (costs.small[round] ?? Number.NaN)),
    target: atMost(1.3),
  };
}

/** Microseconds of CPU per pod. */
async function relistCost({ pods, pleg }: SimNode): Promise<number> {
  const before = process.cpuUsage();
  for (let seen = 0; seen < podsPerSample; seen += pods.length) await pleg.relist();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / podsPerSample;
}

/** Microseconds of CPU per pod that needs nothing. */
function planCost({ pods, pleg }: SimNode): number {
  // As many of either node: the caches of the machine hold 100 pods that are planned over and over, and not 500.
  const some = pods.filter((_, index) => index % (pods.length / few) === 0);
  const inputs = some.map((pod) => ({ pod, status: statusOf(pleg, pod) }));
  const nowMs = Date.now();
  const backOff = { waiting: () => undefined };
  const before = process.cpuUsage();
  for (let planned = 0; planned < plansPerSample; planned += inputs.length) {
    for (const { pod, status } of inputs) {
      planPod({ pod, status, nowMs, backOff, probes: nobodyProbes, restartingAllContainers: false });
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / plansPerSample;
}

function statusOf(pleg: Pleg, pod: Pod): ObservedPodStatus {
  const known = pleg.cache.peek(pod.metadata.uid);
  if ('error' in known) throw known.error;
  return known.status;
}
