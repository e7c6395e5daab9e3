/** Inspects the machine for the facts that the choice of a runtime needs. */
import { access, constants, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '../async/index.js';
import { CriError, connectCri, isUnimplemented, PodSandboxState } from '../cri/index.js';
import { isInUserNamespace } from '../host/index.js';
import { CommandLine, plainEnvironment, runProgram } from '../programs/index.js';
import { runLabel } from './run/own-pods.js';
import type { RuntimeCandidates, RuntimeSocket, SocketState, WantedRuntime } from './runtime-choice.js';

const usualSockets = [
  { name: 'containerd', path: '/run/containerd/containerd.sock' },
  { name: 'CRI-O', path: '/run/crio/crio.sock' },
];
/** The programs of a private containerd; `ctr` imports images. */
const programs = ['containerd', 'runc', 'ctr'];
/** Directories where packages install CNI plugins. */
export const networkPluginDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];
const neededPlugins = ['bridge', 'host-local', 'loopback', 'portmap'];
const responseTimeoutMs = 2_000;
/** Directories of system programs, which the PATH of a user may lack. */
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export async function readRuntimeFacts(
  wanted: WantedRuntime,
  endpoint: string | undefined,
): Promise<RuntimeCandidates> {
  const needsSockets = wanted === 'auto' && endpoint === undefined && process.platform === 'linux';
  const found = await Promise.all(programs.map((program) => findProgram(program)));
  return {
    wanted,
    endpoint,
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    missingInUserNamespace: isInUserNamespace() ? await missingInUserNamespace() : [],
    sockets: needsSockets ? await Promise.all(usualSockets.map(inspectSocket)) : [],
    missingPrograms: programs.filter((_, index) => found[index] === undefined),
    missingNetworkPackages: await missingNetworkPackages(),
  };
}

/** What containerd and its network plugins need and root of a user namespace may lack. */
async function missingInUserNamespace(): Promise<string[]> {
  const cgroups =
    (await canWrite('/sys/fs/cgroup/cgroup.procs')) || (await canWrite('/sys/fs/cgroup/memory'));
  return [
    ...(cgroups ? [] : ['a cgroup that it may write']),
    ...((await canSetPacketRules()) ? [] : ['a network namespace of its own']),
  ];
}

/** Where iptables is missing, pods get no network of their own and need no rules. */
async function canSetPacketRules(): Promise<boolean> {
  const end = await runProgram(CommandLine.of('iptables-save').literal('--table', 'nat'), {
    clock: systemClock,
    limitMs: responseTimeoutMs,
    env: plainEnvironment(),
    outputLimitBytes: 1 << 20,
  });
  return end.kind === 'exited' ? end.exitCode === 0 : end.kind === 'not-started';
}

async function canWrite(file: string): Promise<boolean> {
  return await access(file, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Returns the directory with all plugins of a bridged pod network. */
export async function findNetworkPlugins(): Promise<string | undefined> {
  for (const dir of networkPluginDirs) {
    const names = await readdir(dir).catch((): string[] => []);
    if (neededPlugins.every((plugin) => names.includes(plugin))) return dir;
  }
  return undefined;
}

async function missingNetworkPackages(): Promise<string[]> {
  const plugins = await findNetworkPlugins();
  // The plugins call iptables to let pods reach other machines.
  const iptables = await findProgram('iptables');
  return [
    ...(plugins === undefined ? ['containernetworking-plugins'] : []),
    ...(iptables === undefined ? ['iptables'] : []),
  ];
}

async function findProgram(name: string): Promise<string | undefined> {
  for (const dir of `${process.env.PATH ?? ''}:${systemPath}`.split(':')) {
    const file = path.join(dir, name);
    if (!path.isAbsolute(dir)) continue;
    const isExecutable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return file;
  }
  return undefined;
}

async function inspectSocket({ name, path: socket }: { name: string; path: string }): Promise<RuntimeSocket> {
  return { name, path: socket, state: await socketState(socket) };
}

async function socketState(socket: string): Promise<SocketState> {
  try {
    if (!(await stat(socket)).isSocket()) return 'absent';
    await access(socket, constants.R_OK | constants.W_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'EACCES' || code === 'EPERM' ? 'denied' : 'absent';
  }
  const client = connectCri({ endpoint: `unix://${socket}`, requestTimeoutMs: responseTimeoutMs });
  try {
    await client.version({}, { timeoutMs: responseTimeoutMs });
    const { items } = await client.listPodSandbox({}, { timeoutMs: responseTimeoutMs });
    const others = items.some(
      ({ state, labels }) => state === PodSandboxState.SANDBOX_READY && labels[runLabel] === undefined,
    );
    return others ? 'taken' : 'ready';
  } catch (error) {
    if (isUnimplemented(error)) return 'no-cri';
    if (error instanceof CriError) return 'silent';
    throw error;
  } finally {
    client.close();
  }
}
