/** What the CPU manager has given out. Immutable: a decision makes the next state, and one write makes it last. */
import { CpuSet } from '../../kube/index.js';

export interface CpuState {
  /** The shared pool. */
  readonly defaultCpuSet: CpuSet;
  /** The exclusive CPUs of containers, by the UID of their pod and their name. */
  readonly entries: CpuEntries;
  /** The CPUs of pods that have them as a whole, by UID. */
  readonly podEntries: ReadonlyMap<string, CpuSet>;
}

export type CpuEntries = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

export const emptyCpuState: CpuState = {
  defaultCpuSet: CpuSet.empty,
  entries: new Map(),
  podEntries: new Map(),
};

export function entryOf({ entries }: CpuState, podUid: string, container: string): CpuSet | undefined {
  return entries.get(podUid)?.get(container);
}

/** All that the pod holds: its own set, or those of its containers. */
export function heldByPod({ entries, podEntries }: CpuState, podUid: string): CpuSet {
  const own = podEntries.get(podUid) ?? CpuSet.empty;
  return own.union(CpuSet.union(entries.get(podUid)?.values() ?? []));
}

/** Takes the CPUs from the shared pool and gives them to the container, at once. */
export function withEntry(state: CpuState, podUid: string, container: string, cpus: CpuSet): CpuState {
  const entries = new Map(state.entries);
  entries.set(podUid, new Map([...(entries.get(podUid) ?? []), [container, cpus]]));
  return { ...state, entries, defaultCpuSet: state.defaultCpuSet.difference(cpus) };
}

export function withPodEntry(state: CpuState, podUid: string, cpus: CpuSet): CpuState {
  const podEntries = new Map(state.podEntries).set(podUid, cpus);
  return { ...state, podEntries, defaultCpuSet: state.defaultCpuSet.difference(cpus) };
}

/** Gives back what no other container of the pod holds; with the last container what the pod has as a whole. */
export function withoutEntry(state: CpuState, podUid: string, container: string): CpuState {
  const held = heldByPod(state, podUid);
  const rest = new Map(state.entries.get(podUid));
  if (!rest.delete(container)) return state;
  const entries = new Map(state.entries);
  const podEntries = new Map(state.podEntries);
  if (rest.size > 0) entries.set(podUid, rest);
  else {
    entries.delete(podUid);
    podEntries.delete(podUid);
  }
  const next = { ...state, entries, podEntries };
  const freed = held.difference(heldByPod(next, podUid));
  return { ...next, defaultCpuSet: state.defaultCpuSet.union(freed) };
}

/** The CPUs that are not in the shared pool but with containers or pods. */
export function exclusiveCpus({ entries, podEntries }: CpuState): CpuSet {
  const ofContainers = [...entries.values()].flatMap((containers) => [...containers.values()]);
  return CpuSet.union([...podEntries.values(), ...ofContainers]);
}
