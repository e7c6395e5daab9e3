/** Policy `static`: decides which CPUs a container gets for itself. Pure: from a state and a request to the next state. */
import { CpuSet } from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/index.js';
import { type NumaMask, positionsIn } from '../topology-manager/index.js';
import { type CpuState, emptyCpuState, entryOf, heldByPod, withEntry } from './cpu-state.js';
import { type CpuTopology, cpuTopology, groupIds } from './cpu-topology.js';
import { CpuManagerConfigError, type StaticPolicyOptions } from './policy-options.js';
import { takeCpus } from './take-cpus.js';

export interface StaticPolicy {
  readonly topology: CpuTopology;
  readonly options: StaticPolicyOptions;
  readonly reserved: CpuSet;
  /** The reserved CPUs and all others of their cores. */
  readonly reservedCores: CpuSet;
  /** The ids of NUMA nodes by their position in masks. */
  readonly numaNodeIds: readonly number[];
}

export interface CpuReservation {
  /** Of the system and Kubernetes together. */
  readonly milliCpus: number;
  /** `reservedSystemCPUs`; empty if not set. */
  readonly cpus: CpuSet;
}

/** Throws a `CpuManagerConfigError` if nothing is reserved, or not as much as it should. */
export function createStaticPolicy(
  machine: MachineTopology,
  options: StaticPolicyOptions,
  reservation: CpuReservation,
): StaticPolicy {
  const topology = cpuTopology(machine);
  const count = Math.ceil(reservation.milliCpus / 1000);
  if (count === 0) {
    throw new CpuManagerConfigError(
      'reserved',
      '[cpumanager] unable to determine reserved CPU resources for static policy',
    );
  }
  let reserved = reservation.cpus;
  if (reserved.isEmpty) {
    const taken = takeCpus(topology, topology.all, count, options);
    if (taken.kind === 'taken') reserved = taken.cpus;
  }
  if (reserved.size !== count) {
    throw new CpuManagerConfigError(
      'reserved',
      `[cpumanager] unable to reserve the required amount of CPUs (size of ${reserved} did not equal ${count})`,
    );
  }
  const cores = groupIds(topology, reserved, ({ core }) => core);
  return {
    topology,
    options,
    reserved,
    reservedCores: CpuSet.union([...cores].map((core) => topology.cores.get(core) ?? CpuSet.empty)),
    numaNodeIds: machine.numaNodes.map(({ id }) => id),
  };
}

/** The shared pool while nothing is given out. */
export function freshDefault({ topology, options, reserved }: StaticPolicy): CpuSet {
  return options.strictReservation ? topology.all.difference(reserved) : topology.all;
}

/** Nothing is given out; baselines are recorded from now on, or not. */
export function freshCpuState(policy: StaticPolicy, hasBaselines = false): CpuState {
  const baselines = hasBaselines ? { baselines: new Map() } : {};
  return { ...emptyCpuState, defaultCpuSet: freshDefault(policy), ...baselines };
}

export function availableCpus({ reserved }: StaticPolicy, { defaultCpuSet }: CpuState): CpuSet {
  return defaultCpuSet.difference(reserved);
}

/** CPUs of ordinary init containers, which later containers of the same pod may use. Kept for one pod only. */
export interface ReusableCpus {
  readonly podUid: string;
  readonly cpus: CpuSet;
}

/** Only what the pod still holds can be used again. */
export function reusableFor(state: CpuState, reusable: ReusableCpus | undefined, podUid: string): CpuSet {
  if (reusable?.podUid !== podUid || reusable.cpus.isEmpty) return CpuSet.empty;
  return reusable.cpus.intersection(heldByPod(state, podUid));
}

export interface CpuRequest {
  readonly podUid: string;
  readonly container: string;
  readonly count: number;
  /** Whether it ends before other containers of the pod start. */
  readonly isOrdinaryInit: boolean;
  /** The NUMA nodes to take from first; undefined for any. */
  readonly mask: NumaMask | undefined;
  /** CPUs of containers that never run at the same time; empty by default. */
  readonly sharable?: CpuSet;
}

export interface CpuRefusal {
  readonly kind: 'refused';
  readonly reason?: string;
  readonly message: string;
}

