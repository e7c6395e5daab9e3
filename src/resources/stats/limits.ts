/** Bounds on what is read and shown of things that pods can make many of. */

export interface StatsLimits {
  /** Of one file of the kernel. */
  readonly fileBytes: number;
  /** Shown by one scrape; those nearest to the top come first. */
  readonly cgroups: number;
  /** Levels below the cgroup of all pods, or of another that is configured. */
  readonly depth: number;
  /** Of one network namespace. */
  readonly interfaces: number;
  /** Of one cgroup. */
  readonly devices: number;
  /** Of one cgroup whose open files are counted. */
  readonly processes: number;
  /** Of one cgroup, listed to count them. A process may have a million, and listing them takes more than a second. */
  readonly listedDescriptors: number;
  /** Of one cgroup, looked at to tell which are sockets. */
  readonly descriptors: number;
  /** Of cgroups, that stay open between two scrapes; each holds a page of the kernel's memory. */
  readonly keptFiles: number;
  /** That are asked how full they are. */
  readonly fileSystems: number;
}

export const statsLimits: StatsLimits = {
  fileBytes: 1024 * 1024,
  cgroups: 8_192,
  depth: 16,
  interfaces: 64,
  devices: 64,
  processes: 1_024,
  listedDescriptors: 32_768,
  descriptors: 8_192,
  keptFiles: 6_144,
  fileSystems: 256,
};
