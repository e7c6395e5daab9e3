/** The machine's topology by the groups that CPUs are taken in: cores, caches, NUMA nodes and sockets. */
import { CpuSet } from '../../kube/index.js';
import type { CpuPlace, MachineTopology } from '../machine-topology/index.js';

/** The CPUs of each group, by the group's id. */
export type CpuGroups = ReadonlyMap<number, CpuSet>;

export interface CpuTopology {
  readonly all: CpuSet;
  readonly placeOf: ReadonlyMap<number, CpuPlace>;
  readonly cores: CpuGroups;
  readonly uncoreCaches: CpuGroups;
  /** Those that have CPUs. */
  readonly numaNodes: CpuGroups;
  readonly sockets: CpuGroups;
  readonly socketCount: number;
  /** Averages, rounded down: machines with cores of two kinds have both. */
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;
}

export function cpuTopology({ cpus, socketCount }: MachineTopology): CpuTopology {
  const groups = (groupOf: (cpu: CpuPlace) => number): CpuGroups => {
    const members = new Map<number, number[]>();
    for (const cpu of cpus) {
      const known = members.get(groupOf(cpu));
      if (known === undefined) members.set(groupOf(cpu), [cpu.id]);
      else known.push(cpu.id);
    }
    const ids = [...members.keys()].sort((a, b) => a - b);
    return new Map(ids.map((id) => [id, CpuSet.of(members.get(id) ?? [])]));
  };
  const cores = groups(({ core }) => core);
  const uncoreCaches = groups(({ uncoreCache }) => uncoreCache);
  const average = (count: number): number => Math.floor(cpus.length / Math.max(1, count));
  return {
    all: CpuSet.of(cpus.map(({ id }) => id)),
    placeOf: new Map(cpus.map((cpu) => [cpu.id, cpu])),
    cores,
    uncoreCaches,
    numaNodes: groups(({ numaNode }) => numaNode),
    sockets: groups(({ socket }) => socket),
    socketCount,
    cpusPerCore: average(cores.size),
    cpusPerSocket: average(socketCount),
    cpusPerUncoreCache: average(uncoreCaches.size),
  };
}

/** The ids of the groups that some of the CPUs are in. */
export function groupIds(
  topology: CpuTopology,
  cpus: CpuSet,
  groupOf: (cpu: CpuPlace) => number,
): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const id of cpus) {
    const place = topology.placeOf.get(id);
    if (place !== undefined) ids.add(groupOf(place));
  }
  return ids;
}
