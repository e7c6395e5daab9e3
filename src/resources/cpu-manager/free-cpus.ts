/** The CPUs that can be taken, listed by group: the fullest group first, inside the order of the groups around it. */
import { CpuSet } from '../../kube/index.js';
import type { CpuPlace } from '../machine-topology/index.js';
import type { CpuGroups, CpuTopology } from './cpu-topology.js';

type GroupOf = (cpu: CpuPlace) => number;

const coreOf: GroupOf = ({ core }) => core;
const socketOf: GroupOf = ({ socket }) => socket;
const numaNodeOf: GroupOf = ({ numaNode }) => numaNode;
const uncoreCacheOf: GroupOf = ({ uncoreCache }) => uncoreCache;

/** One request in the making: what is free, what is taken, and how many CPUs are still needed. */
export class FreeCpus {
  readonly topology: CpuTopology;
  #free: CpuSet;
  #taken = CpuSet.empty;
  #needed: number;

  constructor(topology: CpuTopology, free: CpuSet, needed: number) {
    this.topology = topology;
    this.#free = free;
    this.#needed = needed;
  }

  get free(): CpuSet {
    return this.#free;
  }

  get taken(): CpuSet {
    return this.#taken;
  }

  get needed(): number {
    return this.#needed;
  }

  take(cpus: CpuSet): void {
    this.#taken = this.#taken.union(cpus);
    this.#free = this.#free.difference(cpus);
    this.#needed -= cpus.size;
  }

  /** NUMA nodes hold sockets, or the other way round. */
  get isNumaFirst(): boolean {
    return this.topology.socketCount >= this.topology.numaNodes.size;
  }

  sockets(): readonly number[] {
    const { sockets, numaNodes } = this.topology;
    return this.isNumaFirst
      ? this.#within(numaNodes, this.numaNodes(), socketOf, sockets)
      : this.#sorted(this.#free, socketOf, sockets);
  }

  numaNodes(): readonly number[] {
    const { sockets, numaNodes } = this.topology;
    return this.isNumaFirst
      ? this.#sorted(this.#free, numaNodeOf, numaNodes)
      : this.#within(sockets, this.sockets(), numaNodeOf, numaNodes);
  }

  cores(): readonly number[] {
    const { sockets, numaNodes, cores } = this.topology;
    return this.isNumaFirst
      ? this.#within(sockets, this.sockets(), coreOf, cores)
      : this.#within(numaNodes, this.numaNodes(), coreOf, cores);
  }

  uncoreCaches(): readonly number[] {
    const { numaNodes, uncoreCaches } = this.topology;
    return this.#within(numaNodes, this.numaNodes(), uncoreCacheOf, uncoreCaches);
  }

  /** How many CPUs of a group are free. */
  count(groups: CpuGroups, id: number): number {
    return this.#free.sizeWith(groups.get(id) ?? CpuSet.empty);
  }

  of(groups: CpuGroups, id: number): CpuSet {
    return this.#free.intersection(groups.get(id) ?? CpuSet.empty);
  }

  #within(outer: CpuGroups, order: readonly number[], groupOf: GroupOf, inner: CpuGroups): readonly number[] {
    return order.flatMap((id) => this.#sorted(this.of(outer, id), groupOf, inner));
  }

  /** The groups of some CPUs by the number of their CPUs that are free, then by id. */
  #sorted(cpus: CpuSet, groupOf: GroupOf, groups: CpuGroups): readonly number[] {
    const ids = new Set<number>();
    for (const cpu of cpus.toArray()) {
      const place = this.topology.placeOf.get(cpu);
      if (place !== undefined) ids.add(groupOf(place));
    }
    const sizes = [...ids].map((id): [number, number] => [id, this.count(groups, id)]);
    return sizes.sort(([a, sizeA], [b, sizeB]) => sizeA - sizeB || a - b).map(([id]) => id);
  }
}
