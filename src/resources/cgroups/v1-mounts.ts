/** Finds where the controllers of cgroups version 1 are mounted. */

export interface ControllerMount {
  readonly path: string;
  /** Such as `cpu` and `cpuacct`, or `systemd` for the tree of that name. */
  readonly controllers: readonly string[];
}

/** Without these the machine cannot run pods. */
const required = ['cpu', 'cpuacct', 'cpuset', 'memory'];

/**
 * Finds the controllers' mounts; of several, the one with the shortest path. A version 2 tree beside them has
 * no controllers, but runtimes put containers there as well.
 */
export function controllerMounts(mountinfo: string): ControllerMount[] {
  const found = new Map<string, string>();
  let beside: string | undefined;
  for (const line of mountinfo.split('\n')) {
    const [, path, type, options] = /^\S+ \S+ \S+ \S+ (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    if (path === undefined || options === undefined) continue;
    if (type === 'cgroup2') {
      if (beside === undefined || path.length < beside.length) beside = path;
      continue;
    }
    for (const option of options.split(',')) {
      const controller = option.replace(/^name=/, '');
      if (controller === 'rw' || controller === 'ro' || controller === 'xattr') continue;
      const known = found.get(controller);
      if (known === undefined || path.length < known.length) found.set(controller, path);
    }
  }
  const paths = [...new Set(found.values())];
  return [
    ...paths.map((path) => ({
      path,
      controllers: [...found].filter(([, place]) => place === path).map(([controller]) => controller),
    })),
    ...(beside === undefined ? [] : [{ path: beside, controllers: [] }]),
  ];
}

/** Why a machine with these mounts cannot run pods; undefined if it can. */
export function mountProblem(mounts: readonly ControllerMount[]): string | undefined {
  if (mounts.every(({ controllers }) => controllers.length === 0))
    return 'failed to get mounted cgroup subsystems: failed to find cgroup mounts';
  const missing = required.filter((name) => !mounts.some(({ controllers }) => controllers.includes(name)));
  if (missing.length === 0) return undefined;
  return `system validation failed - Following Cgroup subsystem not mounted: [${missing.sort().join(' ')}]`;
}
