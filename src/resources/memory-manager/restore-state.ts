/** Reads the memory manager's file at the start. One that cannot be used is set aside, and what fits of it is kept. */
import type { DurableFiles } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type MachineMemory, type MemoryAssignments, noAssignments } from './machine-memory.js';
import { readMemoryCheckpoint } from './read-checkpoint.js';
import { type BoundContainer, checkpointProblem, recoverAssignments } from './recover-assignments.js';

export interface RestoreMemoryOptions {
  readonly policyName: 'None' | 'Static';
  readonly path: string;
  readonly store: DurableFiles;
  readonly unused: MachineMemory;
  readonly pinsPodLevel: boolean;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly containers: () => Promise<readonly BoundContainer[]>;
}

export interface RestoredMemory {
  readonly assignments: MemoryAssignments;
  /** Whether the file says what is restored. */
  readonly isOnDisk: boolean;
  /** Nodes of containers that run though their blocks are lost. */
  readonly bound: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>;
}

export async function restoreMemoryState(options: RestoreMemoryOptions): Promise<RestoredMemory> {
  const { store, path } = options;
  let lost: MemoryAssignments = noAssignments;
  const found = await store.read(path, (text) => {
    const judged = judge(text, options);
    if (judged.kind === 'fits') return judged;
    lost = judged.assignments;
    throw new Error(judged.problem);
  });
  switch (found.kind) {
    case 'missing':
      return { assignments: noAssignments, isOnDisk: false, bound: new Map() };
    case 'found':
      return { assignments: found.value.assignments, isOnDisk: found.value.isCurrent, bound: new Map() };
    case 'set aside': {
      const problem = found.reason.startsWith(startError)
        ? found.reason
        : startError + restoreError(found.reason, path);
      return recover(options, lost, problem);
    }
  }
}

type Judged =
  | { readonly kind: 'fits'; readonly assignments: MemoryAssignments; readonly isCurrent: boolean }
  | { readonly kind: 'unfit'; readonly problem: string; readonly assignments: MemoryAssignments };

const startError = 'start memory manager error: ';

function restoreError(problem: string, path: string): string {
  return `could not restore state from checkpoint: ${problem}, please drain this node and delete the memory manager checkpoint file "${path}" before restarting Kubelet`;
}

function judge(text: string, options: RestoreMemoryOptions): Judged {
  const { path, pinsPodLevel } = options;
  const read = readMemoryCheckpoint(text);
  const saved = read.checkpoint ?? { ...noAssignments, policyName: '', machineState: new Map() };
  const checkpoint = pinsPodLevel ? saved : { ...saved, podEntries: new Map() };
  if (read.kind === 'unusable') {
    return { kind: 'unfit', problem: startError + restoreError(read.problem, path), assignments: checkpoint };
  }
  const problem = checkpointProblem(checkpoint, options);
  if (problem !== undefined) {
    const isOtherPolicy = checkpoint.policyName !== options.policyName;
    const told = isOtherPolicy ? restoreError(problem, path) : problem;
    return { kind: 'unfit', problem: startError + told, assignments: checkpoint };
  }
  const isCurrent = checkpoint.machineState.size === options.unused.size;
  return { kind: 'fits', assignments: checkpoint, isCurrent };
}

async function recover(
  options: RestoreMemoryOptions,
  lost: MemoryAssignments,
  problem: string,
): Promise<RestoredMemory> {
  const { policyName, unused, timeline, nodeName, path } = options;
  const containers = policyName === 'Static' ? await options.containers() : [];
  const { assignments, kept, givenBack } = recoverAssignments(lost, { unused, containers });
  const message = `${path} cannot be used; the memory of ${counted(kept.length)} that still run is kept, that of ${counted(givenBack.length)} is given back: ${problem}`;
  timeline.record({
    kind: 'problem',
    what: 'memory.recover',
    message,
    level: 'warn',
    data: { problem, kept: kept.length, givenBack: givenBack.length },
  });
  timeline.nodeEvent(nodeName, 'Warning', 'MemoryManagerStateRebuilt', message);
  return { assignments, isOnDisk: false, bound: boundElsewhere(containers, assignments) };
}

function counted(pods: number): string {
  return pods === 1 ? '1 pod' : `${pods} pods`;
}

function boundElsewhere(
  containers: readonly BoundContainer[],
  { entries }: MemoryAssignments,
): ReadonlyMap<string, ReadonlyMap<string, readonly number[]>> {
  const bound = new Map<string, Map<string, readonly number[]>>();
  for (const { podUid, name, mems } of containers) {
    if (mems === undefined || mems.length === 0 || entries.get(podUid)?.has(name)) continue;
    const names = bound.get(podUid) ?? new Map<string, readonly number[]>();
    bound.set(podUid, names.set(name, mems));
  }
  return bound;
}
