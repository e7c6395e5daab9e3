/** Reads from `/proc/<pid>/cgroup` which cgroup a process is in. */

/** Throws where the kernel accounts for the process in several cgroups, of which none is the process's own. */
export function ownCgroup(text: string, version: 1 | 2): string {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  if (version === 2) return paths.get('') ?? '/';
  const systemd = paths.get('name=systemd');
  if (systemd !== undefined) return systemd;
  const cpu = paths.get('cpu') ?? '';
  const memory = paths.get('memory') ?? '';
  if (cpu !== memory)
    throw new Error(`cpu and memory cgroup hierarchy not unified.  cpu: ${cpu}, memory: ${memory}`);
  return cpu === '' ? '/' : cpu;
}
