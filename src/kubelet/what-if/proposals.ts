/** How a kubelet gets to know a configuration that it does not have. */
import type { FeatureGates, KubeletConfiguration } from '../../config/index.js';
import type { Pod } from '../../kube/index.js';

/** Values by what they are called, of each cgroup. */
export type CgroupTable = ReadonlyMap<string, Readonly<Record<string, string>>>;

export interface ProposedConfiguration {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly warnings: readonly string[];
  /** Whether pods would be evicted at all. */
  readonly evicts: boolean;
  cgroups(pods: readonly Pod[]): { readonly before: CgroupTable; readonly after: CgroupTable };
}

export interface ConfigProposals {
  /** The configuration file that the agent has; undefined without one. */
  readonly currentFile: string | undefined;
  /**
   * Takes the text as the content of the file, whose name only counts for errors and relative paths. Rejects with a
   * ConfigurationError for what cannot be used.
   */
  read(file: string, text: string): Promise<ProposedConfiguration>;
}
