/** What was used between two readings of the node's statistics: the rate of the CPU, and the memory at the end. */
import type { MeasuredUsage, NodeUsage } from '../../kube-api/index.js';
import type {
  ContainerStatsSummary,
  CpuStats,
  MemoryStats,
  StatsTime,
  Summary,
} from '../../resources/stats/index.js';

/** A shorter window says more about the kernel's counting than about the program. */
export const leastWindowMs = 1_000;
/** What is older tells what was used long ago. */
export const longestWindowMs = 60_000;

/** A point from which CPU time is counted. */
interface CpuPoint {
  readonly atMs: number;
  readonly usedNanos: number;
}

/** Containers are known by their start too: one that started again counts from zero. */
export function usageBetween(earlier: Summary, later: Summary): NodeUsage {
  const before = new Map(
    earlier.pods.flatMap(({ podRef, containers }) =>
      containers.map((one): [string, ContainerStatsSummary] => [identityOf(podRef.uid, one), one]),
    ),
  );
  const pods = new Map<string, Map<string, MeasuredUsage>>();
  for (const { podRef, containers } of later.pods) {
    const measured = new Map<string, MeasuredUsage>();
    for (const container of containers) {
      const known = before.get(identityOf(podRef.uid, container));
      const from = known === undefined ? startOf(container) : pointOf(known.cpu);
      const usage = usageSince(from, container.cpu, container.memory);
      if (usage !== undefined) measured.set(container.name, usage);
    }
    // A sum without one of the parts would be wrong.
    const isWhole = containers.every(({ name }) => measured.has(name));
    if (isWhole && measured.size > 0) pods.set(podRef.uid, measured);
  }
  const { cpu, memory } = later.node;
  return { node: usageSince(pointOf(earlier.node.cpu), cpu, memory), pods };
}

function identityOf(podUid: string, { name, startTime }: ContainerStatsSummary): string {
  return JSON.stringify([podUid, name, startTime]);
}

function usageSince(
  from: CpuPoint | undefined,
  cpu: CpuStats | undefined,
  memory: MemoryStats | undefined,
): MeasuredUsage | undefined {
  const to = pointOf(cpu);
  // Nothing that runs uses no memory: it was not measured.
  if (from === undefined || to === undefined || !memory?.workingSetBytes) return undefined;
  const windowMs = to.atMs - from.atMs;
  const usedNanos = to.usedNanos - from.usedNanos;
  if (windowMs < leastWindowMs || usedNanos < 0) return undefined;
  return {
    atMs: to.atMs,
    windowMs,
    cpuNanoCores: Math.round((usedNanos * 1000) / windowMs),
    memoryBytes: Math.round(memory.workingSetBytes),
  };
}

function pointOf(cpu: CpuStats | undefined): CpuPoint | undefined {
  const atMs = msOf(cpu?.time ?? null);
  const usedNanos = cpu?.usageCoreNanoSeconds;
  return atMs === undefined || usedNanos === undefined ? undefined : { atMs, usedNanos };
}

/** A container that is new has used nothing before its start. */
function startOf({ startTime, cpu }: ContainerStatsSummary): CpuPoint | undefined {
  const atMs = msOf(startTime);
  const nowMs = msOf(cpu?.time ?? null);
  if (atMs === undefined || nowMs === undefined || nowMs - atMs > longestWindowMs) return undefined;
  return { atMs, usedNanos: 0 };
}

function msOf(time: StatsTime): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}
