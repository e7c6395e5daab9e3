/** What is measured of a kubelet under a load, and the figures of many rounds as measures beside their targets. */
import { atMost, type Measure, median, medianOf, percentile, type Target, type Unit } from '../measure.js';

/** One burst of pods. */
export interface Burst {
  /** From the moment at which all pods were sent to the API until each was seen to be ready. */
  readonly readySeconds: readonly number[];
  /** From the moment at which all deletions were sent until each was seen to be gone. */
  readonly goneSeconds: readonly number[];
  /** Of the kubelet and of what it ran, until all pods were ready. */
  readonly cpuToStartSeconds: number;
  readonly cpuToDeleteSeconds: number;
}

export interface Rest {
  readonly cpuPercent: number;
  readonly rssMegabytes: number;
}

/** What `/metrics/cadvisor` cost with all pods running. */
export interface Scrapes {
  /** Of one scrape, beyond what the kubelet spends at rest. */
  readonly cpuMilliseconds: number;
  readonly kilobytes: number;
}

/** One visit to a fresh node. */
export interface Round {
  readonly bursts: readonly Burst[];
  readonly rest: Rest;
  readonly scrapes: Scrapes;
  readonly requestsPerPod: { readonly start: number; readonly delete: number };
}

export interface LoadRounds {
  readonly pods: number;
  readonly nodelet: readonly Round[];
  /** Of the same machine in the same run, each after or before its neighbour; empty without the reference. */
  readonly reference: readonly Round[];
}

interface Figure {
  readonly name: string;
  readonly unit: Unit;
  of(round: Round): number;
  target?(pods: number): Target | undefined;
  /** A single pod is its own median and the last of its burst. */
  readonly manyPodsOnly?: boolean;
}

const always = (limit: number) => () => atMost(limit);
const overBursts =
  (of: (burst: Burst) => number) =>
  ({ bursts }: Round): number =>
    median(bursts.map(of));
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const figures: readonly Figure[] = [
  {
    name: 'created → ready, p50',
    unit: 's',
    of: overBursts(({ readySeconds }) => median(readySeconds)),
    target: (pods) => (pods === 1 ? atMost(0.7) : pods >= 100 ? atMost(0.4) : undefined),
  },
  {
    name: 'created → ready, p99',
    unit: 's',
    of: overBursts(({ readySeconds }) => percentile(readySeconds, 99)),
    manyPodsOnly: true,
  },
  {
    name: 'all ready',
    unit: 's',
    of: overBursts(({ readySeconds }) => Math.max(...readySeconds)),
    target: always(0.7),
    manyPodsOnly: true,
  },
  {
    name: 'deleted → gone, p50',
    unit: 's',
    of: overBursts(({ goneSeconds }) => median(goneSeconds)),
    target: always(0.5),
  },
  {
    name: 'all gone',
    unit: 's',
    of: overBursts(({ goneSeconds }) => Math.max(...goneSeconds)),
    manyPodsOnly: true,
  },
  {
    name: 'CPU to start',
    unit: 's',
    // The kernel counts in hundredths of a second: of several small bursts the mean says more than the median.
    of: ({ bursts }) => mean(bursts.map(({ cpuToStartSeconds }) => cpuToStartSeconds)),
    target: always(1),
  },
  {
    name: 'CPU to delete',
    unit: 's',
    of: ({ bursts }) => mean(bursts.map(({ cpuToDeleteSeconds }) => cpuToDeleteSeconds)),
  },
  { name: 'CPU at rest', unit: '%', of: ({ rest }) => rest.cpuPercent, target: always(0.5) },
  { name: 'memory (RSS) at rest', unit: 'MB', of: ({ rest }) => rest.rssMegabytes, target: always(1) },
  {
    name: 'CPU of a scrape',
    unit: 'ms',
    of: ({ scrapes }) => scrapes.cpuMilliseconds,
    target: always(0.5),
    manyPodsOnly: true,
  },
  { name: 'text of a scrape', unit: 'kB', of: ({ scrapes }) => scrapes.kilobytes, manyPodsOnly: true },
  {
    name: 'API requests per pod to start',
    unit: 'count',
    of: ({ requestsPerPod }) => requestsPerPod.start,
  },
  {
    name: 'API requests per pod to delete',
    unit: 'count',
    of: ({ requestsPerPod }) => requestsPerPod.delete,
  },
];

/** Ratios to the reference where it ran, else nodelet's own figures, for which there is no target. */
export function clusterMeasures(loads: readonly LoadRounds[]): Measure[] {
  return loads.flatMap((load) =>
    figures
      .filter(({ manyPodsOnly }) => manyPodsOnly !== true || load.pods > 1)
      .map((figure) => measureOf(figure, load)),
  );
}

function measureOf({ name, unit, of, target }: Figure, { pods, nodelet, reference }: LoadRounds): Measure {
  const title = `${pods} pod${pods === 1 ? '' : 's'}: ${name}`;
  return compared({ title, unit, target: target?.(pods) }, nodelet.map(of), reference.map(of));
}

export interface ComparedFigure {
  readonly title: string;
  readonly unit: Unit;
  /** Of the ratio. */
  readonly target: Target | undefined;
}

/** The ratio to the reference where it ran, else nodelet's own figure, for which there is no target. */
export function compared(
  { title, unit, target }: ComparedFigure,
  ours: readonly number[],
  theirs: readonly number[],
): Measure {
  if (theirs.length === 0) return medianOf(title, unit, ours);
  // Of neighbours in time, as each pair saw about the same machine.
  const ratios = ours.slice(0, theirs.length).map((value, round) => value / (theirs[round] ?? Number.NaN));
  return {
    ...medianOf(title, 'ratio', ratios, target),
    compared: { unit, ours: median(ours), theirs: median(theirs) },
  };
}
