/** Looks for everything a containerd can leave on a machine, so that a test can hold that nothing is. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupDirectories } from './cgroups.js';
import { runCommand } from './command.js';
import type { ContainerdLayout } from './layout.js';
import { listMounts } from './mounts.js';
import { isRunning, listProcesses, type ProcessInfo } from './processes.js';
import { shimSocketOf } from './shim-socket.js';
import { errorCode, ifThere } from './vanishing.js';

/** What must be noted while the containerd runs, as its names are not in its layout. */
export interface Traces {
  readonly networkNamespaces: readonly string[];
  /** Those in the network namespaces. A namespace that is gone may give its number to another. */
  readonly inhabitants: readonly ProcessInfo[];
  readonly shimSockets: readonly string[];
  readonly processIds: readonly number[];
}

function filesBelow(dir: string, name: RegExp): string[] {
  return existsSync(dir)
    ? readdirSync(dir, { recursive: true, encoding: 'utf8' })
        .filter((path) => name.test(path))
        .map((path) => join(dir, path))
    : [];
}

/** `net:[4026532281]`, as the links in /proc name it. */
function networkNamespaceAt(path: string): string {
  return `net:[${statSync(path).ino}]`;
}

export function noteTraces(layout: ContainerdLayout, processIds: readonly number[]): Traces {
  const bundles = filesBelow(join(layout.state, 'io.containerd.runtime.v2.task'), /^[^/]+\/[^/]+$/);
  const networkNamespaces = filesBelow(join(layout.state, 'io.containerd.grpc.v1.cri', 'netns'), /./).map(
    networkNamespaceAt,
  );
  return {
    networkNamespaces,
    inhabitants: listProcesses().filter(({ pid }) =>
      networkNamespaces.some((namespace) => namespace === networkNamespaceOf(pid)),
    ),
    shimSockets: bundles.map(shimSocketOf).filter((path) => path !== undefined),
    processIds,
  };
}

/** One line for each thing that is still there. */
export async function findTraces(layout: ContainerdLayout, noted: Traces): Promise<string[]> {
  const { stdout: rules } = await runCommand('iptables-save', []);
  const processes = listProcesses();
  return [
    ...(existsSync(layout.dir) ? [`directory ${layout.dir}`] : []),
    ...listMounts()
      .filter(({ mountPoint }) => mountPoint.includes(layout.id))
      .map(({ mountPoint }) => `mount ${mountPoint}`),
    ...processes
      .filter(
        ({ pid, argv }) => noted.processIds.includes(pid) || argv.some((part) => part.includes(layout.dir)),
      )
      .map(({ pid, argv }) => `process ${pid} ${argv.join(' ')}`),
    ...noted.inhabitants.filter(isRunning).map(({ pid }) => `process ${pid} in a network namespace`),
    ...noted.shimSockets.filter((path) => existsSync(path)).map((path) => `socket ${path}`),
    ...(existsSync(`/sys/class/net/${layout.bridge}`) ? [`link ${layout.bridge}`] : []),
    ...rules
      .split('\n')
      .filter((rule) => rule.includes(layout.networkName))
      .map((rule) => `rule ${rule}`),
    ...filesBelow('/var/lib/cni/results', /./)
      .filter((path) => ifThere(() => readFileSync(path, 'utf8'))?.includes(layout.dir))
      .map((path) => `CNI result ${path}`),
    ...cgroupDirectories(layout.cgroupParent).map((path) => `cgroup ${path}`),
  ];
}

/** `undefined` for a process that ended or that we may not look into, which no container's process is. */
function networkNamespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(String(errorCode(error)))) {
      return undefined;
    }
    throw error;
  }
}
