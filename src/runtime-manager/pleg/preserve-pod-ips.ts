/** Keeps a pod's addresses when the runtime reports none. */
import type { ObservedPodStatus } from '../../cri/index.js';

/** A pod whose sandboxes have all ended keeps its last known addresses. */
export function preservePodIps(
  status: ObservedPodStatus,
  cached: { readonly status: ObservedPodStatus } | { readonly error: Error },
): ObservedPodStatus {
  if (status.ips.length > 0 || status.sandboxes.some((sandbox) => sandbox.ready)) return status;
  if ('error' in cached || cached.status.ips.length === 0) return status;
  return { ...status, ips: cached.status.ips };
}
