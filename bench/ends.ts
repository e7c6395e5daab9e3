/** How soon many pods that are removed at once are gone, beside the bare CRI calls that stop and remove the same pods. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gate } from '../src/async/index.js';
import type { CriRuntime } from '../src/cri/index.js';
import { createKubelet, type Kubelet } from '../src/kubelet/index.js';
import { defaultStartsAtOnce } from '../src/kubelet/settings.js';
import { pollUntil } from '../test/env/index.js';
import { nodeDns } from './agent.js';
import { type BenchGround, onContainerd } from './ground.js';
import {
  atMost,
  type Bench,
  type BenchContext,
  type Measure,
  median,
  medianOf,
  percentile,
  roundsOf,
} from './measure.js';
import {
  clearManifests,
  idlePod,
  type PodManifest,
  removeAllPods,
  showManifests,
  untilRunning,
} from './pods.js';

const rounds = 3;
const settleMs = 2_000;
const goneLimitMs = 300_000;
/** As many bare pods end at a time as the agent lets end. */
const bareEndsAtOnce = defaultStartsAtOnce() + 2;

/** How a container takes SIGTERM. */
interface Ending {
  readonly name: string;
  readonly script: string;
  readonly graceSeconds: number;
  /** Whether the calls for one pod mostly wait for its containers, so that all pods are asked to end at once. */
  readonly waits: boolean;
}

const endings: readonly Ending[] = [
  { name: 'end at once', script: 'trap "exit 0" TERM; sleep 100000 & wait', graceSeconds: 30, waits: false },
  {
    name: 'end after 1 s',
    script: 'trap "sleep 1; exit 0" TERM; sleep 100000 & wait',
    graceSeconds: 30,
    waits: true,
  },
  { name: 'end by SIGKILL', script: 'trap "" TERM; sleep 100000', graceSeconds: 2, waits: true },
];

export const ends: Bench = {
  name: 'ends',
  summary: 'pods that are removed at once: nodelet against bare CRI calls',
  run: (context) => onContainerd((ground) => measure(ground, context)),
};

async function measure(ground: BenchGround, { note, options }: BenchContext): Promise<Measure[]> {
  const count = options.pods?.[0] ?? (options.quick === true ? 10 : 100);
  const measures: Measure[] = [];
  for (const ending of endings) {
    const found = { nodelet: [] as number[][], bare: [] as number[][] };
    for (let round = 0; round < roundsOf(options, options.rounds ?? rounds); round++) {
      const sides = ['nodelet', 'bare'] as const;
      // Whoever comes second may find a more tired machine, so each side is second about as often.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const goneMs = await burst(ground, ending, count, { side, name: `${side}-${round}` });
        found[side].push(goneMs);
        note(`${ending.name}, ${side}: median ${seconds(median(goneMs))}, all ${seconds(last(goneMs))}`);
      }
    }
    measures.push(...report(`${count} pods that ${ending.name}`, found.nodelet, found.bare));
  }
  return measures;
}

function report(pods: string, nodelet: readonly number[][], bare: readonly number[][]): Measure[] {
  const ratios = (of: (goneMs: readonly number[]) => number): number[] =>
    nodelet.map((goneMs, round) => of(goneMs) / of(bare[round] ?? []));
  const inSeconds = (of: readonly number[][], figure: (goneMs: readonly number[]) => number): number[] =>
    of.map((goneMs) => figure(goneMs) / 1000);
  return [
    medianOf(`${pods}: all gone, nodelet / bare CRI calls`, 'ratio', ratios(last), atMost(1.25)),
    medianOf(
      `${pods}: median gone, of the time of the last`,
      '%',
      nodelet.map((goneMs) => (100 * median(goneMs)) / last(goneMs)),
      atMost(60),
    ),
    medianOf(`${pods}: median gone, nodelet`, 's', inSeconds(nodelet, median)),
    medianOf(
      `${pods}: p99 gone, nodelet`,
      's',
      inSeconds(nodelet, (goneMs) => percentile(goneMs, 99)),
    ),
    medianOf(`${pods}: all gone, nodelet`, 's', inSeconds(nodelet, last)),
    medianOf(`${pods}: all gone, bare CRI calls`, 's', inSeconds(bare, last)),
  ];
}

interface Turn {
  readonly side: 'nodelet' | 'bare';
  readonly name: string;
}

/** Starts the pods, ends them all at once, and returns after which time each was gone. */
async function burst(
  { cri, dir }: BenchGround,
  ending: Ending,
  count: number,
  { side, name }: Turn,
): Promise<number[]> {
  const own = join(dir, `${name}-${ending.graceSeconds}-${ending.name.replaceAll(' ', '-')}`);
  const staticPodPath = join(own, 'manifests');
  mkdirSync(staticPodPath, { recursive: true });
  const kubelet = await createKubelet({
    nodeName: 'bench',
    runtime: cri,
    rootDir: join(own, 'root'),
    config: { staticPodPath, podLogsDir: join(own, 'logs'), maxPods: count, ...nodeDns },
  });
  const failed = kubelet.start();
  try {
    showManifests(staticPodPath, pods(ending, count));
    await Promise.race([untilRunning(cri, count, () => kubelet.blockers().join('; ')), failed]);
    // Every script has set its trap by then.
    await sleep(settleMs);
    if (side === 'nodelet') return await removedManifests(kubelet, staticPodPath, count);
  } finally {
    await kubelet.stop();
    if (side === 'nodelet') await removeAllPods(cri);
  }
  return bareEnds(cri, ending);
}

function pods({ script, graceSeconds }: Ending, count: number): PodManifest[] {
  return Array.from({ length: count }, (_, index) => {
    const pod = idlePod(`p-${index}`, 'Never');
    const containers = pod.spec.containers.map((container) => ({
      ...container,
      command: ['sh', '-c', script],
    }));
    return { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: graceSeconds, containers } };
  });
}

async function removedManifests(kubelet: Kubelet, manifestsDir: string, count: number): Promise<number[]> {
  const goneMs: number[] = [];
  const startMs = performance.now();
  kubelet.onFinished(() => goneMs.push(performance.now() - startMs));
  clearManifests(manifestsDir);
  await pollUntil(`${count} pods are gone`, () => (goneMs.length >= count ? true : undefined), {
    timeoutMs: goneLimitMs,
    detail: () => `${goneMs.length} are gone`,
  });
  return goneMs;
}

/** The calls that a pod takes at least to end. */
async function bareEnds(cri: CriRuntime, { graceSeconds, waits }: Ending): Promise<number[]> {
  const { containers } = await cri.listContainers({});
  const goneMs: number[] = [];
  const startMs = performance.now();
  const gate = new Gate(waits ? containers.length : bareEndsAtOnce);
  await Promise.all(
    containers.map(({ id, podSandboxId }) =>
      gate.run(async () => {
        await cri.stopContainer({ containerId: id, timeout: graceSeconds });
        await cri.stopPodSandbox({ podSandboxId });
        goneMs.push(performance.now() - startMs);
      }),
    ),
  );
  await removeAllPods(cri);
  return goneMs;
}

const last = (goneMs: readonly number[]): number => Math.max(...goneMs);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
