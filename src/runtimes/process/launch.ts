/** Decides what a container runs: command, environment, working directory and user. */
import { type ContainerConfig, CriError, type PodSandboxConfig } from '../../cri/index.js';
import { parseImageName } from '../../kube/index.js';
import { containerLogPath } from '../pod-status.js';
import type { CommandLookup } from './command-lookup.js';
import { containerIdVariable, type LaunchSpec } from './container-state.js';
import { hostPathOf, type MountLink } from './mounts.js';
import type { ContainerAccount } from './users.js';

/** The variable that tells a container where its mounts are. */
export const rootVariable = 'NODELET_ROOT';

export interface LaunchInputs {
  readonly containerId: string;
  readonly config: ContainerConfig;
  readonly sandboxConfig: PodSandboxConfig;
  readonly mounts: readonly MountLink[];
  readonly account: ContainerAccount;
  readonly noNewPrivileges?: boolean;
  /** The private root. */
  readonly root: string;
  /** The agent's own search path, for containers without one. */
  readonly hostSearchPath: string;
  readonly hostName: string;
  readonly findCommand: (command: string, searchPath: string, workingDir: string) => CommandLookup;
}

/** Throws InvalidArgument when there is nothing to run. */
export function planLaunch(inputs: LaunchInputs): LaunchSpec {
  const { containerId, config, sandboxConfig, account } = inputs;
  const env = environment(inputs);
  const workingDir = workingDirectory(inputs);
  return {
    containerId,
    argv: [...command(inputs, env.PATH ?? '', workingDir), ...config.args],
    env,
    workingDir,
    ...(account.change ? { user: { uid: account.uid, gid: account.gid, groups: account.groups } } : {}),
    ...(inputs.noNewPrivileges ? { noNewPrivileges: true } : {}),
    logPath: containerLogPath(sandboxConfig.logDirectory, config.logPath),
    ...(config.stdin ? { stdin: config.stdinOnce ? ('once' as const) : ('kept' as const) } : {}),
    ...(config.tty ? { tty: true } : {}),
  };
}

/** Takes nothing but the search path from the agent's own environment. */
function environment(inputs: LaunchInputs): Record<string, string> {
  const { containerId, config, sandboxConfig, account, root, hostSearchPath, hostName } = inputs;
  const own = config.envs.map(({ key, value }) => [key, Buffer.from(value).toString('utf8')] as const);
  return {
    PATH: hostSearchPath,
    HOME: account.home,
    HOSTNAME: sandboxConfig.hostname || hostName,
    ...Object.fromEntries(own),
    [rootVariable]: root,
    [containerIdVariable]: containerId,
  };
}

/** Defaults to the private root, where a container may leave files until it is removed. */
function workingDirectory({ config, mounts, root }: LaunchInputs): string {
  return config.workingDir === '' ? root : hostPathOf(config.workingDir, mounts, root);
}

/** An image is only a name here; without a command in the pod, that name must be a host command. */
function command(inputs: LaunchInputs, searchPath: string, workingDir: string): string[] {
  const { config, mounts, root, findCommand } = inputs;
  const [first, ...rest] = config.command;
  if (first !== undefined) return [first.startsWith('/') ? hostPathOf(first, mounts, root) : first, ...rest];
  const image = config.image?.userSpecifiedImage || config.image?.image || '';
  const repository = parseImageName(image)?.repository ?? '';
  const name = repository.slice(repository.lastIndexOf('/') + 1);
  if (name !== '' && findCommand(name, searchPath, workingDir).found) return [name];
  throw new CriError(
    'InvalidArgument',
    `container "${config.metadata?.name ?? ''}" has no command, and image "${image}" names none: there is no ` +
      `"${name}" on the PATH of this machine. The process runtime runs host commands and no images: ` +
      'set "command:" in the pod, or use a container runtime such as containerd',
  );
}
