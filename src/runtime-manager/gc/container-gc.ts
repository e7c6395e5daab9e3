/** Decides which dead containers and sandboxes to remove. */
import { newestAttemptFirst, newestFirst } from '../../cri/index.js';

export interface DeadContainer {
  readonly id: string;
  readonly name: string;
  readonly podUid: string;
  readonly attempt: number;
  readonly createdAtNs: bigint;
  readonly isUnknown: boolean;
  /** Whether it was created but not started, and is the newest of its name: it may start in a moment. */
  readonly mayStart: boolean;
}

export interface ContainerGcPolicy {
  readonly minAgeMs: number;
  /** Dead instances kept of each container; negative: no limit. */
  readonly maxPerContainer: number;
  /** Dead containers kept in total; negative: no limit. */
  readonly maxTotal: number;
}

export interface ContainerGcInput {
  /** Containers that are not running and are old enough. */
  readonly dead: readonly DeadContainer[];
  readonly policy: ContainerGcPolicy;
  /** Unless all sources are ready, a missing pod may still be desired. */
  readonly allSourcesReady: boolean;
  readonly isPodGone: (uid: string) => boolean;
}

const podIsGone = 'the pod is gone';
const tooManyOfContainer = 'newer instances of the container have ended';
const tooManyInAll = 'more dead containers are left than may stay';

/** A container to remove, and why. */
export interface ContainerRemoval {
  readonly id: string;
  readonly name: string;
  readonly because: string;
}

/** In removal order, the oldest of a group first. */
export function containersToRemove({
  dead,
  policy,
  allSourcesReady,
  isPodGone,
}: ContainerGcInput): (DeadContainer & ContainerRemoval)[] {
  const removals: (DeadContainer & ContainerRemoval)[] = [];
  const remove = (oldestLast: readonly DeadContainer[], because: string): void =>
    void removals.push(...[...oldestLast].reverse().map((container) => ({ ...container, because })));
  let groups = [...groupBy(dead, ({ podUid, name }) => `${podUid}/${name}`).values()].map((group) =>
    [...group].sort(newestAttemptFirst),
  );
  if (allSourcesReady) {
    const gone = (group: readonly DeadContainer[]): boolean => isPodGone(group[0]?.podUid ?? '');
    for (const group of groups.filter(gone)) remove(group, podIsGone);
    groups = groups.filter((group) => !gone(group));
  }
  // A container that may start is not dead: the newest dead instance, the pod's last end, must stay.
  groups = groups
    .map((group) => group.filter(({ mayStart }) => !mayStart))
    .filter((group) => group.length > 0);
  const cut = (keep: number, because: string): void => {
    for (const group of groups) remove(group.slice(keep), because);
    groups = groups.map((group) => group.slice(0, keep)).filter((group) => group.length > 0);
  };
  if (policy.maxPerContainer >= 0) cut(policy.maxPerContainer, tooManyOfContainer);
  if (policy.maxTotal >= 0 && groups.flat().length > policy.maxTotal) {
    cut(Math.max(1, Math.floor(policy.maxTotal / groups.length)), tooManyInAll);
    const left = groups.flat().sort(newestFirst);
    remove(left.slice(policy.maxTotal), tooManyInAll);
  }
  return removals;
}

export interface DeadSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly attempt: number;
  readonly createdAtNs: bigint;
  readonly isReady: boolean;
  readonly hasContainers: boolean;
}

/** Ended sandboxes without containers: all of a deleted pod, all but the newest of the others. */
export function sandboxesToRemove(
  sandboxes: readonly DeadSandbox[],
  isPodGone: (uid: string) => boolean,
): (DeadSandbox & { readonly because: string })[] {
  const remove: (DeadSandbox & { readonly because: string })[] = [];
  for (const [uid, ofPod] of groupBy(sandboxes, ({ podUid }) => podUid)) {
    const sorted = [...ofPod].sort(newestAttemptFirst);
    const isGone = isPodGone(uid);
    const because = isGone ? podIsGone : 'the pod has a newer sandbox';
    for (const sandbox of isGone ? sorted : sorted.slice(1)) {
      if (!sandbox.isReady && !sandbox.hasContainers) remove.push({ ...sandbox, because });
    }
  }
  return remove;
}

export interface ExitedContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly restartCount: number;
  readonly createdAtNs: bigint;
}

/**
 * The dead instances to remove when a container died: older ones of its name, or all when nothing must stay.
 */
export function deadToRemoveAfter(
  containers: readonly ExitedContainer[],
  diedId: string | undefined,
  keep: number,
  removeAll: boolean,
): ContainerRemoval[] {
  const exited = containers.filter(({ state }) => state === 'exited');
  const because =
    (reason: string) =>
    ({ id, name }: ExitedContainer): ContainerRemoval => ({ id, name, because: reason });
  if (removeAll) return exited.map(because("nothing of the pod's containers is needed any more"));
  const name = containers.find(({ id }) => id === diedId)?.name;
  if (name === undefined) return [];
  return exited
    .filter((container) => container.name === name)
    .sort((a, b) => newestAttemptFirst({ ...a, attempt: a.restartCount }, { ...b, attempt: b.restartCount }))
    .slice(Math.max(1, keep))
    .map(because(tooManyOfContainer));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
