/** Looks at the machine for what decides which container runtime pods are run on. */
import { access, constants, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { CriError, connectCri, isUnimplemented, PodSandboxState } from '../cri/index.js';
import { runLabel } from './run/own-pods.js';
import type { RuntimeCandidates, RuntimeSocket, SocketState, WantedRuntime } from './runtime-choice.js';

const usualSockets = [
  { name: 'containerd', path: '/run/containerd/containerd.sock' },
  { name: 'CRI-O', path: '/run/crio/crio.sock' },
];
/** Of a private containerd; `ctr` puts images into it. */
const programs = ['containerd', 'runc', 'ctr'];
/** Where packages put CNI plugins. */
export const networkPluginDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];
const neededPlugins = ['bridge', 'host-local', 'loopback', 'portmap'];
const answerTimeoutMs = 2_000;
/** What root's programs need, which a shell of another user may not have. */
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
    sockets: needsSockets ? await Promise.all(usualSockets.map(lookAtSocket)) : [],
    missingPrograms: programs.filter((_, index) => found[index] === undefined),
    missingNetworkPackages: await missingNetworkPackages(),
  };
}

/** The folder that has all plugins of a bridged pod network. */
export async function findNetworkPlugins(): Promise<string | undefined> {
  for (const dir of networkPluginDirs) {
    const names = await readdir(dir).catch((): string[] => []);
    if (neededPlugins.every((plugin) => names.includes(plugin))) return dir;
  }
  return undefined;
}

async function missingNetworkPackages(): Promise<string[]> {
  const plugins = await findNetworkPlugins();
  // The plugins call it to let pods reach beyond the machine.
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
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

async function lookAtSocket({ name, path: socket }: { name: string; path: string }): Promise<RuntimeSocket> {
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
  const client = connectCri({ endpoint: `unix://${socket}`, requestTimeoutMs: answerTimeoutMs });
  try {
    await client.version({}, { timeoutMs: answerTimeoutMs });
    const { items } = await client.listPodSandbox({}, { timeoutMs: answerTimeoutMs });
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
