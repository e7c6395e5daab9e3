/** Pods through the API of a real control plane: how soon they run and are gone, and what that costs the node's agent. */
import { type Bench, type BenchOptions, type Measure, median } from '../measure.js';
import { onControlPlane } from './control-plane.js';
import { clusterMeasures, type LoadRounds, type Round } from './figures.js';
import { type ClusterGround, type Load, type Side, visit } from './visit.js';

interface Form {
  readonly loads: readonly Load[];
  readonly rounds: number;
}

export const cluster: Bench = {
  name: 'cluster',
  summary: 'pods created through the API at once; with --kubelet PATH against the reference kubelet',
  run: (context) =>
    onControlPlane(context, (ground, sides) => measure(ground, sides, formOf(context.options))),
};

/** Without the reference there is nothing to compare with, and a short look will do. */
function formOf({ kubelet, pods, rounds }: BenchOptions): Form {
  const isFull = kubelet !== undefined;
  const times = isFull
    ? { settleMs: 10_000, restMs: 20_000, scrapes: 20 }
    : { settleMs: 2_000, restMs: 5_000, scrapes: 5 };
  const single = isFull ? 6 : 3;
  const loads = (pods ?? (isFull ? [1, 50, 100] : [1, 20])).map((count) => ({
    ...times,
    pods: count,
    bursts: count === 1 ? single : 1,
  }));
  return { loads, rounds: rounds ?? (isFull ? 3 : 1) };
}

async function measure(ground: ClusterGround, sides: readonly Side[], form: Form): Promise<Measure[]> {
  const done: LoadRounds[] = [];
  for (const load of form.loads) done.push(await measureLoad(ground, sides, load, form.rounds));
  return clusterMeasures(done);
}

async function measureLoad(
  ground: ClusterGround,
  sides: readonly Side[],
  load: Load,
  rounds: number,
): Promise<LoadRounds> {
  const found = { nodelet: [] as Round[], reference: [] as Round[] };
  for (let round = 0; round < rounds; round++) {
    // Whoever comes second may find warmer caches or a more tired machine, so each side is second about as often.
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      const figures = await visit(ground, side, load, `${side.name}-${load.pods}-${round}`);
      found[side.name].push(figures);
      ground.note(`round ${round + 1}, ${side.name}, ${load.pods} at once: ${formatRound(figures)}`);
    }
  }
  return { pods: load.pods, ...found };
}

function formatRound({ bursts, rest, scrapes }: Round): string {
  const seconds = (of: (burst: (typeof bursts)[number]) => number): string =>
    `${median(bursts.map(of)).toFixed(2)} s`;
  return [
    `all ready ${seconds(({ readySeconds }) => Math.max(...readySeconds))}`,
    `all gone ${seconds(({ goneSeconds }) => Math.max(...goneSeconds))}`,
    `CPU to start ${seconds(({ cpuToStartSeconds }) => cpuToStartSeconds)}`,
    `at rest ${rest.cpuPercent.toFixed(1)} %, ${rest.rssMegabytes.toFixed(0)} MB`,
    `a scrape ${scrapes.cpuMilliseconds.toFixed(0)} ms, ${scrapes.kilobytes.toFixed(0)} kB`,
  ].join(', ');
}
