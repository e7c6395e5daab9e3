/** What is measured of bursts, and the figures of many rounds as measures beside their targets. */
import { atMost, type Measure, median, medianOf, percentile, type Target } from '../measure.js';
import { type EndStep, endSteps, type StartStep, startSteps } from './phases.js';

/** One burst of one side; every time is in milliseconds, from the moment before the first request. */
export interface SideBurst {
  readonly readyMs: readonly number[];
  readonly goneMs: readonly number[];
  /** Of the agent and what it ran, a pod. */
  readonly cpuMs?: { readonly start: number; readonly end: number };
  /** Of each pod, where a timeline tells. */
  readonly steps?: {
    readonly start: readonly Readonly<Record<StartStep, number>>[];
    readonly end: readonly Readonly<Record<EndStep, number>>[];
  };
}

export const burstSides = ['bare', 'api', 'files', 'reference'] as const;
export type BurstSide = (typeof burstSides)[number];

/** For people. */
export const sideTexts: Readonly<Record<BurstSide, string>> = {
  bare: 'bare CRI calls',
  api: 'nodelet, through the API',
  files: 'nodelet, from files',
  reference: 'reference kubelet, through the API',
};

/** The rounds of one load; sides of the same round ran after one another on the same machine. */
export type BurstLoad = { readonly pods: number } & Readonly<Record<BurstSide, readonly SideBurst[]>>;

export const last = (values: readonly number[]): number => Math.max(...values);
export const p99 = (values: readonly number[]): number => percentile(values, 99);

/** Of neighbours in time, as each pair saw about the same machine. */
export function ratios(
  ours: readonly SideBurst[],
  theirs: readonly SideBurst[],
  of: (burst: SideBurst) => number,
): number[] {
  return ours.flatMap((burst, round) => {
    const other = theirs[round];
    return other === undefined ? [] : of(burst) / of(other);
  });
}

/** Over the rounds, the median and the 99th percentile of the pods of one burst. */
export interface StepFigure<Step> {
  readonly step: Step;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function stepFigures<Step extends string>(
  steps: readonly Step[],
  rounds: readonly (readonly Readonly<Record<Step, number>>[])[],
): StepFigure<Step>[] {
  if (rounds.length === 0) return [];
  return steps.map((step) => {
    const byRound = rounds.map((pods) => pods.map((pod) => pod[step]));
    return { step, p50Ms: median(byRound.map(median)), p99Ms: median(byRound.map(p99)) };
  });
}

export const startFigures = (bursts: readonly SideBurst[]): StepFigure<StartStep>[] =>
  stepFigures(
    startSteps,
    bursts.flatMap(({ steps }) => (steps === undefined ? [] : [steps.start])),
  );

export const endFigures = (bursts: readonly SideBurst[]): StepFigure<EndStep>[] =>
  stepFigures(
    endSteps,
    bursts.flatMap(({ steps }) => (steps === undefined ? [] : [steps.end])),
  );

interface Against {
  readonly side: 'api' | 'files';
  readonly other: 'bare' | 'reference';
  readonly name: string;
  of(burst: SideBurst): number;
  target(pods: number): Target | undefined;
}

const ready = ({ readyMs }: SideBurst): readonly number[] => readyMs;
const gone = ({ goneMs }: SideBurst): readonly number[] => goneMs;
const at100 = (limit: number) => (pods: number) => (pods === 100 ? atMost(limit) : undefined);
const always = (limit: number) => () => atMost(limit);
const never = (): undefined => undefined;

const compared: readonly Against[] = [
  { side: 'api', other: 'bare', name: 'API: all ready', of: (b) => last(ready(b)), target: always(1.1) },
  { side: 'files', other: 'bare', name: 'files: all ready', of: (b) => last(ready(b)), target: always(1.1) },
  { side: 'api', other: 'bare', name: 'API: all gone', of: (b) => last(gone(b)), target: never },
  { side: 'api', other: 'reference', name: 'ready, p50', of: (b) => median(ready(b)), target: at100(0.35) },
  { side: 'api', other: 'reference', name: 'all ready', of: (b) => last(ready(b)), target: at100(0.6) },
  { side: 'api', other: 'reference', name: 'gone, p50', of: (b) => median(gone(b)), target: at100(0.4) },
  { side: 'api', other: 'reference', name: 'all gone', of: (b) => last(gone(b)), target: at100(0.7) },
];

export function burstMeasures(loads: readonly BurstLoad[]): Measure[] {
  return loads.flatMap((load) => [...comparisons(load), ...ownFigures(load)]);
}

export function comparisons(load: BurstLoad): Measure[] {
  return compared.flatMap(({ side, other, name, of, target }) => {
    const samples = ratios(load[side], load[other], of);
    if (samples.length === 0) return [];
    const [ours, theirs] = [median(load[side].map(of)) / 1000, median(load[other].map(of)) / 1000];
    const title = `${load.pods} pods: ${name}, nodelet / ${sideTexts[other].split(',')[0]}`;
    return [
      { ...medianOf(title, 'ratio', samples, target(load.pods)), compared: { unit: 's', ours, theirs } },
    ];
  });
}

function ownFigures({ pods, api }: BurstLoad): Measure[] {
  const seconds = (name: string, of: (burst: SideBurst) => number): Measure =>
    medianOf(
      `${pods} pods: ${name}`,
      's',
      api.map((burst) => of(burst) / 1000),
    );
  const cpu = (name: string, of: 'start' | 'end'): Measure =>
    medianOf(
      `${pods} pods: ${name}`,
      'ms',
      api.flatMap(({ cpuMs }) => (cpuMs === undefined ? [] : [cpuMs[of]])),
    );
  const steps = (what: string, found: readonly StepFigure<string>[]): Measure[] =>
    found.map(({ step, p50Ms }) => ({
      name: `${pods} pods: ${what}, ${step}, p50`,
      value: p50Ms,
      unit: 'ms',
    }));
  return [
    seconds('API: ready, p50', (burst) => median(ready(burst))),
    seconds('API: ready, p99', (burst) => p99(ready(burst))),
    seconds('API: gone, p50', (burst) => median(gone(burst))),
    seconds('API: gone, p99', (burst) => p99(gone(burst))),
    cpu('API: CPU to start, a pod', 'start'),
    cpu('API: CPU to end, a pod', 'end'),
    ...steps('start', startFigures(api)),
    ...steps('end', endFigures(api)),
  ];
}
