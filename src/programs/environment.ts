/** The environments of programs; each caller chooses one. */

export type ProgramEnvironment = Readonly<Record<string, string | undefined>>;

/** Where system programs are, even if the agent started with a short PATH. */
const systemDirectories = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The agent's PATH, then the system directories. */
export function programPath(): string {
  const own = process.env.PATH ?? '';
  return own === '' ? systemDirectories : `${own}:${systemDirectories}`;
}

/** For system programs: nothing from the agent's environment, and output in the locale that nodelet parses. */
export function plainEnvironment(extra: ProgramEnvironment = {}): ProgramEnvironment {
  return { PATH: programPath(), LC_ALL: 'C', ...extra };
}

/** For programs the administrator configures, which may rely on the agent's whole environment. */
export function inheritedEnvironment(extra: ProgramEnvironment = {}): ProgramEnvironment {
  return { ...process.env, ...extra };
}
