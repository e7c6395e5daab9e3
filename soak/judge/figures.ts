/** The figures of a soak: what is plotted, which of them are judged at the quiet points, and how little of each is no drift. */
import type { Schedule } from '../plan/plan.js';
import { type Drift, driftOf } from './drift.js';

export type Unit = 'bytes' | 'count' | 'ms' | 'per second' | 'ms per second';

export interface Figure {
  readonly name: string;
  readonly title: string;
  readonly unit: Unit;
  /** Of one process, which begins anew with every life of the agent, or of the machine, which outlives them all. */
  readonly of: 'process' | 'machine';
  /** Judged at the quiet points; a rise of less is no drift. Without one the figure is only shown. */
  readonly floor?: number;
}

const MiB = 1024 * 1024;

export const figures: readonly Figure[] = [
  { name: 'rssBytes', title: 'RSS of the agent', unit: 'bytes', of: 'process', floor: 4 * MiB },
  { name: 'heapBytes', title: 'Heap after a collection', unit: 'bytes', of: 'process', floor: MiB },
  { name: 'externalBytes', title: 'Memory outside the heap', unit: 'bytes', of: 'process', floor: MiB },
  { name: 'handles', title: 'Open handles', unit: 'count', of: 'process', floor: 3 },
  { name: 'resources', title: 'What keeps the event loop alive', unit: 'count', of: 'process', floor: 5 },
  { name: 'threads', title: 'Threads', unit: 'count', of: 'process', floor: 3 },
  { name: 'cpuMsPerSecond', title: 'CPU', unit: 'ms per second', of: 'process', floor: 10 },
  {
    name: 'runtimeCallsPerSecond',
    title: 'Calls to the runtime',
    unit: 'per second',
    of: 'process',
    floor: 0.5,
  },
  {
    name: 'apiCallsPerSecond',
    title: 'Calls to the API server',
    unit: 'per second',
    of: 'process',
    floor: 0.5,
  },
  { name: 'loopDelayMs', title: 'Event loop delay, 99th percentile', unit: 'ms', of: 'process' },
  { name: 'mounts', title: 'Mounts below the root directory', unit: 'count', of: 'machine', floor: 1 },
  { name: 'cgroups', title: 'Cgroups of pods and containers', unit: 'count', of: 'machine', floor: 1 },
  { name: 'sandboxes', title: 'Sandboxes', unit: 'count', of: 'machine', floor: 1 },
  { name: 'containers', title: 'Containers', unit: 'count', of: 'machine', floor: 1 },
  // What a killed runtime forgot of these is told apart: nobody can ask it to remove that.
  { name: 'shims', title: 'Shims', unit: 'count', of: 'machine' },
  { name: 'networkNamespaces', title: 'Network namespaces', unit: 'count', of: 'machine' },
  { name: 'links', title: 'Links of pods', unit: 'count', of: 'machine' },
  { name: 'addresses', title: 'Addresses of pods', unit: 'count', of: 'machine' },
  { name: 'packetRules', title: 'Packet rules', unit: 'count', of: 'machine' },
  { name: 'rootFiles', title: 'Files below the root directory', unit: 'count', of: 'machine', floor: 10 },
  // The timeline is a ring with a bound of its own, which a soak of hours reaches and a short one does not.
  {
    name: 'rootBytesBesideTimeline',
    title: 'Bytes below the root directory, without the timeline',
    unit: 'bytes',
    of: 'machine',
    floor: MiB / 4,
  },
  { name: 'timelineBytes', title: 'Bytes of the timeline', unit: 'bytes', of: 'machine' },
  { name: 'logFiles', title: 'Files below the logs', unit: 'count', of: 'machine', floor: 10 },
  { name: 'logLinks', title: 'Links to logs', unit: 'count', of: 'machine', floor: 3 },
  { name: 'logBytes', title: 'Bytes of logs', unit: 'bytes', of: 'machine', floor: MiB / 4 },
];

/** The most that the timeline may take on the disk. */
export const timelineLimitBytes = 8 * MiB;

/** What the heap of an agent takes to become flat under churn: it is compiled code and the record of pods that are gone. */
const youthMs = 15 * 60_000;

export type FigureValues = Readonly<Record<string, number>>;

export interface QuietPoint {
  readonly cycle: number;
  readonly atMs: number;
  readonly life: number;
  /** Quiet points of the same life before this one. */
  readonly age: number;
  readonly settledAfterMs: number;
  readonly values: FigureValues;
}

export interface JudgedFigure {
  readonly figure: Figure;
  readonly drift: Drift;
}

/**
 * The figures with a floor, over the quiet points after the warm-up. A process has a warm-up of its own: its code is compiled
 * and its bounded records fill, so the first quarter of each life, at least 15 minutes, is left out for its figures.
 */
export function judgeFigures(
  points: readonly QuietPoint[],
  { warmUpCycles, lifeCycles }: Pick<Schedule, 'warmUpCycles' | 'lifeCycles'>,
): JudgedFigure[] {
  const youth = Math.ceil(lifeCycles / 4);
  const births = new Map<number, number>();
  for (const { life, atMs } of points) if (!births.has(life)) births.set(life, atMs);
  const isGrown = ({ age, atMs, life }: QuietPoint): boolean =>
    age >= youth && atMs - (births.get(life) ?? atMs) >= youthMs;
  const judged = points.filter(({ cycle }) => cycle >= warmUpCycles);
  return figures.flatMap((figure) => {
    if (figure.floor === undefined) return [];
    const values = judged
      .filter((point) => figure.of === 'machine' || isGrown(point))
      .flatMap(({ atMs, life, values: all }) => {
        const value = all[figure.name];
        return value === undefined ? [] : [{ atMs, life: figure.of === 'machine' ? 0 : life, value }];
      });
    return [{ figure, drift: driftOf(values, { floor: figure.floor }) }];
  });
}
