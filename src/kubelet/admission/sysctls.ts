/** Which kernel parameters a pod may set: those that are its own and harm nobody else, or that the node allows. */
import { matchesSysctl, type PodSpec, sysctlNamespace } from '../../kube/index.js';
import type { AdmissionRule } from './admission.js';

/** Safe for every pod, from the kernel version given on. */
const safe: readonly (readonly [string, number, number])[] = [
  ['kernel.shm_rmid_forced', 0, 0],
  ['net.ipv4.ip_local_port_range', 0, 0],
  ['net.ipv4.tcp_syncookies', 0, 0],
  ['net.ipv4.ping_group_range', 0, 0],
  ['net.ipv4.ip_unprivileged_port_start', 0, 0],
  ['net.ipv4.ip_local_reserved_ports', 3, 16],
  ['net.ipv4.tcp_keepalive_time', 4, 5],
  ['net.ipv4.tcp_keepalive_intvl', 4, 5],
  ['net.ipv4.tcp_keepalive_probes', 4, 5],
  ['net.ipv4.tcp_fin_timeout', 4, 6],
  ['net.ipv4.tcp_notsent_lowat', 4, 6],
  ['net.ipv4.tcp_rmem', 4, 15],
  ['net.ipv4.tcp_slow_start_after_idle', 4, 15],
  ['net.ipv4.tcp_wmem', 4, 15],
];

const dotted = (name: string): string => name.replaceAll('/', '.');

/** Throws when the node allows a parameter that no pod can have for itself. */
export function allowedSysctls(unsafe: readonly string[], kernelRelease: string): AdmissionRule {
  const strangers = unsafe.filter((pattern) => sysctlNamespace(dotted(pattern)) === undefined);
  if (strangers.length > 0) {
    throw new Error(
      `the sysctls ${strangers.map((name) => `"${name}"`).join(', ')} are not known to be namespaced`,
    );
  }
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  const patterns = [
    ...safe
      .filter(([, wantMajor, wantMinor]) => major > wantMajor || (major === wantMajor && minor >= wantMinor))
      .map(([name]) => name),
    ...unsafe.map(dotted),
  ];
  return {
    name: 'sysctls',
    admit({ pod }) {
      for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
        const problem = refusal(dotted(name), patterns, pod.spec);
        if (problem !== undefined)
          return {
            admit: false,
            reason: 'SysctlForbidden',
            message: `forbidden sysctl: "${name}" ${problem}`,
          };
      }
      return { admit: true };
    },
  };
}

function refusal(name: string, patterns: readonly string[], spec: PodSpec): string | undefined {
  if (!patterns.some((pattern) => matchesSysctl(pattern, name))) return 'not allowlisted';
  const namespace = sysctlNamespace(name);
  if (namespace === 'ipc' && spec.hostIPC === true) return 'not allowed with host IPC enabled';
  if (namespace === 'net' && spec.hostNetwork === true) return 'not allowed with host Net enabled';
  if (namespace === 'user' && spec.hostUsers !== false) return 'not allowed with host User enabled';
  return undefined;
}
