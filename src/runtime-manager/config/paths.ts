/** Where a pod's files are on the node. */
import { join } from 'node:path';
import type { Pod } from '../../kube/index.js';

/** `<podLogsDir>/<namespace>_<name>_<uid>` */
export function podLogDirectory(podLogsDir: string, pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return join(podLogsDir, segment(`${namespace}_${name}_${uid}`));
}

/** `<container>/<restartCount>.log`, below the log directory of the pod. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return `${containerName}/${restartCount}.log`;
}

export function containerLogDirectory(podLogsDir: string, pod: Pod, containerName: string): string {
  return join(podLogDirectory(podLogsDir, pod), segment(containerName));
}

/** `<rootDir>/pods/<uid>` */
export function podDirectory(rootDir: string, pod: Pod): string {
  return join(rootDir, 'pods', segment(pod.metadata.uid));
}

export function podHostsPath(rootDir: string, pod: Pod): string {
  return join(podDirectory(rootDir, pod), 'etc-hosts');
}

/** The directory of a container's termination messages. */
export function containerDirectory(rootDir: string, pod: Pod, containerName: string): string {
  return join(podDirectory(rootDir, pod), 'containers', segment(containerName));
}

/** Names are validated earlier; a mistake there must not become a write elsewhere on the node. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw new Error(`"${name}" cannot be the name of a directory of a pod`);
  }
  return name;
}
