/** Memory protection and throttling of containers by cgroup v2 (feature gate MemoryQoS). */
import { quantityUnits } from '../../kube/index.js';
import type { RuntimeSettings } from './settings.js';

export interface ContainerMemory {
  readonly requestBytes: number;
  /** 0 when there is no limit. */
  readonly limitBytes: number;
  /** Whether the pod's QoS class is Guaranteed. */
  readonly isGuaranteed: boolean;
}

/** The cgroup files to write; none when the feature is off. */
export function memoryQosSettings(
  { requestBytes, limitBytes, isGuaranteed }: ContainerMemory,
  settings: Pick<RuntimeSettings, 'memoryQos' | 'cgroupVersion' | 'pageSizeBytes' | 'nodeAllocatable'>,
): Record<string, string> {
  const { memoryQos, pageSizeBytes } = settings;
  if (!memoryQos.enabled || settings.cgroupVersion !== 2) return {};
  const files: Record<string, string> = {};
  if (memoryQos.reservationPolicy === 'TieredReservation' && requestBytes !== 0) {
    files[isGuaranteed ? 'memory.min' : 'memory.low'] = String(requestBytes);
  } else {
    files['memory.min'] = '0';
    files['memory.low'] = '0';
  }
  if (requestBytes !== limitBytes) {
    const ceilingBytes = limitBytes !== 0 ? limitBytes : quantityUnits(settings.nodeAllocatable.memory);
    const targetBytes = requestBytes + (ceilingBytes - requestBytes) * memoryQos.throttlingFactor;
    const highBytes = Math.floor(targetBytes / pageSizeBytes) * pageSizeBytes;
    if (highBytes > requestBytes) files['memory.high'] = String(highBytes);
  }
  return files;
}
