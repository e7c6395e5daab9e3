/** Judges what the memory manager's file says against the machine, and saves what can be kept of a file that does not fit. */
import type { MemoryCheckpoint } from './checkpoint.js';
import {
  differentMachine,
  isSameMachine,
  isSameSet,
  type MachineMemory,
  type MemoryAssignments,
  noAssignments,
  usedMemory,
} from './machine-memory.js';
import { breaksGroups } from './memory-hints.js';

/** Why the reference kubelet would not start with this checkpoint; undefined if it would. */
export function checkpointProblem(
  checkpoint: MemoryCheckpoint,
  { policyName, unused }: { readonly policyName: string; readonly unused: MachineMemory },
): string | undefined {
  if (checkpoint.policyName !== policyName) {
    return `[memorymanager] configured policy "${policyName}" differs from state checkpoint policy "${checkpoint.policyName}"`;
  }
  if (policyName === 'None') return undefined;
  if (checkpoint.machineState.size === 0) {
    const isEmpty = checkpoint.entries.size === 0 && checkpoint.podEntries.size === 0;
    return isEmpty
      ? undefined
      : '[memorymanager] machine state can not be empty when it has memory assignments';
  }
  const used = usedMemory(unused, checkpoint);
  if (used.kind === 'unfit') return used.problem;
  return isSameMachine(used.machine, checkpoint.machineState) ? undefined : differentMachine;
}

/** A container that the runtime has, with the NUMA nodes that it is bound to, if it is. */
export interface BoundContainer {
  readonly podUid: string;
  readonly name: string;
  readonly mems: readonly number[] | undefined;
}

export interface RecoveredAssignments {
  readonly assignments: MemoryAssignments;
  /** The pods whose blocks were kept, and those whose blocks were given back. */
  readonly kept: readonly string[];
  readonly givenBack: readonly string[];
}

/** Keeps the blocks of each pod that still runs, on the nodes it is bound to, as far as they fit this machine. */
export function recoverAssignments(
  saved: MemoryAssignments,
  { unused, containers }: { readonly unused: MachineMemory; readonly containers: readonly BoundContainer[] },
): RecoveredAssignments {
  const running = new Map<string, BoundContainer[]>();
  for (const container of containers) {
    running.set(container.podUid, [...(running.get(container.podUid) ?? []), container]);
  }
  const kept: string[] = [];
  const givenBack: string[] = [];
  let assignments = noAssignments;
  for (const uid of [...new Set([...saved.entries.keys(), ...saved.podEntries.keys()])].sort()) {
    const bound = running.get(uid);
    const more = withPod(assignments, saved, uid);
    if (bound !== undefined && isBoundSo(saved, uid, bound) && fits(unused, assignments, more, uid)) {
      assignments = more;
      kept.push(uid);
    } else {
      givenBack.push(uid);
    }
  }
  return { assignments, kept, givenBack };
}

function withPod(assignments: MemoryAssignments, saved: MemoryAssignments, uid: string): MemoryAssignments {
  const containers = saved.entries.get(uid);
  const blocks = saved.podEntries.get(uid);
  return {
    entries:
      containers === undefined ? assignments.entries : new Map(assignments.entries).set(uid, containers),
    podEntries:
      blocks === undefined ? assignments.podEntries : new Map(assignments.podEntries).set(uid, blocks),
  };
}

/** Whether no container is bound to other nodes than its blocks lie on. */
function isBoundSo({ entries }: MemoryAssignments, uid: string, bound: readonly BoundContainer[]): boolean {
  return bound.every(({ name, mems }) => {
    const blocks = entries.get(uid)?.get(name);
    if (mems === undefined || blocks === undefined) return true;
    return isSameSet(
      mems,
      blocks.flatMap(({ numaAffinity }) => numaAffinity),
    );
  });
}

function fits(
  unused: MachineMemory,
  before: MemoryAssignments,
  after: MemoryAssignments,
  uid: string,
): boolean {
  const without = usedMemory(unused, before);
  if (without.kind === 'unfit' || usedMemory(unused, after).kind === 'unfit') return false;
  const own = [...(after.entries.get(uid)?.values() ?? []), after.podEntries.get(uid) ?? []].flat();
  return !own.some(({ numaAffinity }) => breaksGroups(without.machine, numaAffinity));
}
