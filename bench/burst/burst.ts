/** Bursts of pods in flight: through the API and from files, beside bare CRI calls and the reference, with each pod's time by step. */

import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectCri } from '../../src/cri/index.js';
import { startClusterNode } from '../../test/env/cluster-node.js';
import { CleanupStack, createTempDir, startContainerd } from '../../test/env/index.js';
import { onControlPlane } from '../cluster/control-plane.js';
import { PodWatch } from '../cluster/pod-moments.js';
import { type ClusterGround, namespace, type Side } from '../cluster/visit.js';
import type { Bench, BenchContext, BenchOptions, Measure } from '../measure.js';
import { bareBurst } from './bare.js';
import { type BurstLoad, type BurstSide, burstMeasures, last, type SideBurst } from './figures.js';
import { NodeBursts } from './node-bursts.js';
import { machineFacts, writePage } from './page.js';
import { recordApiPod } from './recorded-api-pod.js';

/** What tests want sooner, as nodes have it. */
const config = { syncFrequency: '1m0s', fileCheckFrequency: '20s', maxPods: 250 };
/** What a kubelet does after its own start should be over before it is measured. */
const startSettleMs = 3_000;
/** The first pods of a runtime pay for what all later ones find done. */
const warmUpPods = 4;

/** One turn of a round: some sides after one another. */
type Turn = (name: string, pods: number) => Promise<Partial<Record<BurstSide, SideBurst>>>;

export const burst: Bench = {
  name: 'burst',
  summary:
    'pods in flight, through the API and from files: against bare CRI calls, and where their time goes',
  run: (context) => onControlPlane(context, (ground, sides) => measureBursts(ground, sides, context)),
};

function formOf({ pods, rounds, quick }: BenchOptions): { loads: readonly number[]; rounds: number } {
  return {
    loads: pods ?? (quick === true ? [6] : [50, 100, 200]),
    rounds: rounds ?? (quick === true ? 1 : 3),
  };
}

export async function measureBursts(
  ground: ClusterGround,
  sides: readonly Side[],
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const { loads, rounds } = formOf(options);
  const loadBefore = loadavg()[0] ?? 0;
  const cleanups = new CleanupStack();
  try {
    const turns = [
      await bareTurn(ground, sides, cleanups),
      ...sides.map((side) => nodeTurn(ground, side, cleanups)),
    ];
    const done: BurstLoad[] = [];
    for (const pods of loads) {
      const found: Record<BurstSide, SideBurst[]> = { bare: [], api: [], files: [], reference: [] };
      for (let round = 0; round < rounds; round++) {
        // Whoever comes second may find warmer caches or a more tired machine, so each is second about as often.
        for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
          const bursts = await turn(`p${pods}-${round}`, pods);
          for (const [side, one] of Object.entries(bursts)) {
            // The keys of a turn's result are sides.
            found[side as BurstSide].push(one);
            note(`round ${round + 1}, ${pods} at once, ${side}: ${shown(one)}`);
          }
        }
      }
      done.push({ pods, ...found });
    }
    if (options.write === true)
      note(`written: ${writePage(done, machineFacts(loadBefore, loadavg()[0] ?? 0))}`);
    return burstMeasures(done);
  } finally {
    await cleanups.run();
  }
}

/** On a containerd of its own: an agent would end pods that it does not know. */
async function bareTurn(
  ground: ClusterGround,
  sides: readonly Side[],
  cleanups: CleanupStack,
): Promise<Turn> {
  const [nodelet] = sides;
  if (nodelet === undefined) throw new Error('there is no program to record');
  const { path: dir } = await createTempDir('burst', { cleanups });
  const containerd = await startContainerd({ cleanups });
  const cri = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 120_000 });
  cleanups.defer('the CRI client', async () => cri.close());
  const own = join(dir, 'bare');
  mkdirSync(own);
  const recorded = await recordApiPod(ground, nodelet, { containerd, cri, dir: own });
  await bareBurst(cri, recorded, 'warm', warmUpPods);
  return async (name, pods) => ({ bare: await bareBurst(cri, recorded, name, pods) });
}

/** The node stays, and its kubelet runs only for its turns. */
function nodeTurn(ground: ClusterGround, side: Side, cleanups: CleanupStack): Turn {
  const { plane, api } = ground;
  const isNodelet = side.name === 'nodelet';
  const options = {
    cleanups,
    plane,
    name: `burst-${side.name}`,
    kubelet: side.program,
    flags: ['--v=0'],
    config,
  };
  const made = startClusterNode({ ...options, start: false });
  // Whoever awaits it first hears of its failure.
  made.catch(() => undefined);
  let isWarm = false;
  return async (name, pods) => {
    const node = await made;
    await node.start();
    const watch = new PodWatch(api, namespace);
    try {
      await watch.synced();
      await node.ready();
      const bursts = new NodeBursts(ground, node, watch, isNodelet);
      if (!isWarm) await bursts.throughApi(`${side.name}-warm`, warmUpPods);
      isWarm = true;
      await sleep(startSettleMs);
      const throughApi = await bursts.throughApi(`${side.name}-${name}`, pods);
      if (!isNodelet) return { reference: throughApi };
      return { api: throughApi, files: await bursts.fromFiles(`file-${name}`, pods) };
    } finally {
      await watch.stop();
      await node.stop();
    }
  };
}

function shown({ readyMs, goneMs, cpuMs }: SideBurst): string {
  const cpu = cpuMs === undefined ? '' : `, CPU ${cpuMs.start.toFixed(1)} + ${cpuMs.end.toFixed(1)} ms a pod`;
  return `all ready ${(last(readyMs) / 1000).toFixed(2)} s, all gone ${(last(goneMs) / 1000).toFixed(2)} s${cpu}`;
}
