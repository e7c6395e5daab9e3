/** Names of kernel parameters, and the namespace that each belongs to, so that a pod may have its own. */

export type SysctlNamespace = 'ipc' | 'net' | 'user' | 'uts';

/** A trailing star stands for any rest. */
const namespaced: readonly (readonly [string, SysctlNamespace])[] = [
  ['kernel.sem', 'ipc'],
  ['kernel.shm*', 'ipc'],
  ['kernel.msg*', 'ipc'],
  ['fs.mqueue.*', 'ipc'],
  ['net.*', 'net'],
  ['user.*', 'user'],
  ['kernel.domainname', 'uts'],
];

export function matchesSysctl(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Of a name in its dotted form; undefined for a parameter of the whole machine. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  return namespaced.find(([pattern]) => matchesSysctl(pattern, name))?.[1];
}

/**
 * `net/ipv4/conf/eth0.1/forwarding` and `net.ipv4.conf.eth0/1.forwarding` are the same sysctl; returns the
 * second form.
 */
export function normalizeSysctl(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  if (separator !== '/') return name;
  return name.replace(/[./]/g, (character) => (character === '/' ? '.' : '/'));
}
