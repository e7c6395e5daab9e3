/** What the configuration says about the cgroups of pods: pure translations, for the cgroups and for forecasts of them. */
import type { LoadedConfiguration } from '../config/index.js';
import { cpuShares, type Pod } from '../kube/index.js';
import type { CgroupTable } from '../kubelet/index.js';
import {
  type CgroupValues,
  type NodeLimits,
  type PodCgroupSettings,
  type PodMemoryQos,
  podCgroupValues,
  reservedPlans,
  reservedValues,
} from '../resources/cgroups/index.js';
import { unreservedLimits } from './cgroup-limits.js';

type Reservations = Pick<
  LoadedConfiguration['config'],
  'enforceNodeAllocatable' | 'systemReserved' | 'kubeReserved'
>;
type CgroupConfiguration = Pick<LoadedConfiguration, 'config' | 'featureGates' | 'standalone' | 'explicit'>;

/** Setting any of these opts in to pod cgroups. */
const cgroupFields = ['cgroupsPerQOS', 'cgroupRoot', 'enforceNodeAllocatable', 'podPidsLimit'];
const usualPageSizeBytes = 4096;

/** Without a cluster nobody counts on cgroups of pods, so the agent makes them only when they are asked for by name. */
export function makesPodCgroups({ config, standalone, explicit }: CgroupConfiguration): boolean {
  return config.cgroupsPerQOS && (!standalone || cgroupFields.some((field) => explicit.has(field)));
}

export interface CgroupKernel {
  readonly version: number;
  /** Absent where the kernel does not tell. */
  readonly pageSizeBytes?: number | undefined;
}

/** Undefined without the gate MemoryQoS and version 2. */
export function memoryQosOf(
  { config, featureGates }: Pick<CgroupConfiguration, 'config' | 'featureGates'>,
  { version, pageSizeBytes = usualPageSizeBytes }: CgroupKernel,
): PodMemoryQos | undefined {
  if (!featureGates.enabled('MemoryQoS') || version !== 2) return undefined;
  const { memoryReservationPolicy: policy, memoryThrottlingFactor: throttlingFactor } = config;
  return { policy, throttlingFactor, pageSizeBytes };
}

export function podCgroupSettings(
  { config }: Pick<CgroupConfiguration, 'config'>,
  memoryQos: PodMemoryQos | undefined,
): PodCgroupSettings {
  return {
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodMs: config.cpuCFSQuotaPeriod,
    podPidsLimit: config.podPidsLimit,
    memoryQos,
  };
}

/** What all pods together may use. */
export function limitsOfPods(
  { config }: { readonly config: Reservations },
  capacity: NodeLimits,
): NodeLimits {
  return config.enforceNodeAllocatable.includes('pods') ? unreservedLimits(capacity, config) : capacity;
}

/** The values that cgroups would get; none where the agent makes none. */
export function cgroupTable(
  configuration: CgroupConfiguration,
  { capacity, ...kernel }: CgroupKernel & { readonly capacity: NodeLimits },
  pods: readonly Pod[],
): CgroupTable {
  const table = new Map<string, Readonly<Record<string, string>>>();
  if (!makesPodCgroups(configuration)) return table;
  const { config } = configuration;
  const memoryQos = memoryQosOf(configuration, kernel);
  const limits = limitsOfPods(configuration, capacity);
  table.set(
    'all pods',
    valueTexts({
      cpuShares: cpuShares(limits.milliCpu),
      memoryLimitBytes: limits.memoryBytes,
      pidsLimit: limits.pids,
      hugePages: limits.hugePages,
    }),
  );
  for (const plan of reservedPlans({ ...config, enforced: config.enforceNodeAllocatable })) {
    table.set(plan.cgroup, valueTexts(reservedValues(plan, { protectsMemory: memoryQos !== undefined })));
  }
  const settings = podCgroupSettings(configuration, memoryQos);
  for (const pod of pods) {
    const { namespace, name } = pod.metadata;
    table.set(`pod ${namespace}/${name}`, valueTexts(podCgroupValues(pod, settings)));
  }
  return table;
}

function valueTexts(values: CgroupValues): Readonly<Record<string, string>> {
  const { cpuShares: shares, cpuQuota, memoryLimitBytes, pidsLimit, unified } = values;
  const limit = (value: number): string => (value < 0 ? 'none' : String(value));
  return {
    ...(shares === undefined ? {} : { 'CPU shares': String(shares) }),
    ...(cpuQuota === undefined
      ? {}
      : { 'CPU quota': `${limit(cpuQuota.quotaMicros)} per ${cpuQuota.periodMicros} µs` }),
    ...(memoryLimitBytes === undefined ? {} : { 'memory limit': limit(memoryLimitBytes) }),
    ...(pidsLimit === undefined ? {} : { 'process limit': limit(pidsLimit) }),
    ...unified,
  };
}
