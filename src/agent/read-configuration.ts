/** The configuration of an agent on this machine: its flags, and the files that they name. */
import { readdir, readFile } from 'node:fs/promises';
import type { LoadOutcome } from '../config/index.js';

export interface ConfigurationSource {
  /** The flags of the reference kubelet, without the program's own name. */
  readonly argv: readonly string[];
  /**
   * The directory that `--config` and `--config-dir` are relative to.
   * @default process.cwd()
   */
  readonly cwd?: string;
}

/** Throws a ConfigurationError whose message is for the user. Flags may ask for help or the version instead of a run. */
export async function readConfiguration({
  argv,
  cwd = process.cwd(),
}: ConfigurationSource): Promise<LoadOutcome> {
  // Loaded here: most of those who import the agent never read a configuration.
  const { readMachineFacts } = await import('../runtime-manager/config/machine-facts.js');
  const { loadConfiguration } = await import('../config/load.js');
  const { CpuSet } = await import('../kube/index.js');
  const { onlineCpus } = await import('./cgroup-limits.js');
  const { cgroupVersion } = await readMachineFacts();
  const online = onlineCpus();
  return await loadConfiguration({
    argv,
    cwd,
    host: { cgroupVersion, ...(online === undefined ? {} : { onlineCpus: [...CpuSet.parse(online)] }) },
    readFile: (file) => readFile(file, 'utf8'),
    listDir: async (dir) =>
      (await readdir(dir, { withFileTypes: true })).map((entry) => ({
        name: entry.name,
        isDirectory: entry.isDirectory(),
      })),
  });
}
