/** Holds the system and Kubernetes itself to what is reserved for them, in cgroups that the administrator made. */
import { errorText } from '../../async/index.js';
import { cpuShares, quantityMillis, quantityUnits, type ResourceList } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { CgroupControl } from './control.js';
import { gapText } from './hierarchy.js';
import { type CgroupName, componentsOf, quotedName } from './names.js';
import type { CgroupValues } from './values.js';

export interface ReservedCgroupSettings {
  /** The levels of `enforceNodeAllocatable`. */
  readonly enforced: readonly string[];
  readonly systemReserved: ResourceList;
  readonly systemReservedCgroup: string;
  readonly kubeReserved: ResourceList;
  readonly kubeReservedCgroup: string;
}

/** What one cgroup is to be held to. */
export interface ReservedPlan {
  readonly scope: 'System' | 'Kube';
  readonly compressible: boolean;
  /** As the configuration has it. */
  readonly cgroup: string;
  readonly reserved: ResourceList;
}

/** The cgroups in the order in which they are held. */
export function reservedPlans(settings: ReservedCgroupSettings): readonly ReservedPlan[] {
  const { enforced, systemReserved, systemReservedCgroup, kubeReserved, kubeReservedCgroup } = settings;
  const system = { scope: 'System', cgroup: systemReservedCgroup, reserved: systemReserved } as const;
  const kube = { scope: 'Kube', cgroup: kubeReservedCgroup, reserved: kubeReserved } as const;
  const all: readonly [level: string, plan: ReservedPlan][] = [
    ['system-reserved', { ...system, compressible: false }],
    ['kube-reserved', { ...kube, compressible: false }],
    ['system-reserved-compressible', { ...system, compressible: true }],
    ['kube-reserved-compressible', { ...kube, compressible: true }],
  ];
  return all.filter(([level]) => enforced.includes(level)).map(([, plan]) => plan);
}

export interface ReservedValueContext {
  readonly cpus?: string;
  /** Whether memory is protected too: version 2 with the feature gate MemoryQoS. */
  readonly protectsMemory: boolean;
}

/** Only CPU can be taken back from a cgroup without harm; it alone is compressible. */
export function reservedValues(
  { reserved, compressible }: ReservedPlan,
  { cpus, protectsMemory }: ReservedValueContext,
): CgroupValues {
  const shared = {
    ...(reserved.cpu === undefined ? {} : { cpuShares: cpuShares(quantityMillis(reserved.cpu)) }),
    ...(cpus === undefined ? {} : { cpus }),
    hugePages: new Map<string, number>(),
  };
  if (compressible) return shared;
  const { memory, pid } = reserved;
  return {
    ...shared,
    ...(memory === undefined ? {} : { memoryLimitBytes: quantityUnits(memory) }),
    ...(pid === undefined ? {} : { pidsLimit: quantityUnits(pid) }),
    ...(memory !== undefined && protectsMemory
      ? { unified: { 'memory.min': String(quantityUnits(memory)) } }
      : {}),
  };
}

export interface ReservedCgroupsOptions extends ReservedValueContext {
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly control: Pick<CgroupControl, 'gap' | 'naming'>;
  readonly update: (name: CgroupName, values: CgroupValues) => Promise<void>;
}

/** Applies the plans in order. Throws at the first that cannot be applied: then the node must not start. */
export async function enforceReserved(
  plans: readonly ReservedPlan[],
  options: ReservedCgroupsOptions,
): Promise<void> {
  const { timeline, nodeName } = options;
  for (const plan of plans) {
    try {
      await enforceOne(plan, options);
    } catch (error) {
      const kind = `${plan.scope} Reserved${plan.compressible ? ' Compressible' : ''}`;
      const message = `Failed to enforce ${kind} Cgroup Limits on ${JSON.stringify(plan.cgroup)}: ${errorText(error)}`;
      timeline.nodeEvent(nodeName, 'Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, { cause: error });
    }
    const scope = plan.scope.toLowerCase();
    const message = `Updated limits on ${scope} reserved cgroup ${plan.cgroup}`;
    timeline.nodeEvent(nodeName, 'Normal', 'NodeAllocatableEnforced', message);
  }
}

async function enforceOne(plan: ReservedPlan, options: ReservedCgroupsOptions): Promise<void> {
  const { control, update } = options;
  const name = componentsOf(plan.cgroup);
  if (Object.keys(plan.reserved).length === 0)
    throw new Error(`${quotedName(name)} cgroup is not configured properly`);
  const gap = control.gap(name);
  if (gap !== undefined) throw new Error(gapText(name, gap));
  await update(name, reservedValues(plan, options));
}
