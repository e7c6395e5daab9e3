/** The thresholds of a node: those of its configuration, those that follow from them, and when one of them is met. */
import { type EvictionSignal, type EvictionThreshold, thresholdUnits } from '../../kube/index.js';
import type { FileSystemLayout } from './layout.js';
import { type SignalReadings, signalFacts } from './signals.js';

/** A hard threshold acts at once. */
export function isHard({ graceMs }: EvictionThreshold): boolean {
  return graceMs === 0;
}

/** Every hard threshold of the machine's memory holds for the memory of all pods, too. */
export function withAllocatableMemory(
  thresholds: readonly EvictionThreshold[],
): readonly EvictionThreshold[] {
  const copies = thresholds
    .filter((threshold) => isHard(threshold) && threshold.signal === 'memory.available')
    .map((threshold): EvictionThreshold => ({ ...threshold, signal: 'allocatableMemory.available' }));
  return [...thresholds, ...copies];
}

export interface LaidOutThresholds {
  readonly thresholds: readonly EvictionThreshold[];
  /** Configured signals that follow from the layout instead, so that what was configured does not count. */
  readonly ignored: readonly EvictionSignal[];
}

/** The files of containers share the fate of the file system that they are on. */
export function withContainerFs(
  thresholds: readonly EvictionThreshold[],
  { dedicated, split }: FileSystemLayout,
  looksAtContainerFs = true,
): LaidOutThresholds {
  if (!looksAtContainerFs) {
    const others = thresholds.filter(({ signal }) => !signal.startsWith('containerfs.'));
    return { thresholds: others, ignored: [] };
  }
  if (split && !dedicated) return { thresholds, ignored: [] };
  const source = dedicated && !split ? 'imagefs' : 'nodefs';
  const kept = thresholds.filter(({ signal }) => !signal.startsWith('containerfs.'));
  const copies = kept
    .filter(({ signal }) => signal.startsWith(`${source}.`))
    .map((threshold): EvictionThreshold => {
      const signal = threshold.signal.endsWith('.available')
        ? 'containerfs.available'
        : 'containerfs.inodesFree';
      return { ...threshold, signal };
    });
  const ignored = thresholds.filter((threshold) => !kept.includes(threshold)).map(({ signal }) => signal);
  return { thresholds: [...kept, ...copies], ignored: [...new Set(ignored)] };
}

/** Whether less is available than there must be; `withReclaim` asks for the minimum to reclaim on top. */
export function isMet(
  threshold: EvictionThreshold,
  readings: SignalReadings,
  { withReclaim = false }: { readonly withReclaim?: boolean } = {},
): boolean {
  const reading = readings.get(threshold.signal);
  if (reading === undefined) return false;
  const { value, minReclaim } = threshold;
  const wanted = thresholdUnits(value, reading.capacity);
  const more = withReclaim && minReclaim ? thresholdUnits(minReclaim, reading.capacity) : 0;
  return wanted + more > reading.available;
}

/** Whether less than twice the threshold of memory is left. */
export function isMemoryNear({ signal, value }: EvictionThreshold, readings: SignalReadings): boolean {
  const reading = readings.get(signal);
  if (signalFacts[signal].resource !== 'memory' || reading === undefined) return false;
  return reading.available < 2 * thresholdUnits(value, reading.capacity);
}
