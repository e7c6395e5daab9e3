/** Decides what the node itself can give back before any pod has to go. */
import type { EvictionSignal, EvictionThreshold } from '../../kube/index.js';
import type { FileSystemLayout } from './layout.js';
import type { SignalReadings } from './signals.js';
import { isMet } from './thresholds.js';

/** Dead containers, and images that nothing uses. */
export type NodeReclaim = 'containers' | 'images';

/** In the order in which they are tried. */
export function reclaimFor(signal: EvictionSignal, { dedicated, split }: FileSystemLayout): NodeReclaim[] {
  const [place] = signal.split('.');
  if (place !== 'nodefs' && place !== 'imagefs' && place !== 'containerfs') return [];
  if (!dedicated) return ['containers', 'images'];
  if (split) return place === 'imagefs' ? ['images'] : ['containers'];
  return place === 'nodefs' ? [] : ['containers', 'images'];
}

/** Whether the node has enough of everything again, with the minimum to reclaim on top. */
export function isRelieved(thresholds: readonly EvictionThreshold[], readings: SignalReadings): boolean {
  return !thresholds.some((threshold) => isMet(threshold, readings, { withReclaim: true }));
}
