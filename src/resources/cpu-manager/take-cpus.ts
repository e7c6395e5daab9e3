/** Chooses CPUs for a request: packed on as few groups as possible, or spread over NUMA nodes. */
import { CpuSet } from '../../kube/index.js';
import type { CpuGroups, CpuTopology } from './cpu-topology.js';
import { distribution } from './distribute-cpus.js';
import { FreeCpus } from './free-cpus.js';

export type TakenCpus =
  | { readonly kind: 'taken'; readonly cpus: CpuSet }
  | { readonly kind: 'too few'; readonly requested: number; readonly available: number };

export interface TakeOptions {
  readonly fullPcpusOnly: boolean;
  readonly acrossNuma: boolean;
  readonly acrossCores: boolean;
  readonly alignBySocket: boolean;
  readonly byUncoreCache: boolean;
}

export function takeCpus(
  topology: CpuTopology,
  free: CpuSet,
  count: number,
  options: TakeOptions,
): TakenCpus {
  if (free.size < count) return { kind: 'too few', requested: count, available: free.size };
  const cpus = options.acrossNuma
    ? distribute(topology, free, count, options)
    : pack(topology, free, count, options);
  return { kind: 'taken', cpus };
}

type PackOptions = Pick<TakeOptions, 'acrossCores' | 'byUncoreCache'>;

/** Whole nodes and sockets first, then caches, then cores, then single CPUs. `free` has enough. */
function pack(topology: CpuTopology, free: CpuSet, count: number, options: PackOptions): CpuSet {
  const cpus = new FreeCpus(topology, free, count);
  const steps = [
    ...(cpus.isNumaFirst ? [takeNodes, takeSockets] : [takeSockets, takeNodes]),
    ...(options.byUncoreCache ? [takeUncoreCaches] : []),
    ...(options.acrossCores ? [takeBySocket] : [takeCores, takeByCore]),
  ];
  for (const step of steps) if (cpus.needed > 0) step(cpus);
  return cpus.taken;
}

/** Takes the groups that fit; the list was made before. */
function takeWhole(cpus: FreeCpus, groups: CpuGroups, ids: readonly number[]): void {
  for (const id of ids) {
    const whole = groups.get(id) ?? CpuSet.empty;
    if (cpus.needed >= whole.size) cpus.take(whole);
  }
}

function takeNodes(cpus: FreeCpus): void {
  const { numaNodes } = cpus.topology;
  const free = cpus.numaNodes().filter((id) => cpus.count(numaNodes, id) === numaNodes.get(id)?.size);
  takeWhole(cpus, numaNodes, free);
}

function takeSockets(cpus: FreeCpus): void {
  const { sockets, cpusPerSocket } = cpus.topology;
  takeWhole(cpus, sockets, wholeByAverage(cpus, sockets, cpus.sockets(), cpusPerSocket));
}

function takeCores(cpus: FreeCpus): void {
  const { cores, cpusPerCore } = cpus.topology;
  takeWhole(cpus, cores, wholeByAverage(cpus, cores, cpus.cores(), cpusPerCore));
}

/** A group whose CPUs are in part taken can have the average number, too, so all must be free. */
function wholeByAverage(
  cpus: FreeCpus,
  groups: CpuGroups,
  ids: readonly number[],
  average: number,
): readonly number[] {
  return ids.filter((id) => {
    const free = cpus.count(groups, id);
    return free === average && free === groups.get(id)?.size;
  });
}

function takeUncoreCaches(cpus: FreeCpus): void {
  const { uncoreCaches, cpusPerUncoreCache } = cpus.topology;
  for (const cache of cpus.uncoreCaches()) {
    if (cpus.needed >= cpusPerUncoreCache) {
      const isWhole = (id: number): boolean => cpus.count(uncoreCaches, id) === uncoreCaches.get(id)?.size;
      takeWhole(cpus, uncoreCaches, cpus.uncoreCaches().filter(isWhole));
    }
    if (cpus.needed > 0) takePart(cpus, cache);
    if (cpus.needed === 0) return;
  }
}

/** Takes all that is needed from one cache, by whole cores as far as they go; nothing if that is not exactly enough. */
function takePart(cpus: FreeCpus, cache: number): void {
  const { uncoreCaches, placeOf, cpusPerCore } = cpus.topology;
  const inCache = cpus.of(uncoreCaches, cache);
  const cores = new Map<number, number[]>();
  for (const cpu of inCache) {
    const core = placeOf.get(cpu)?.core ?? cpu;
    cores.set(core, [...(cores.get(core) ?? []), cpu]);
  }
  const lowest = [...cores.keys()].sort((a, b) => a - b).slice(0, Math.ceil(cpus.needed / cpusPerCore));
  const found = lowest.flatMap((core) => cores.get(core) ?? []).sort((a, b) => a - b);
  if (cpus.needed % 2 === 1 && cpusPerCore > 1 && found.length > cpus.needed) found.pop();
  if (found.length === cpus.needed) cpus.take(CpuSet.of(found));
}

function takeByCore(cpus: FreeCpus): void {
  const { cores } = cpus.topology;
  takeFirst(cpus, cores, cpus.cores());
}

function takeBySocket(cpus: FreeCpus): void {
  const { sockets } = cpus.topology;
  takeFirst(cpus, sockets, cpus.sockets());
}

/** The first that are free, group by group. */
function takeFirst(cpus: FreeCpus, groups: CpuGroups, order: readonly number[]): void {
  const found: number[] = [];
  for (const id of order) {
    if (found.length >= cpus.needed) break;
    found.push(...cpus.of(groups, id).toArray());
  }
  cpus.take(CpuSet.of(found.slice(0, cpus.needed)));
}

/** The same share of each node, and the rest in groups. Packed if no nodes can give the same. */
function distribute(topology: CpuTopology, free: CpuSet, count: number, options: TakeOptions): CpuSet {
  const groupSize = options.fullPcpusOnly ? topology.cpusPerCore : 1;
  const packed = { acrossCores: options.acrossCores, byUncoreCache: false };
  const found = distribution(topology, free, count, { groupSize, alignBySocket: options.alignBySocket });
  if (found === undefined) return pack(topology, free, count, packed);
  const cpus = new FreeCpus(topology, free, count);
  const takeFrom = (node: number, size: number): void =>
    cpus.take(pack(topology, cpus.of(topology.numaNodes, node), size, packed));
  for (const node of found.nodes) takeFrom(node, found.share);
  for (const node of found.remainder) takeFrom(node, groupSize);
  return cpus.taken;
}
