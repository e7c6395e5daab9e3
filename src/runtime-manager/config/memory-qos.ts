/** Memory protection and throttling of containers by cgroup v2 (feature gate MemoryQoS). */
import type { RuntimeSettings } from './settings.js';

export interface ContainerMemory {
  readonly requestBytes: number;
  /** The container's own limit; 0 when there is none. */
  readonly limitBytes: number;
  /** Whether the pod as a whole has a limit; then the pod's cgroup slows it down. */
  readonly isPodLimited: boolean;
  /** Whether the pod's QoS class is Guaranteed. */
  readonly isGuaranteed: boolean;
}

/** The cgroup files to write; none on version 1. */
export function memoryQosSettings(
  memory: ContainerMemory,
  settings: Pick<RuntimeSettings, 'memoryQos' | 'cgroupVersion' | 'pageSizeBytes'>,
): Record<string, string> {
  const { memoryQos } = settings;
  if (settings.cgroupVersion !== 2) return {};
  // Takes back what the same container got while the feature was on.
  if (!memoryQos.enabled) return { 'memory.high': 'max' };
  const { requestBytes, isGuaranteed } = memory;
  const files: Record<string, string> = {};
  if (memoryQos.reservationPolicy === 'TieredReservation' && requestBytes !== 0) {
    files[isGuaranteed ? 'memory.min' : 'memory.low'] = String(requestBytes);
  } else {
    files['memory.min'] = '0';
    files['memory.low'] = '0';
  }
  const highBytes = throttledBytes(memory, settings);
  if (highBytes !== undefined) files['memory.high'] = String(highBytes);
  return files;
}

/** From where memory is reclaimed from the container before it reaches its limit; undefined for nowhere. */
function throttledBytes(
  { requestBytes, limitBytes, isPodLimited }: ContainerMemory,
  { memoryQos, pageSizeBytes }: Pick<RuntimeSettings, 'memoryQos' | 'pageSizeBytes'>,
): number | undefined {
  const { throttlingFactor, unreservedBytes } = memoryQos;
  if (throttlingFactor === undefined) return undefined;
  if (limitBytes === 0 ? isPodLimited : requestBytes === limitBytes) return undefined;
  const ceilingBytes = limitBytes !== 0 ? limitBytes : unreservedBytes;
  const targetBytes = Math.floor(requestBytes + (ceilingBytes - requestBytes) * throttlingFactor);
  const highBytes = Math.floor(targetBytes / pageSizeBytes) * pageSizeBytes;
  return highBytes > requestBytes ? highBytes : undefined;
}