export type CpuAllocation =
  | {
      /** `kept`: the container has its CPUs, and the state is the same. */
      readonly kind: 'kept' | 'given';
      readonly state: CpuState;
      readonly cpus: CpuSet;
      readonly reusable: ReusableCpus;
    }
  | CpuRefusal;

export function allocateCpus(
  policy: StaticPolicy,
  state: CpuState,
  reusable: ReusableCpus | undefined,
  request: CpuRequest,
): CpuAllocation {
  const { podUid, container, count, mask, sharable = CpuSet.empty } = request;
  const known = entryOf(state, podUid, container);
  if (known !== undefined) {
    return { kind: 'kept', state, cpus: known, reusable: afterUse(reusable, request, known) };
  }
  const misaligned = smtProblem(policy, state, count);
  if (misaligned !== undefined) return misaligned;
  const pool = availableCpus(policy, state)
    .union(reusableFor(state, reusable, podUid))
    .union(sharable);
  const taken = takeNear(policy, pool, count, mask);
  if (taken.kind === 'refused') return taken;
  const { cpus } = taken;
  return {
    kind: 'given',
    state: withEntry(state, podUid, container, cpus),
    cpus,
    reusable: afterUse(reusable, request, cpus),
  };
}

/** CPUs of the nodes of the mask first, the others where there is room. */
export function takeNear(
  policy: StaticPolicy,
  pool: CpuSet,
  count: number,
  mask: NumaMask | undefined,
): { readonly kind: 'taken'; readonly cpus: CpuSet } | CpuRefusal {
  const { topology, options } = policy;
  let cpus = CpuSet.empty;
  if (mask !== undefined) {
    const aligned = pool.intersection(cpusNear(policy, mask));
    const taken = takeCpus(topology, aligned, Math.min(count, aligned.size), options);
    if (taken.kind === 'taken') cpus = taken.cpus;
  }
  const rest = takeCpus(topology, pool.difference(cpus), count - cpus.size, options);
  if (rest.kind === 'too few') {
    const { requested, available } = rest;
    const figures = `requested=${requested}, available=${available}`;
    return { kind: 'refused', message: `not enough cpus available to satisfy request: ${figures}` };
  }
  return { kind: 'taken', cpus: cpus.union(rest.cpus) };
}

/** All CPUs of the nodes; aligned by socket, all of the sockets that the nodes touch. */
function cpusNear({ topology, options, numaNodeIds }: StaticPolicy, mask: NumaMask): CpuSet {
  const nodes = positionsIn(mask).map((position) => topology.numaNodes.get(numaNodeIds[position] ?? -1));
  const inNodes = CpuSet.union(nodes.map((cpus) => cpus ?? CpuSet.empty));
  if (!options.alignBySocket) return inNodes;
  const sockets = groupIds(topology, inNodes, ({ socket }) => socket);
  return CpuSet.union([...sockets].map((socket) => topology.sockets.get(socket) ?? CpuSet.empty));
}

/** Why a number of CPUs cannot be given in whole cores. */
export function smtProblem(policy: StaticPolicy, state: CpuState, count: number): CpuRefusal | undefined {
  const { cpusPerCore } = policy.topology;
  if (!policy.options.fullPcpusOnly) return undefined;
  const refusal = (text: string): CpuRefusal => ({
    kind: 'refused',
    reason: 'SMTAlignmentError',
    message: `SMT Alignment Error: ${text}`,
  });
  if (count % cpusPerCore !== 0)
    return refusal(`requested ${count} cpus not multiple cpus per core = ${cpusPerCore}`);
  const free = state.defaultCpuSet.difference(policy.reservedCores).size;
  if (count <= free) return undefined;
  return refusal(
    `not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${cpusPerCore}`,
  );
}

function afterUse(
  reusable: ReusableCpus | undefined,
  { podUid, isOrdinaryInit }: CpuRequest,
  cpus: CpuSet,
): ReusableCpus {
  const before = reusable?.podUid === podUid ? reusable.cpus : CpuSet.empty;
  return { podUid, cpus: isOrdinaryInit ? before.union(cpus) : before.difference(cpus) };
}
