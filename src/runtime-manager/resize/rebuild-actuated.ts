/** Reconstructs from the runtime what a container was last given, if the checkpoint is lost. */
import type { ContainerResources } from '../../cri/index.js';
import {
  cpuQuotaMicros,
  cpuShares,
  quantityMillis,
  quantityUnits,
  type ResourceRequirements,
} from '../../kube/index.js';

/** A container that has what it requests, as far as the runtime reports, counts as having exactly that. */
export function requirementsInForce(
  wanted: ResourceRequirements,
  observed: ContainerResources | undefined,
): ResourceRequirements {
  const linux = observed?.linux;
  // The runtime reports nothing: assuming the desired resources changes and restarts nothing.
  if (linux === undefined) return wanted;
  const { cpuShares: shares, cpuQuota: quota, cpuPeriod: period, memoryLimitInBytes: memory } = linux;
  const wantedCpu = {
    request: quantityMillis(wanted.requests?.cpu),
    limit: quantityMillis(wanted.limits?.cpu),
  };
  const limits = { ...wanted.limits };
  const requests = { ...wanted.requests };
  if (memory > 0 && memory !== quantityUnits(limits.memory)) limits.memory = String(memory);
  if (quota > 0 && period > 0 && quota !== cpuQuotaMicros(wantedCpu.limit, period)) {
    limits.cpu = `${Math.round((quota * 1000) / period)}m`;
  }
  if (shares > 0 && shares !== cpuShares(wantedCpu.request || wantedCpu.limit)) {
    requests.cpu = `${Math.round((shares * 1000) / 1024)}m`;
  }
  return { requests, limits };
}
