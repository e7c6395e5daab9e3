/** Decides the values of the cgroups that pods of one QoS class share. */
import { cpuShares, minShares, type Pod, type PodQOSClass, qosClass } from '../../kube/index.js';
import { type CgroupValues, type PodMemoryQos, requestedMemoryBytes, requestedMilliCpu } from './values.js';

/** What active pods request together. */
export interface TierDemand {
  readonly burstableMilliCpu: number;
  readonly burstableMemoryBytes: number;
  readonly guaranteedMemoryBytes: number;
}

export interface TierSettings {
  readonly version: 1 | 2;
  /** Absent where the kernel or the configuration has none. */
  readonly memoryQos?: PodMemoryQos;
  /** Which part of requested memory the classes below cannot have. */
  readonly withheldMemory?: {
    readonly percent: number;
    /** The machine's memory without what is reserved for others than pods. */
    readonly allocatableBytes: number;
  };
}

/** The values of all pods, of Burstable and of BestEffort ones. */
export interface TierPlan {
  readonly pods: CgroupValues;
  readonly burstable: CgroupValues;
  readonly bestEffort: CgroupValues;
}

export type Tier = keyof TierPlan;

interface PodDemand {
  readonly qos: PodQOSClass;
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

/** A pod object never changes, so its demand is worked out once. */
const demands = new WeakMap<Pod, PodDemand>();

function demandOf(pod: Pod): PodDemand {
  const known = demands.get(pod);
  if (known !== undefined) return known;
  const demand = {
    qos: qosClass(pod),
    milliCpu: requestedMilliCpu(pod),
    memoryBytes: requestedMemoryBytes(pod),
  };
  demands.set(pod, demand);
  return demand;
}

export function tierDemand(activePods: readonly Pod[]): TierDemand {
  const all = activePods.map(demandOf);
  const sum = (qos: PodQOSClass, amount: 'milliCpu' | 'memoryBytes'): number =>
    all.reduce((total, demand) => (demand.qos === qos ? total + demand[amount] : total), 0);
  return {
    burstableMilliCpu: sum('Burstable', 'milliCpu'),
    burstableMemoryBytes: sum('Burstable', 'memoryBytes'),
    guaranteedMemoryBytes: sum('Guaranteed', 'memoryBytes'),
  };
}

/** `isFirst`: the first plan after a start also takes back protection that an earlier run gave. */
export function planTiers(demand: TierDemand, settings: TierSettings, isFirst: boolean): TierPlan {
  const hugePages = 'unlimited';
  const memory = protectedMemory(demand, settings, isFirst);
  const limits = reservedLimits(demand, settings);
  return {
    pods: { hugePages, ...memory.pods },
    burstable: {
      cpuShares: cpuShares(demand.burstableMilliCpu),
      hugePages,
      ...memory.burstable,
      ...limits.burstable,
    },
    bestEffort: { cpuShares: minShares, hugePages, ...limits.bestEffort },
  };
}

type Unified = Pick<CgroupValues, 'unified'>;

function protectedMemory(
  { guaranteedMemoryBytes, burstableMemoryBytes }: TierDemand,
  { version, memoryQos }: TierSettings,
  isFirst: boolean,
): { readonly pods: Unified; readonly burstable: Unified } {
  if (version === 1) return { pods: {}, burstable: {} };
  const low = String(burstableMemoryBytes);
  if (memoryQos?.policy === 'TieredReservation') {
    const min = String(guaranteedMemoryBytes + burstableMemoryBytes);
    return {
      pods: { unified: { 'memory.min': min, 'memory.low': low } },
      burstable: { unified: { 'memory.low': low } },
    };
  }
  if (!isFirst) return { pods: {}, burstable: {} };
  return {
    pods: { unified: { 'memory.min': '0', 'memory.low': '0' } },
    burstable: { unified: { 'memory.low': '0' } },
  };
}

type Limit = Pick<CgroupValues, 'memoryLimitBytes'>;

function reservedLimits(
  { guaranteedMemoryBytes, burstableMemoryBytes }: TierDemand,
  { withheldMemory }: TierSettings,
): { readonly burstable: Limit; readonly bestEffort: Limit } {
  if (withheldMemory === undefined || withheldMemory.percent === 0) return { burstable: {}, bestEffort: {} };
  const { percent, allocatableBytes } = withheldMemory;
  const burstable = allocatableBytes - Math.trunc((guaranteedMemoryBytes * percent) / 100);
  const bestEffort = burstable - Math.trunc((burstableMemoryBytes * percent) / 100);
  return { burstable: { memoryLimitBytes: burstable }, bestEffort: { memoryLimitBytes: bestEffort } };
}

/** The same plan with no limit below what is used, which the kernel would refuse. */
export function raiseToUsage(plan: TierPlan, usageBytes: Readonly<Record<Tier, number>>): TierPlan {
  const raised = (tier: Tier): CgroupValues => {
    const { memoryLimitBytes } = plan[tier];
    if (memoryLimitBytes === undefined || memoryLimitBytes >= usageBytes[tier]) return plan[tier];
    return { ...plan[tier], memoryLimitBytes: usageBytes[tier] };
  };
  return { pods: plan.pods, burstable: raised('burstable'), bestEffort: raised('bestEffort') };
}
