/** The environments that programs get: each caller says which. */

export type ProgramEnvironment = Readonly<Record<string, string | undefined>>;

/** Where the programs of the system are, also for an agent that was started with a short PATH. */
const systemFolders = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The agent's PATH, then the folders of the system. */
export function programPath(): string {
  const own = process.env.PATH ?? '';
  return own === '' ? systemFolders : `${own}:${systemFolders}`;
}

/** For programs of the system: nothing of the agent's own, and output in the language that is read here. */
export function plainEnvironment(extra: ProgramEnvironment = {}): ProgramEnvironment {
  return { PATH: programPath(), LC_ALL: 'C', ...extra };
}

/** For programs that the administrator configures, which may rely on all that the agent was started with. */
export function inheritedEnvironment(extra: ProgramEnvironment = {}): ProgramEnvironment {
  return { ...process.env, ...extra };
}
