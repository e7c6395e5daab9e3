/** Gathers from the machine what the decision about a launch needs. */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type ContainerConfig, CriError } from '../../cri/index.js';
import { findCommand } from './command-lookup.js';
import { isFileError } from './container-files.js';
import type { LaunchSpec } from './container-state.js';
import { type Cover, canCover, findCovers } from './covers.js';
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
  #canCover: Promise<boolean> | undefined;

  constructor(agent: AgentAccount) {
    this.#agent = agent;
  }

  /** Fails with InvalidArgument when the container cannot be run as it asks to be. */
  async plan({ id, config, sandbox, root }: LaunchWish): Promise<PlannedLaunch> {
    const mounts = planMounts(config.mounts);
    const account = chooseAccount(config.linux?.securityContext, this.#agent, await readUsers());
    if (typeof account === 'string') {
      throw new CriError('InvalidArgument', `container "${config.metadata?.name ?? ''}": ${account}`);
    }
    const launch = planLaunch({
      containerId: id,
      config,
      sandboxConfig: sandbox.config,
      mounts,
      account,
      root,
      hostSearchPath: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
      hostName: hostname(),
      findCommand,
    });
    const covers = await this.#covers(account, [root, ...mounts.map(({ hostPath }) => hostPath)]);
    return { launch: covers.length === 0 ? launch : { ...launch, covers }, mounts, account };
  }

  async #covers({ uid, gid, change }: ContainerAccount, paths: readonly string[]): Promise<Cover[]> {
    if (!change) return [];
    const covers = await findCovers(paths, { uid, gid });
    if (covers.length === 0) return [];
    this.#canCover ??= canCover();
    return (await this.#canCover) ? covers : [];
  }
}

/** Read anew each time: users come and go while the agent runs. */
async function readUsers(): Promise<PasswdEntry[]> {
  try {
    return parsePasswd(await readFile('/etc/passwd', 'utf8'));
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return [];
    throw error;
  }
}
