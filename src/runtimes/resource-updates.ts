/** Merges UpdateContainerResources into a container's resources. */
import type { LinuxContainerResources } from '../cri/index.js';

/** An update sets its own fields and keeps the others. */
export function mergeResources(
  current: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  if (current === undefined) return update;
  return {
    cpuPeriod: update.cpuPeriod || current.cpuPeriod,
    cpuQuota: update.cpuQuota || current.cpuQuota,
    cpuShares: update.cpuShares || current.cpuShares,
    memoryLimitInBytes: update.memoryLimitInBytes || current.memoryLimitInBytes,
    oomScoreAdj: current.oomScoreAdj,
    cpusetCpus: update.cpusetCpus || current.cpusetCpus,
    cpusetMems: update.cpusetMems || current.cpusetMems,
    hugepageLimits: update.hugepageLimits.length > 0 ? update.hugepageLimits : current.hugepageLimits,
    unified: { ...current.unified, ...update.unified },
    memorySwapLimitInBytes: update.memorySwapLimitInBytes || current.memorySwapLimitInBytes,
  };
}
