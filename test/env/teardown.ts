/** Takes away all that a containerd left on the machine, found by what is its own and by nothing else. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { killCgroup, processesInCgroup, removeCgroup, removeCgroupIfEmpty, thawCgroup } from './cgroups.js';
import { listOwnerDirs } from './directories.js';
import { type ContainerdLayout, layoutsIn, listLayouts } from './layout.js';
import { withLock } from './lock.js';
import { removeTree } from './mounts.js';
import { removeCniResults, removeNetwork, removeSharedNetwork } from './network.js';
import { hasArgument, killProcesses, listProcesses, type ProcessInfo, withDescendants } from './processes.js';
import { shimSocketOf } from './shim-socket.js';
import { ifThere } from './vanishing.js';

/** Where shims listen; the place is fixed in containerd, the names are not guessable. */
const shimSocketDir = '/run/containerd/s';
/** Where CRI puts a pod whose caller names no cgroup. */
const defaultCgroup = '/k8s.io';

interface Task {
  readonly namespace: string;
  readonly id: string;
  readonly cgroup: string | undefined;
  readonly shimSocket: string | undefined;
}

/** The tasks whose bundles are in the state directory, running or not. */
function listTasks(layout: ContainerdLayout): Task[] {
  const bundles = join(layout.state, 'io.containerd.runtime.v2.task');
  return listDirectory(bundles).flatMap((namespace) =>
    listDirectory(join(bundles, namespace)).map((id) => {
      const bundle = join(bundles, namespace, id);
      return { namespace, id, cgroup: cgroupOfBundle(bundle), shimSocket: shimSocketOf(bundle) };
    }),
  );
}

function cgroupOfBundle(bundle: string): string | undefined {
  const spec: unknown = JSON.parse(readText(join(bundle, 'config.json')) || 'null');
  if (typeof spec !== 'object' || spec === null || !('linux' in spec)) {
    return undefined;
  }
  const { linux } = spec;
  if (typeof linux !== 'object' || linux === null || !('cgroupsPath' in linux)) {
    return undefined;
  }
  // A path that is not absolute is in systemd's notation or below a cgroup of somebody else's choice.
  const path = linux.cgroupsPath;
  return typeof path === 'string' && /^\/./.test(path) ? path : undefined;
}

/** containerd itself, its shims, `ctr`s that talk to it, and all that these started. */
export function processesOf(layout: ContainerdLayout): ProcessInfo[] {
  const all = listProcesses();
  const own = all.filter(
    (found) =>
      hasArgument(found, '--config', layout.config) ||
      hasArgument(found, '-address', layout.socket) ||
      hasArgument(found, '--address', layout.socket),
  );
  return withDescendants(own, all).filter(({ pid }) => pid !== process.pid);
}

/** Does to this containerd what a reboot does: nothing runs, nothing is mounted, the state directory is gone. */
export async function endWorkload(layout: ContainerdLayout): Promise<void> {
  const tasks = listTasks(layout);
  const cgroups = [...new Set([layout.cgroupParent, ...tasks.flatMap(({ cgroup }) => cgroup ?? [])])];
  // A shim that dies while it kills all of a container leaves the container frozen.
  await killProcesses([...processesOf(layout), ...cgroups.flatMap(processesInCgroup)], {
    release: () => cgroups.forEach(thawCgroup),
  });
  for (const cgroup of cgroups) {
    await killCgroup(cgroup);
  }
  for (const { shimSocket } of tasks) {
    if (shimSocket !== undefined && dirname(shimSocket) === shimSocketDir) {
      rmSync(shimSocket, { force: true });
    }
  }
  await removeTree(layout.state);
  await removeNetwork(layout);
  for (const cgroup of cgroups) {
    await removeCgroup(cgroup);
  }
}

/** Removes a containerd as if it had never been started. */
export async function removeContainerd(layout: ContainerdLayout): Promise<void> {
  await endWorkload(layout);
  removeCniResults(layout);
  await removeTree(layout.dir);
  await withLock('subnets', async () => {
    if (listLayouts().length === 0) {
      await removeSharedNetwork();
      removeCgroupIfEmpty(defaultCgroup);
    }
  });
}

/** Removes what processes that are dead now left behind; what resists is reported and does not stop the caller. */
export function sweepLeftovers(): Promise<void> {
  return withLock('sweep', async () => {
    for (const { path, alive } of listOwnerDirs()) {
      if (!alive) {
        await removeOwnerDir(path).catch((error: unknown) => {
          process.emitWarning(`cannot remove ${path}, left by a killed test run: ${String(error)}`);
        });
      }
    }
  });
}

async function removeOwnerDir(path: string): Promise<void> {
  for (const layout of layoutsIn(path)) {
    await removeContainerd(layout);
  }
  await removeTree(path);
}

function listDirectory(path: string): string[] {
  return ifThere(() => readdirSync(path)) ?? [];
}

function readText(path: string): string | undefined {
  return ifThere(() => readFileSync(path, 'utf8'));
}
