/** Collects the facts of the machine that a launch depends on. */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type ContainerConfig, CriError } from '../../cri/index.js';
import { findUserTools, type UserTools } from './as-user.js';
import { findCommand } from './command-lookup.js';
import { isFileError } from './container-files.js';
import type { LaunchSpec } from './container-state.js';
import type { Cover } from './covers.js';
import { findCovers } from './find-covers.js';
import { planLaunch } from './launch.js';
import { type MountLink, planMounts } from './mounts.js';
import type { ProcessSandbox } from './records.js';
import {
  type AgentAccount,
  type ContainerAccount,
  chooseAccount,
  type PasswdEntry,
  parsePasswd,
} from './users.js';

export interface PlannedLaunch {
  readonly launch: LaunchSpec;
  readonly mounts: readonly MountLink[];
  readonly account: ContainerAccount;
}

export interface LaunchWish {
  readonly id: string;
  readonly config: ContainerConfig;
  readonly sandbox: ProcessSandbox;
  readonly root: string;
}

export class LaunchPlanner {
  readonly #agent: AgentAccount;
  #tools: Promise<UserTools> | undefined;

  constructor(agent: AgentAccount) {
    this.#agent = agent;
  }

  /** Throws InvalidArgument when the container cannot run as requested. */
  async plan({ id, config, sandbox, root }: LaunchWish): Promise<PlannedLaunch> {
    const mounts = planMounts(config.mounts);
    const account = chooseAccount(config.linux?.securityContext, this.#agent, await readUsers());
    if (typeof account === 'string') {
      throw new CriError('InvalidArgument', `container "${config.metadata?.name ?? ''}": ${account}`);
    }
    const wantsNoNewPrivileges = config.linux?.securityContext?.noNewPrivs === true;
    if (account.groups.length > 0 && !(await this.#findTools()).privileges) {
      throw new CriError(
        'InvalidArgument',
        `container "${config.metadata?.name ?? ''}": its groups ${account.groups.join(', ')} cannot be set: ` +
          'install setpriv (package util-linux), or remove fsGroup and supplementalGroups from the pod',
      );
    }
    const launch = planLaunch({
      containerId: id,
      config,
      sandboxConfig: sandbox.config,
      mounts,
      account,
      // Where it is unavailable, as on macOS, only the user's own permissions confine a container.
      noNewPrivileges: wantsNoNewPrivileges && (await this.#findTools()).privileges,
      root,
      hostSearchPath: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
      hostName: hostname(),
      findCommand,
    });
    const covers = await this.#covers(account, [root, ...mounts.map(({ hostPath }) => hostPath)]);
    return { launch: covers.length === 0 ? launch : { ...launch, covers }, mounts, account };
  }

  #findTools(): Promise<UserTools> {
    this.#tools ??= findUserTools();
    return this.#tools;
  }

  async #covers(account: ContainerAccount, paths: readonly string[]): Promise<Cover[]> {
    if (!account.change) return [];
    const covers = await findCovers(paths, account);
    if (covers.length === 0) return [];
    return (await this.#findTools()).covers ? covers : [];
  }
}

/** Read every time: users come and go while the agent runs. */
async function readUsers(): Promise<PasswdEntry[]> {
  try {
    return parsePasswd(await readFile('/etc/passwd', 'utf8'));
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return [];
    throw error;
  }
}
