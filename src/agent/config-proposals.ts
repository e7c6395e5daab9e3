/** Reads a file as if it were the agent's configuration file, for forecasts; nothing of the agent changes. */
import path from 'node:path';
import type { LoadedConfiguration } from '../config/index.js';
import type { ConfigProposals } from '../kubelet/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import { machineLimits } from './cgroup-limits.js';
import { cgroupTable } from './cgroup-settings.js';
import { evicts } from './eviction-choice.js';

export function configProposals(
  current: LoadedConfiguration,
  {
    host,
    cgroupDriver,
  }: {
    readonly host: Pick<MachineFacts, 'memoryCapacityBytes' | 'cgroupVersion' | 'pageSizeBytes'>;
    readonly cgroupDriver: string;
  },
): ConfigProposals {
  const { config: currentFile } = current.flags;
  return {
    currentFile: currentFile === '' ? undefined : path.resolve(currentFile),
    async read(file, text) {
      const proposed = await current.tryFile(file, text);
      const machine = {
        capacity: machineLimits(host.memoryCapacityBytes),
        version: host.cgroupVersion,
        pageSizeBytes: host.pageSizeBytes,
      };
      return {
        // What the runtime says of its driver wins, now and then.
        config: { ...proposed.config, cgroupDriver },
        gates: proposed.featureGates,
        warnings: proposed.warnings,
        evicts: evicts(proposed),
        cgroups: (pods) => ({
          before: cgroupTable(current, machine, pods),
          after: cgroupTable(proposed, machine, pods),
        }),
      };
    },
  };
}
