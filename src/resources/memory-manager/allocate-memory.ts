/** Decides which nodes a request for memory is served from, and what is assigned then. */
import { type Container, isSidecar, type Pod } from '../../kube/index.js';
import type { NumaMask, TopologyHint } from '../topology-manager/index.js';
import { isSameSet, type MachineMemory, type MemoryAssignments, type MemoryBlock } from './machine-memory.js';
import {
  bestHint,
  breaksGroups,
  hasFree,
  idsIn,
  type MemoryDemand,
  memoryHints,
  type NodeHint,
  type ReusableMemory,
} from './memory-hints.js';
import type { MemoryRequest } from './requested-memory.js';

export type ChosenNodes =
  | { readonly kind: 'chosen'; readonly ids: readonly number[] }
  | { readonly kind: 'refused'; readonly message: string };

/** `hint` is what all managers agreed on; it may name no nodes, or too few. */
export function chooseNodes(machine: MachineMemory, demand: MemoryDemand, hint: TopologyHint): ChosenNodes {
  const chosen =
    hint.mask === undefined
      ? ownChoice(machine, demand, hint)
      : agreedChoice(machine, demand, hint, hint.mask);
  if (typeof chosen === 'string') return { kind: 'refused', message: `[memorymanager] ${chosen}` };
  const ids = idsIn(machine, chosen);
  if (breaksGroups(machine, ids)) {
    return { kind: 'refused', message: '[memorymanager] preferred hint violates NUMA node allocation' };
  }
  return { kind: 'chosen', ids };
}

/** The nodes, or why there are none. */
function ownChoice(machine: MachineMemory, demand: MemoryDemand, hint: TopologyHint): NumaMask | string {
  const best = bestHint(memoryHints(machine, demand));
  if (best === undefined) {
    return 'failed to get the default NUMA affinity, no NUMA nodes with enough memory is available';
  }
  if (hint.preferred && !best.preferred) return 'failed to find the default preferred hint';
  return best.mask;
}

/** More nodes than were agreed on where these have too little memory. */
function agreedChoice(
  machine: MachineMemory,
  demand: MemoryDemand,
  hint: TopologyHint,
  mask: NumaMask,
): NumaMask | string {
  if (hasFree(machine, idsIn(machine, mask), demand.request)) return mask;
  const wider = memoryHints(machine, demand).filter((other: NodeHint) => (other.mask & mask) === mask);
  const best = bestHint(wider);
  if (best === undefined) return 'failed to find NUMA nodes to extend the current topology hint';
  if (hint.preferred && !best.preferred) return 'failed to find the extended preferred hint';
  return best.mask;
}

export function blocksFor(request: MemoryRequest, ids: readonly number[]): readonly MemoryBlock[] {
  return [...request].map(([type, size]) => ({ numaAffinity: ids, type, size }));
}

/**
 * What the pod's ordinary init containers hold on exactly these nodes. They have ended when any other container of the
 * pod starts, so these may use it again.
 */
export function reusableMemory({ entries }: MemoryAssignments, pod: Pod): ReusableMemory {
  const held = new Map<string, number>();
  for (const { name } of ordinaryInitContainers(pod)) {
    for (const { type, numaAffinity, size } of entries.get(pod.metadata.uid)?.get(name) ?? []) {
      const place = placeOf(numaAffinity, type);
      held.set(place, (held.get(place) ?? 0) + size);
    }
  }
  return (ids, type) => (held.size === 0 ? 0 : (held.get(placeOf(ids, type)) ?? 0));
}

function placeOf(ids: readonly number[], type: string): string {
  return `${type} ${[...ids].sort((a, b) => a - b).join()}`;
}

export function ordinaryInitContainers({ spec }: Pod): readonly Container[] {
  return (spec.initContainers ?? []).filter((container) => !isSidecar(container));
}

/**
 * Assigns blocks to a container. What it uses again of ordinary init containers is taken from their blocks, so that the
 * sum over all blocks is what is really held.
 */
export function withContainerBlocks(
  assignments: MemoryAssignments,
  pod: Pod,
  container: Pick<Container, 'name'>,
  blocks: readonly MemoryBlock[],
): MemoryAssignments {
  const { uid } = pod.metadata;
  const containers = new Map(assignments.entries.get(uid));
  for (const block of blocks) {
    let left = block.size;
    for (const { name } of ordinaryInitContainers(pod)) {
      const held = containers.get(name);
      if (name === container.name || held === undefined) continue;
      const shrunk = held.map((other) => {
        if (other.type !== block.type || !isSameSet(other.numaAffinity, block.numaAffinity)) return other;
        const used = Math.min(left, other.size);
        left -= used;
        return { ...other, size: other.size - used };
      });
      containers.set(name, shrunk);
    }
  }
  containers.set(container.name, blocks);
  return { ...assignments, entries: new Map(assignments.entries).set(uid, containers) };
}

/** The memory of a pod as a whole goes with the last of its containers. */
export function withoutContainer(
  assignments: MemoryAssignments,
  podUid: string,
  name: string,
): MemoryAssignments {
  const containers = assignments.entries.get(podUid);
  if (containers?.has(name) !== true) return assignments;
  const left = new Map(containers);
  left.delete(name);
  if (left.size === 0) return withoutPod(assignments, podUid);
  return { ...assignments, entries: new Map(assignments.entries).set(podUid, left) };
}

export function withoutPod(assignments: MemoryAssignments, podUid: string): MemoryAssignments {
  const entries = new Map(assignments.entries);
  const podEntries = new Map(assignments.podEntries);
  entries.delete(podUid);
  podEntries.delete(podUid);
  return { entries, podEntries };
}

/** What is left when a container has been created: ordinary init containers before it have ended. */
export function afterCreation(
  assignments: MemoryAssignments,
  pod: Pod,
  container: Pick<Container, 'name'>,
): MemoryAssignments {
  let left = assignments;
  for (const init of pod.spec.initContainers ?? []) {
    if (init.name === container.name) break;
    if (!isSidecar(init)) left = withoutContainer(left, pod.metadata.uid, init.name);
  }
  return left;
}

/** What is left when only these pods, with these containers, are there. */
export function withoutStale(
  assignments: MemoryAssignments,
  active: readonly Pod[],
  mayRun: (uid: string) => boolean,
): MemoryAssignments {
  const names = new Map(
    active.map(({ metadata, spec }) => [
      metadata.uid,
      new Set([...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)),
    ]),
  );
  let left = assignments;
  for (const uid of new Set([...assignments.entries.keys(), ...assignments.podEntries.keys()])) {
    const known = names.get(uid);
    if (known === undefined) left = mayRun(uid) ? left : withoutPod(left, uid);
    else {
      for (const name of assignments.entries.get(uid)?.keys() ?? []) {
        if (!known.has(name)) left = withoutContainer(left, uid, name);
      }
    }
  }
  return left;
}

/**
 * Whether a container was given memory before and needs it no more: it is an ordinary init container without blocks, but
 * a container that starts after it has some.
 */
export function hasEnded(
  { entries }: MemoryAssignments,
  pod: Pod,
  container: Pick<Container, 'name'>,
): boolean {
  const given = entries.get(pod.metadata.uid);
  if (given === undefined || given.has(container.name)) return false;
  const started = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  if (!ordinaryInitContainers(pod).some(({ name }) => name === container.name)) return false;
  const index = started.findIndex(({ name }) => name === container.name);
  return started.slice(index + 1).some(({ name }) => given.has(name));
}
