/** What a node leaves on its machine, counted: mounts, cgroups, network, shims, files. Only what belongs to this soak. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupDirectories } from '../../test/env/cgroups.js';
import { type CommandResult, runCommand, type TestContainerd } from '../../test/env/index.js';
import { mountsBelow } from '../../test/env/mounts.js';
import { hasArgument, listProcesses } from '../../test/env/processes.js';
import { ifThere } from '../../test/env/vanishing.js';
import type { SoakAgent } from '../world/agent.js';

export interface MachineSample {
  /** Below the agent's root directory. */
  readonly mounts: readonly string[];
  /** The cgroups of pods and containers in the first hierarchy, as paths below the soak's own. */
  readonly cgroups: readonly string[];
  /** Ids of the sandboxes that they are for. */
  readonly shims: readonly string[];
  readonly networkNamespaces: number;
  readonly links: number;
  readonly addresses: number;
}

export interface FileSample {
  readonly rootFiles: number;
  readonly rootBytes: number;
  readonly timelineBytes: number;
  readonly logFiles: number;
  readonly logBytes: number;
  readonly logLinks: number;
  /** Names of directories of pods: below the root their UIDs, below the logs `<namespace>_<name>_<uid>`. */
  readonly podDirectories: readonly string[];
  readonly logDirectories: readonly string[];
}

export function sampleMachine(containerd: TestContainerd, agent: SoakAgent): MachineSample {
  const { layout } = containerd;
  const [hierarchy] = cgroupDirectories(containerd.cgroupParent);
  return {
    mounts: mountsBelow(agent.rootDir)
      .map(({ mountPoint }) => mountPoint)
      // The small disk itself.
      .filter((mountPoint) => mountPoint !== agent.rootDir),
    cgroups:
      hierarchy === undefined ? [] : directoriesBelow(hierarchy).map((path) => path.slice(hierarchy.length)),
    shims: shimsOf(layout.socket),
    networkNamespaces: namesIn(join(layout.state, 'io.containerd.grpc.v1.cri', 'netns')).length,
    links: namesIn(`/sys/class/net/${layout.bridge}/brif`).length,
    addresses: namesIn(join(layout.cniDataDir, layout.networkName)).filter((name) => /^\d+\./.test(name))
      .length,
  };
}

function shimsOf(socket: string): string[] {
  return listProcesses()
    .filter((found) => hasArgument(found, '-address', socket))
    .map(({ argv }) => argv[argv.indexOf('-id') + 1] ?? '');
}

/** Rules of the machine's packet filter that name the network of this soak. */
export async function countPacketRules(containerd: TestContainerd): Promise<number> {
  const { stdout }: CommandResult = await runCommand('iptables-save', ['-t', 'nat'], { timeoutMs: 20_000 });
  return stdout.split('\n').filter((line) => line.includes(containerd.layout.networkName)).length;
}

export function sampleFiles(agent: SoakAgent): FileSample {
  const root = filesBelow(agent.rootDir);
  const logs = filesBelow(agent.podLogsDir);
  return {
    rootFiles: root.files,
    rootBytes: root.bytes,
    timelineBytes: filesBelow(join(agent.rootDir, 'timeline')).bytes,
    logFiles: logs.files,
    logBytes: logs.bytes,
    logLinks: namesIn(agent.logLinksDir).length,
    podDirectories: namesIn(join(agent.rootDir, 'pods')),
    logDirectories: namesIn(agent.podLogsDir),
  };
}

function namesIn(dir: string): string[] {
  return ifThere(() => readdirSync(dir)) ?? [];
}

function directoriesBelow(dir: string): string[] {
  const entries = ifThere(() => readdirSync(dir, { withFileTypes: true })) ?? [];
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => [join(dir, entry.name), ...directoriesBelow(join(dir, entry.name))]);
}

/** Files and directories are counted alike; a full disk that was freed counts no more. */
function filesBelow(dir: string): { readonly files: number; readonly bytes: number } {
  let [files, bytes] = [0, 0];
  for (const entry of ifThere(() => readdirSync(dir, { withFileTypes: true })) ?? []) {
    const path = join(dir, entry.name);
    files++;
    if (entry.isDirectory()) {
      const below = filesBelow(path);
      files += below.files;
      bytes += below.bytes;
    } else bytes += ifThere(() => lstatSync(path))?.size ?? 0;
  }
  return { files, bytes };
}
