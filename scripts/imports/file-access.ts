/** Which files of src/ may use Node's own calls for files where pods can influence what is there. */

/**
 * Directories that deal with files which pods make, write or exchange: volumes, logs, termination messages, statistics. There
 * files are opened, listed, measured and removed by the functions of `src/host`, which follow no link, open nothing but
 * regular files, list in parts and wait for no server.
 */
export const guardedDirectories: readonly string[] = [
  'src/resources/stats/',
  'src/runtime-manager/',
  'src/runtimes/process/',
  'src/server/node-logs/',
  'src/volumes/',
];

const kernel = 'reads files of the kernel (/proc, /sys)';
const runtimeDirectory = "works in the runtime's own directory, which is closed to other users";
const configured = 'reads what the administrator of the node configured';

/** Why a file there needs no guard. */
export const unguardedFiles: ReadonlyMap<string, string> = new Map([
  ['src/resources/stats/kernel-files.ts', kernel],
  [
    'src/runtime-manager/config/pod-files.ts',
    "makes files in the agent's own directories; the hosts file, which pods may write, is opened without links and as a regular file only",
  ],
  ['src/runtime-manager/config/resolver-file.ts', configured],
  ['src/runtime-manager/config/machine-facts.ts', kernel],
  ['src/runtime-manager/images/credentials/load-plugins.ts', configured],
  ['src/runtime-manager/images/credentials/node-credentials.ts', configured],
  ['src/runtime-manager/images/image-collector.ts', "asks for the room on the runtime's own disk"],
  ['src/runtime-manager/userns/subordinate-ids.ts', configured],
  [
    'src/runtime-manager/start/log-symlink.ts',
    'makes a link and looks whether a name is there, without following it',
  ],
  ['src/runtime-manager/logs/watch.ts', 'watches a directory of logs, and opens nothing'],
  ['src/runtimes/process/attach.ts', runtimeDirectory],
  ['src/runtimes/process/command-lookup.ts', 'looks for programs on the search path, and opens nothing'],
  ['src/runtimes/process/container-files.ts', runtimeDirectory],
  ['src/runtimes/process/containers.ts', runtimeDirectory],
  ['src/runtimes/process/identity.ts', kernel],
  ['src/runtimes/process/inherited-files.ts', kernel],
  ['src/runtimes/process/launch-planner.ts', configured],
  ['src/runtimes/process/container-log-writer.ts', 'writes to a descriptor that src/host opened'],
  ['src/runtimes/process/mounts.ts', runtimeDirectory],
  ['src/runtimes/process/state-directory.ts', runtimeDirectory],
  ['src/runtimes/process/stats.ts', kernel],
  ['src/runtimes/process/container-cgroup.ts', kernel],
  ['src/runtimes/process/strays.ts', kernel],
  ['src/runtimes/process/supervision.ts', runtimeDirectory],
  ['src/runtimes/process/supervisor-entry.ts', "looks for the agent's own program"],
  ['src/runtimes/process/supervisor.ts', 'is a process of its own: what it waits for holds up one container'],
  ['src/runtimes/process/terminal.ts', kernel],
]);

const plainModules: ReadonlySet<string> = new Set(['node:fs', 'node:fs/promises', 'fs', 'fs/promises']);

/** Which rule an import breaks; undefined when it is right. */
export function judgeFileAccess(file: string, specifier: string): string | undefined {
  if (!plainModules.has(specifier) || !guardedDirectories.some((dir) => file.startsWith(dir)))
    return undefined;
  // Tests and what sets them up are no pod's business.
  if (/\.test\.ts$|\/test-[^/]*\.ts$/.test(file) || unguardedFiles.has(file)) return undefined;
  return `imports '${specifier}': pods can influence files here, use the functions of src/host (or say in scripts/imports/file-access.ts why they cannot)`;
}
