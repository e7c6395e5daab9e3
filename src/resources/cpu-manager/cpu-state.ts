/** What the CPU manager has given out. Immutable: a decision makes the next state, and one write makes it last. */
import { CpuSet } from '../../kube/index.js';

export interface CpuState {
  /** The shared pool. */
  readonly defaultCpuSet: CpuSet;
  /** The exclusive CPUs of containers, by the UID of their pod and their name. */
  readonly entries: CpuEntries;
  /** The CPUs of pods that have them as a whole, by UID. */
  readonly podEntries: ReadonlyMap<string, CpuSet>;
  /**
   * The CPUs that containers were given when their pod was first admitted, which no resize takes away. Absent while the gate
   * InPlacePodVerticalScalingExclusiveCPUs is off.
   */
  readonly baselines?: CpuEntries | undefined;
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
  const entries = withMember(state.entries, podUid, container, cpus);
  const defaultCpuSet = state.defaultCpuSet.difference(cpus);
  return withBaseline({ ...state, entries, defaultCpuSet }, podUid, container, cpus);
}

/** The first one stays. */
export function withBaseline(state: CpuState, podUid: string, container: string, cpus: CpuSet): CpuState {
  const { baselines } = state;
  if (baselines === undefined || baselines.get(podUid)?.has(container) === true) return state;
  return { ...state, baselines: withMember(baselines, podUid, container, cpus) };
}

/** How many CPUs a container keeps whatever it is resized to; undefined where its requests tell. */
export function baselineSize(
  { entries, baselines }: CpuState,
  podUid: string,
  container: string,
): number | undefined {
  const [held, first] = [entries, baselines].map((sets) => sets?.get(podUid)?.get(container));
  return held !== undefined && first?.equals(held) === true ? held.size : undefined;
}

/** With the baselines that are known of containers that have CPUs; `isComplete`: all others have what they were first given. */
export function withBaselines(
  state: CpuState,
  known: CpuEntries | undefined,
  { isComplete }: { readonly isComplete: boolean },
): CpuState {
  let next: CpuState = { ...state, baselines: new Map() };
  for (const [uid, containers] of state.entries) {
    for (const [name, cpus] of containers) {
      const baseline = known?.get(uid)?.get(name) ?? (isComplete ? cpus : undefined);
      if (baseline !== undefined) next = withBaseline(next, uid, name, baseline);
    }
  }
  return next;
}

function withMember(sets: CpuEntries, podUid: string, container: string, cpus: CpuSet): CpuEntries {
  return new Map(sets).set(podUid, new Map(sets.get(podUid)).set(container, cpus));
}

function withoutMember(sets: CpuEntries, podUid: string, container: string): CpuEntries {
  const rest = new Map(sets.get(podUid));
  rest.delete(container);
  const next = new Map(sets);
  if (rest.size > 0) next.set(podUid, rest);
  else next.delete(podUid);
  return next;
}

export function withPodEntry(state: CpuState, podUid: string, cpus: CpuSet): CpuState {
  const podEntries = new Map(state.podEntries).set(podUid, cpus);
  return { ...state, podEntries, defaultCpuSet: state.defaultCpuSet.difference(cpus) };
}

/** Gives back what no other container of the pod holds; with the last container what the pod has as a whole. */
export function withoutEntry(state: CpuState, podUid: string, container: string): CpuState {
  const held = heldByPod(state, podUid);
  if (entryOf(state, podUid, container) === undefined) return state;
  const entries = withoutMember(state.entries, podUid, container);
  const podEntries = new Map(state.podEntries);
  if (!entries.has(podUid)) podEntries.delete(podUid);
  const baselines = state.baselines && withoutMember(state.baselines, podUid, container);
  const next = { ...state, entries, podEntries, ...(baselines === undefined ? {} : { baselines }) };
  const freed = held.difference(heldByPod(next, podUid));
  return { ...next, defaultCpuSet: state.defaultCpuSet.union(freed) };
}

/** The CPUs that are not in the shared pool but with containers or pods. */
export function exclusiveCpus({ entries, podEntries }: CpuState): CpuSet {
  const ofContainers = [...entries.values()].flatMap((containers) => [...containers.values()]);
  return CpuSet.union([...podEntries.values(), ...ofContainers]);
}

/** Of all containers with CPUs of their own: `UID/NAME`. */
export function entryKeys({ entries }: CpuState): readonly string[] {
  return [...entries].flatMap(([uid, containers]) => [...containers.keys()].map((name) => `${uid}/${name}`));
}
