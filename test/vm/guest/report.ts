/** What the program in the virtual machine tells the test, as `results.json` on its disk. */

/** A cgroup's files by their names, and the names of the cgroups below it. */
export interface CgroupFacts {
  readonly files: Readonly<Record<string, string>>;
  readonly below: readonly string[];
}

export interface ContainerFacts {
  readonly id: string;
  readonly cgroup: string;
}

export interface GuestReport {
  /** `systemctl show`, by unit. */
  readonly units: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By their paths below the mount of cgroup v2. */
  readonly cgroups: Readonly<Record<string, CgroupFacts>>;
  /** By the names of their pods. */
  readonly containers: Readonly<Record<string, ContainerFacts>>;
  /** The same after the agent was killed and came back. */
  readonly containersAfterKill: Readonly<Record<string, ContainerFacts>>;
  /** Whether the watchdog was fed between two looks that are longer apart than its time. */
  readonly watchdogFed: boolean;
  readonly inhibitors: string;
  readonly oomReason: string;
  /** The process id of the agent, before and after it was killed. */
  readonly agentPids: readonly [string, string];
  /** What systemd says against the unit of the package. */
  readonly unitComplaints: string;
  /** Whether systemd starts the agent at boot: after the installation, and after the removal. */
  readonly enabled: readonly [string, string];
  /** The unit after it was disabled and stopped. */
  readonly stopped: Readonly<Record<string, string>>;
  /** The unit after its file and the package were removed. */
  readonly removed: Readonly<Record<string, string>>;
  /** The containers that ran on without an agent. */
  readonly containersWithoutAgent: readonly string[];
  /** The containers that the agent found when it was installed again. */
  readonly containersAfterInstall: Readonly<Record<string, ContainerFacts>>;
  /** The lines that the unit has written to the journal. */
  readonly journal: string;
}
