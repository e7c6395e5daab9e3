/** What each eviction signal is about, and how it is read from one look at the node. */
import type { EvictionSignal } from '../../kube/index.js';
import type { FsStats, NodeStatsSummary, StatsTime } from '../stats/index.js';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';
/** What the node is short of, as users are told. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export interface SignalFacts {
  readonly condition: PressureCondition;
  readonly resource: StarvedResource;
  readonly unit: 'bytes' | 'count';
}

const memory: SignalFacts = { condition: 'MemoryPressure', resource: 'memory', unit: 'bytes' };
const disk: SignalFacts = { condition: 'DiskPressure', resource: 'ephemeral-storage', unit: 'bytes' };
const inodes: SignalFacts = { condition: 'DiskPressure', resource: 'inodes', unit: 'count' };

export const signalFacts: Readonly<Record<EvictionSignal, SignalFacts>> = {
  'memory.available': memory,
  'allocatableMemory.available': memory,
  'nodefs.available': disk,
  'nodefs.inodesFree': inodes,
  'imagefs.available': disk,
  'imagefs.inodesFree': inodes,
  'containerfs.available': disk,
  'containerfs.inodesFree': inodes,
  'pid.available': { condition: 'PIDPressure', resource: 'pids', unit: 'count' },
};

export interface SignalReading {
  /** Negative where more is used than there may be. */
  readonly available: number;
  readonly capacity: number;
  /** When it was measured; undefined if nobody knows. */
  readonly atMs: number | undefined;
}

/** A signal that could not be read is missing, and its thresholds are never met. */
export type SignalReadings = ReadonlyMap<EvictionSignal, SignalReading>;

export interface NodeFigures {
  readonly node: NodeStatsSummary;
  /** The machine's memory, and what all pods together may use; undefined for no limit. */
  readonly memoryLimitBytes: number | undefined;
  readonly podsMemoryLimitBytes: number | undefined;
  /** Memory that is set aside as huge pages, which nothing else can use. */
  readonly hugePagesBytes: number;
  readonly nowMs: number;
}

export function readSignals(figures: NodeFigures): SignalReadings {
  const { node, hugePagesBytes, nowMs } = figures;
  const found = new Map<EvictionSignal, SignalReading>();
  const add = (signal: EvictionSignal, reading: SignalReading | undefined): void => {
    if (reading !== undefined) found.set(signal, reading);
  };
  add('memory.available', nodeMemory(node, figures.memoryLimitBytes, hugePagesBytes));
  const pods = node.systemContainers?.find(({ name }) => name === 'pods')?.memory;
  add('allocatableMemory.available', memoryBelow(figures.podsMemoryLimitBytes, pods));
  for (const [name, fs] of [
    ['nodefs', node.fs],
    ['imagefs', node.runtime?.imageFs],
    ['containerfs', node.runtime?.containerFs],
  ] as const) {
    add(`${name}.available`, reading(fs, fs?.availableBytes, fs?.capacityBytes));
    add(`${name}.inodesFree`, reading(fs, fs?.inodesFree, fs?.inodes));
  }
  const { maxpid, curproc } = node.rlimit ?? {};
  if (maxpid !== undefined && curproc !== undefined) {
    add('pid.available', { available: maxpid - curproc, capacity: maxpid, atMs: nowMs });
  }
  return found;
}

interface MemoryUse {
  readonly workingSetBytes?: number;
  readonly time: StatsTime;
}

function nodeMemory(
  node: NodeStatsSummary,
  limitBytes: number | undefined,
  hugePagesBytes: number,
): SignalReading | undefined {
  const whole = memoryBelow(limitBytes, node.memory);
  const used = node.memory?.workingSetBytes;
  if (whole === undefined || used === undefined) return undefined;
  const available = Math.max(whole.available - hugePagesBytes, 0);
  return { ...whole, available, capacity: available + used };
}

function memoryBelow(limitBytes: number | undefined, use: MemoryUse | undefined): SignalReading | undefined {
  if (limitBytes === undefined || use?.workingSetBytes === undefined) return undefined;
  return { available: limitBytes - use.workingSetBytes, capacity: limitBytes, atMs: timeMs(use.time) };
}

function reading(
  fs: FsStats | undefined,
  available: number | undefined,
  capacity: number | undefined,
): SignalReading | undefined {
  if (fs === undefined || available === undefined || capacity === undefined) return undefined;
  return { available, capacity, atMs: timeMs(fs.time) };
}

function timeMs(time: StatsTime): number | undefined {
  return time === null ? undefined : Date.parse(time);
}
