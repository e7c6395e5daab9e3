/** How much swap a container may use. */
import { type AnyContainer, isCriticalPod, type Pod, qosClass, quantityUnits } from '../../kube/index.js';
import type { RuntimeSettings } from './settings.js';

export interface SwapResources {
  readonly unified: Readonly<Record<string, string>>;
  /** cgroup v1 only: memory and swap together. */
  readonly memorySwapLimitInBytes?: number;
}

type SwapNode = Pick<RuntimeSettings, 'swap' | 'cgroupVersion' | 'memoryCapacityBytes'>;

export function swapResources(
  pod: Pod,
  container: AnyContainer,
  memoryLimitBytes: number,
  settings: SwapNode,
): SwapResources {
  if (!settings.swap.isControllerAvailable) return { unified: {} };
  if (settings.cgroupVersion === 1) {
    return { unified: {}, ...(memoryLimitBytes > 0 ? { memorySwapLimitInBytes: memoryLimitBytes } : {}) };
  }
  return { unified: { 'memory.swap.max': String(swapLimitBytes(pod, container, settings)) } };
}

/** The node's swap in proportion to the container's share of memory; 0 for those that may not swap. */
function swapLimitBytes(pod: Pod, container: AnyContainer, settings: SwapNode): number {
  const { swap, memoryCapacityBytes } = settings;
  if (swap.behavior !== 'LimitedSwap') return 0;
  if (qosClass(pod) !== 'Burstable' || isCriticalPod(pod)) return 0;
  const requestBytes = quantityUnits(container.resources?.requests?.memory);
  const limitBytes = quantityUnits(container.resources?.limits?.memory);
  // Also equal when both are absent.
  if (requestBytes === limitBytes) return 0;
  if (memoryCapacityBytes <= 0 || requestBytes > memoryCapacityBytes) return 0;
  return Math.floor((requestBytes / memoryCapacityBytes) * swap.capacityBytes);
}
