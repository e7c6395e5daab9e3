/** Decides whether memory limits can be lowered: a limit below current usage would get the container killed. */

/** A memory limit in bytes before and after; 0 or less means none. */
export interface LimitChange {
  readonly from: number;
  readonly to: number;
}

/** A change of a limit of something that uses memory. */
export interface UsedLimitChange extends LimitChange {
  /** Undefined when nothing reports it. */
  readonly usageBytes: number | undefined;
}

export interface MemoryDecrease {
  /** Absent when the limit of the pod's cgroup stays or grows. */
  readonly pod?: UsedLimitChange | undefined;
  readonly containers: readonly (UsedLimitChange & { readonly name: string })[];
}

/** The first limit of a pod's cgroup does not count: without a limit (-1), nothing falls. */
export function isPodDecrease({ from, to }: LimitChange): boolean {
  return from > 0 && to > 0 && to < from;
}

/** The first limit of a container counts: it had all memory before. */
export function isContainerDecrease({ from, to }: LimitChange): boolean {
  return to > 0 && (from <= 0 || to < from);
}

/** Why the limits cannot be lowered; undefined when they can. */
export function memoryProblem({ pod, containers }: MemoryDecrease): string | undefined {
  const problems = new Set<string>();
  if (pod !== undefined && isPodDecrease(pod)) {
    const { to, usageBytes } = pod;
    if (usageBytes === undefined) problems.add('missing pod memory usage');
    else if (usageBytes >= to) problems.add(below('pod', to, usageBytes));
  }
  for (const { name, usageBytes, ...limit } of containers) {
    if (!isContainerDecrease(limit)) continue;
    if (usageBytes === undefined) problems.add(`missing container "${name}" memory usage`);
    else if (usageBytes >= limit.to) problems.add(below(`container "${name}"`, limit.to, usageBytes));
  }
  if (problems.size === 0) return undefined;
  const text = [...problems].join(', ');
  return `cannot decrease memory limits: ${problems.size === 1 ? text : `[${text}]`}`;
}

function below(what: string, limitBytes: number, usageBytes: number): string {
  return `attempting to set ${what} memory limit (${limitBytes}) below current usage (${usageBytes})`;
}
