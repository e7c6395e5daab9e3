/** Which dead containers and sandboxes to remove. */

export interface DeadContainer {
  readonly id: string;
  readonly name: string;
  readonly podUid: string;
  readonly createdAtNs: bigint;
  readonly isUnknown: boolean;
}

export interface ContainerGcPolicy {
  readonly minAgeMs: number;
  /** Dead instances kept of each container; negative: no limit. */
  readonly maxPerContainer: number;
  /** Dead containers kept in all; negative: no limit. */
  readonly maxTotal: number;
}

export interface ContainerGcInput {
  /** Containers that do not run and are old enough. */
  readonly dead: readonly DeadContainer[];
  readonly policy: ContainerGcPolicy;
  /** Without all sources, a pod that is missing may still be configured. */
  readonly allSourcesReady: boolean;
  readonly isPodGone: (uid: string) => boolean;
}

/** In the order in which to remove them, the oldest of a group first. */
export function containersToRemove({
  dead,
  policy,
  allSourcesReady,
  isPodGone,
}: ContainerGcInput): DeadContainer[] {
  const remove: DeadContainer[] = [];
  let groups = [...groupBy(dead, ({ podUid, name }) => `${podUid}/${name}`).values()].map((group) =>
    [...group].sort(newestFirst),
  );
  if (allSourcesReady) {
    const gone = (group: readonly DeadContainer[]): boolean => isPodGone(group[0]?.podUid ?? '');
    remove.push(...groups.filter(gone).flatMap((group) => [...group].reverse()));
    groups = groups.filter((group) => !gone(group));
  }
  const cut = (keep: number): void => {
    remove.push(...groups.flatMap((group) => group.slice(keep).reverse()));
    groups = groups.map((group) => group.slice(0, keep)).filter((group) => group.length > 0);
  };
  if (policy.maxPerContainer >= 0) cut(policy.maxPerContainer);
  if (policy.maxTotal >= 0 && groups.flat().length > policy.maxTotal) {
    cut(Math.max(1, Math.floor(policy.maxTotal / groups.length)));
    const left = groups.flat().sort(newestFirst);
    remove.push(...left.slice(policy.maxTotal).reverse());
  }
  return remove;
}

export interface DeadSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly createdAtNs: bigint;
  readonly isReady: boolean;
  readonly hasContainers: boolean;
}

/** Sandboxes that ended and own nothing: all of a pod that is gone, all but the newest of others. */
export function sandboxesToRemove(
  sandboxes: readonly DeadSandbox[],
  isPodGone: (uid: string) => boolean,
): DeadSandbox[] {
  const remove: DeadSandbox[] = [];
  for (const [uid, ofPod] of groupBy(sandboxes, ({ podUid }) => podUid)) {
    const sorted = [...ofPod].sort(newestFirst);
    const candidates = isPodGone(uid) ? sorted : sorted.slice(1);
    remove.push(...candidates.filter(({ isReady, hasContainers }) => !isReady && !hasContainers));
  }
  return remove;
}

export interface ExitedContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly createdAtNs: bigint;
}

/** The dead instances that may go when a container died: the older ones of its name, or all when nothing must stay. */
export function deadToRemoveAfter(
  containers: readonly ExitedContainer[],
  diedId: string | undefined,
  keep: number,
  removeAll: boolean,
): ExitedContainer[] {
  const exited = containers.filter(({ state }) => state === 'exited');
  if (removeAll) return exited;
  const name = containers.find(({ id }) => id === diedId)?.name;
  if (name === undefined) return [];
  return exited
    .filter((container) => container.name === name)
    .sort(newestFirst)
    .slice(Math.max(1, keep));
}

function newestFirst(a: { readonly createdAtNs: bigint }, b: { readonly createdAtNs: bigint }): number {
  return a.createdAtNs === b.createdAtNs ? 0 : a.createdAtNs > b.createdAtNs ? -1 : 1;
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
