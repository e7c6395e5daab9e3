/** Decides what of an earlier state still holds when the agent starts: all of it, or what still fits. Pure. */
import { CpuSet } from '../../kube/index.js';
import {
  type CpuState,
  emptyCpuState,
  exclusiveCpus,
  heldByPod,
  withEntry,
  withPodEntry,
} from './cpu-state.js';
import { freshDefault, type StaticPolicy } from './static-policy.js';

/** Why the state does not fit the machine or the configuration, in the reference's words; undefined if it does. */
export function stateProblem(policy: StaticPolicy, state: CpuState): string | undefined {
  const { reserved, options } = policy;
  const { defaultCpuSet } = state;
  const expected = freshDefault(policy);
  const known = defaultCpuSet.union(exclusiveCpus(state));
  // Strictly reserved CPUs are not shared, so containers may hold all others.
  const isAllGiven = options.strictReservation && known.equals(expected);
  if (defaultCpuSet.isEmpty && !isAllGiven) return 'default cpuset cannot be empty';
  if (options.strictReservation) {
    const shared = reserved.intersection(defaultCpuSet);
    if (!shared.isEmpty)
      return `some of strictly reserved cpus: "${shared}" are present in defaultCpuSet: "${defaultCpuSet}"`;
  } else if (!reserved.isSubsetOf(defaultCpuSet)) {
    return `not all reserved cpus: "${reserved}" are present in defaultCpuSet: "${defaultCpuSet}"`;
  }
  for (const [pod, containers] of state.entries) {
    for (const [container, cpus] of containers) {
      if (!cpus.intersection(defaultCpuSet).isEmpty)
        return `pod: ${pod}, container: ${container} cpuset: "${cpus}" overlaps with default cpuset "${defaultCpuSet}"`;
    }
  }
  let taken = CpuSet.empty;
  for (const uid of new Set([...state.entries.keys(), ...state.podEntries.keys()])) {
    const held = heldByPod(state, uid);
    const twice = held.intersection(taken);
    if (!twice.isEmpty) return `pod: ${uid} cpuset: "${twice}" belongs to another pod, too`;
    taken = taken.union(held);
  }
  if (known.equals(expected)) return undefined;
  return `current set of available CPUs "${expected}" doesn't match with CPUs in state "${known}"`;
}

/** A container that runs now, with the CPUs that it is bound to as far as the runtime tells. */
export interface RunningCpus {
  readonly podUid: string;
  readonly container: string;
  readonly cpus: CpuSet | undefined;
}

export interface RecoveredCpus {
  readonly state: CpuState;
  /** Containers that keep their CPUs: `POD/CONTAINER (1,5)`. */
  readonly kept: readonly string[];
  /** Those that lose them; each with the reason. */
  readonly lost: readonly string[];
}

/**
 * Keeps what containers of running pods hold, as far as it can be given to them: by the old state, else by what they are
 * bound to. Everything else is free again.
 */
export function recoverCpuState(
  policy: StaticPolicy,
  old: CpuState | undefined,
  running: readonly RunningCpus[],
): RecoveredCpus {
  const allocatable = policy.topology.all.difference(policy.reserved);
  const runs = new Set(running.map(({ podUid }) => podUid));
  let state: CpuState = { ...emptyCpuState, defaultCpuSet: freshDefault(policy) };
  const kept: string[] = [];
  const lost: string[] = [];
  const problemOf = (podUid: string, cpus: CpuSet): string | undefined => {
    if (cpus.isEmpty) return 'it holds none';
    if (!runs.has(podUid)) return 'its pod does not run';
    if (!cpus.isSubsetOf(allocatable)) return `${cpus.difference(allocatable)} cannot be given any more`;
    const others = [...state.entries.keys(), ...state.podEntries.keys()].filter((uid) => uid !== podUid);
    const taken = CpuSet.union(
      others.flatMap((uid) => [
        state.podEntries.get(uid) ?? CpuSet.empty,
        ...(state.entries.get(uid)?.values() ?? []),
      ]),
    ).intersection(cpus);
    return taken.isEmpty ? undefined : `${taken} belong to another pod`;
  };
  for (const [podUid, cpus] of old?.podEntries ?? []) {
    if (problemOf(podUid, cpus) === undefined) state = withPodEntry(state, podUid, cpus);
  }
  for (const { podUid, container, cpus } of old === undefined ? boundAlone(running) : entriesOf(old)) {
    const name = `${podUid}/${container} (${cpus})`;
    const problem = problemOf(podUid, cpus);
    if (problem === undefined) {
      state = withEntry(state, podUid, container, cpus);
      kept.push(name);
    } else lost.push(`${name}: ${problem}`);
  }
  return { state, kept, lost };
}

interface HeldCpus {
  readonly podUid: string;
  readonly container: string;
  readonly cpus: CpuSet;
}

function entriesOf({ entries }: CpuState): readonly HeldCpus[] {
  return [...entries].flatMap(([podUid, containers]) =>
    [...containers].map(([container, cpus]) => ({ podUid, container, cpus })),
  );
}

/** Containers bound to CPUs that no container of another pod is bound to. */
function boundAlone(running: readonly RunningCpus[]): readonly HeldCpus[] {
  // A container that tells nothing may run on every CPU, but is not bound to any.
  const bound = running.flatMap(({ cpus, ...place }) =>
    cpus === undefined || cpus.isEmpty ? [] : [{ ...place, cpus }],
  );
  return bound.filter(
    ({ podUid, cpus }) =>
      !bound.some((other) => other.podUid !== podUid && !other.cpus.intersection(cpus).isEmpty),
  );
}
