/** The node's facts and settings that the configs of sandboxes and containers depend on. */
import type { ResourceList } from '../../kube/index.js';

export type SwapBehavior = 'NoSwap' | 'LimitedSwap';

export interface SwapSettings {
  /** LimitedSwap gives burstable containers a share of the node's swap; NoSwap gives none. */
  readonly behavior: SwapBehavior;
  /** The node's total swap. */
  readonly capacityBytes: number;
  /** False when the kernel has no swap controller; then the config does not set swap. */
  readonly isControllerAvailable: boolean;
}

export interface MemoryQosSettings {
  /** The feature gate MemoryQoS; it has an effect on cgroup v2 only. */
  readonly enabled: boolean;
  /** Where `memory.high` lies between request and limit, above 0 and up to 1; undefined for nowhere. */
  readonly throttlingFactor: number | undefined;
  /** The machine's memory without what is reserved; the limit of containers without one. */
  readonly unreservedBytes: number;
  /** TieredReservation protects the request with `memory.min` or `memory.low`. */
  readonly reservationPolicy: 'None' | 'TieredReservation';
}

/** Plain values; a change of one of them needs a new object. */
export interface RuntimeSettings {
  /** The name of the node object. */
  readonly nodeName: string;
  /**
   * The agent's root directory; pods live below `<rootDir>/pods`, seccomp profiles in `<rootDir>/seccomp`.
   */
  readonly rootDir: string;
  /** Where the runtime writes container logs. */
  readonly podLogsDir: string;
  /** The addresses given by `--node-ip`; the first one sets the primary family. */
  readonly nodeIps: readonly string[];
  /** The addresses of the node as pods see them (`status.hostIPs`), primary first. */
  readonly hostIps: readonly string[];
  /** The domain of cluster services; empty when there is none. */
  readonly clusterDomain: string;
  /** The name servers of the cluster. */
  readonly clusterDns: readonly string[];
  /** The node's resolver file; empty: pods get no DNS from the node. */
  readonly resolvConf: string;
  /** The node's hosts file, which host-network pods see. */
  readonly hostsFile: string;
  /** Whether CPU limits are enforced by quota. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** Whether containers without a seccomp profile get the runtime's default instead of none. */
  readonly seccompDefault: boolean;
  /** The node's total memory; the scale of OOM scores. */
  readonly memoryCapacityBytes: number;
  /** What the node offers to pods; `limits.*` of unlimited containers show this value. */
  readonly nodeAllocatable: ResourceList;
  readonly swap: SwapSettings;
  readonly cgroupVersion: 1 | 2;
  /** When false, the kernel kills all processes of a container together (cgroup v2 only). */
  readonly singleProcessOomKill: boolean;
  readonly memoryQos: MemoryQosSettings;
  /** The size of a memory page. */
  readonly pageSizeBytes: number;
  /** The huge page sizes of the kernel in its cgroup notation: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  readonly isSelinuxEnabled: boolean;
  readonly isAppArmorEnabled: boolean;
  /** CPU files that would tell one container about others; masked like the other paths. */
  readonly thermalThrottlePaths: readonly string[];
  /** The feature gate ContainerStopSignals: whether `lifecycle.stopSignal` is honoured. */
  readonly containerStopSignals: boolean;
  /** Kernel parameters of pods that do not set them, by name; see `defaultPodSysctls`. */
  readonly defaultPodSysctls: Readonly<Record<string, string>>;
}

/** The required settings; everything else has a default. */
export type RuntimeSettingsOptions = Pick<RuntimeSettings, 'nodeName'> & Partial<RuntimeSettings>;

/** The defaults of an unconfigured node. Those about the machine itself come from `readMachineFacts`. */
const defaults: Omit<RuntimeSettings, 'nodeName'> = {
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  nodeIps: [],
  hostIps: [],
  clusterDomain: '',
  clusterDns: [],
  resolvConf: '/etc/resolv.conf',
  hostsFile: '/etc/hosts',
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodMs: 100,
  seccompDefault: false,
  memoryCapacityBytes: 0,
  nodeAllocatable: {},
  swap: { behavior: 'NoSwap', capacityBytes: 0, isControllerAvailable: false },
  cgroupVersion: 2,
  singleProcessOomKill: false,
  memoryQos: { enabled: false, throttlingFactor: undefined, unreservedBytes: 0, reservationPolicy: 'None' },
  pageSizeBytes: 4096,
  hugePageSizes: [],
  isSelinuxEnabled: false,
  isAppArmorEnabled: false,
  thermalThrottlePaths: [],
  containerStopSignals: false,
  defaultPodSysctls: {},
};

export function runtimeSettings(options: RuntimeSettingsOptions): RuntimeSettings {
  return { ...defaults, ...options };
}
