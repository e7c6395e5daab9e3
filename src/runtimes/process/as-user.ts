/**
 * Starts commands as their container's user. The programs that switch the user run as root: they get nothing
 * of the container's environment, which could make them load code or run commands of the pod (LD_PRELOAD,
 * BASH_ENV).
 */
import { systemClock } from '../../async/clock.js';
import { CommandLine } from '../../programs/command-line.js';
import { runProgram } from '../../programs/run.js';
import { findCommand } from './command-lookup.js';
import { containerIdVariable, type LaunchSpec } from './container-state.js';
import { coversScript, coverWords } from './covers.js';

export type CommandSurroundings = Pick<
  LaunchSpec,
  'env' | 'workingDir' | 'user' | 'covers' | 'noNewPrivileges'
>;

export interface UserCommand {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The user that Node switches to; it then clears all other groups. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Whether the command itself is started, without a wrapper. */
  readonly isDirect: boolean;
}

/** What to start, and as which user. Throws when the machine lacks the tools. */
export function asUser(
  command: { readonly path: string; readonly args: readonly string[] },
  surroundings: CommandSurroundings,
): UserCommand {
  const { env, workingDir, user, covers = [], noNewPrivileges = false } = surroundings;
  if (user === undefined) {
    if (!noNewPrivileges) return { ...command, env, user, isDirect: true };
    // It keeps the agent's user, so its environment gives it no additional power.
    const args = ['--no-new-privs', '--', command.path, ...command.args];
    return { path: toolPath('setpriv'), args, env, user, isDirect: false };
  }
  const { uid, gid, groups = [] } = user;
  if (covers.length === 0 && groups.length === 0 && !noNewPrivileges) {
    return { ...command, env, user: { uid, gid }, isDirect: true };
  }
  const packed = packEnvironment(env);
  const change = [
    toolPath('setpriv'),
    ...privilegeOptions(user, noNewPrivileges),
    ...['--', toolPath('sh'), '-c', unpackScript, 'sh', toolPath('env'), command.path, ...command.args],
  ];
  const [path = '', ...args] =
    covers.length === 0
      ? change
      : [
          ...[toolPath('unshare'), '--mount', '--propagation', 'slave', '--'],
          ...[toolPath('sh'), '-c', coversScript, 'sh', workingDir, ...coverWords(covers), 'run', ...change],
        ];
  return { path, args, env: packed, user: undefined, isDirect: false };
}

function privilegeOptions(
  { uid, gid, groups = [] }: NonNullable<LaunchSpec['user']>,
  noNewPrivileges: boolean,
): string[] {
  return [
    ...['--reuid', String(uid), '--regid', String(gid), '--inh-caps=-all'],
    ...(groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')]),
    ...(noNewPrivileges ? ['--no-new-privs'] : []),
  ];
}

const pairVariable = 'NODELET_ENV_';
const wordVariable = 'NODELET_WORD_';
/** Names that a shell uses itself, or rejects. */
const shellName =
  /^(IFS|PPID|UID|EUID|GROUPS|PWD|OLDPWD|SHLVL|_|OPT\w*|LINENO|SHELLOPTS|BASH\w*|nodelet_\w*|NODELET_(ENV|WORD)\w*)$/;
const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The environment under names that no program knows. Only the variable that identifies the container's
 * processes keeps its name.
 */
function packEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const packed: Record<string, string> = { PATH: searchPath() };
  let pairs = 0;
  let words = 0;
  for (const [name, value] of Object.entries(env)) {
    if (name === containerIdVariable) packed[name] = value;
    else if (plainName.test(name) && !shellName.test(name))
      packed[`${pairVariable}${pairs++}`] = `${name}=${value}`;
    else packed[`${wordVariable}${words++}`] = `${name}=${value}`;
  }
  return packed;
}

/**
 * Runs as the user: `env-program command args…` with the unpacked environment. Variables that a shell cannot
 * hold become arguments of `env`, which others may see until it starts the command, a moment later.
 */
const unpackScript = `nodelet_env=$1
shift
unset PATH
nodelet_at=0
while eval "[ -n \\"\\\${${wordVariable}$nodelet_at+set}\\" ]"; do
  eval "nodelet_pair=\\$${wordVariable}$nodelet_at"
  unset "${wordVariable}$nodelet_at"
  set -- "$nodelet_pair" "$@"
  nodelet_at=$((nodelet_at + 1))
done
[ "$nodelet_at" = 0 ] || set -- "$nodelet_env" -- "$@"
nodelet_at=0
while eval "[ -n \\"\\\${${pairVariable}$nodelet_at+set}\\" ]"; do
  eval "nodelet_pair=\\$${pairVariable}$nodelet_at"
  unset "${pairVariable}$nodelet_at"
  export "$nodelet_pair"
  nodelet_at=$((nodelet_at + 1))
done
exec "$@"`;

const searchPath = (): string =>
  process.env.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function toolPath(name: string): string {
  const lookup = findCommand(name, searchPath(), '/');
  if (!lookup.found) throw new Error(lookup.problem);
  return lookup.path;
}

/** What this machine lets the agent do for a container's user. */
export interface UserTools {
  /** Supplemental groups, and no new privileges. */
  readonly privileges: boolean;
  readonly covers: boolean;
}

export async function findUserTools(): Promise<UserTools> {
  if (process.platform !== 'linux') return { privileges: false, covers: false };
  if (process.geteuid?.() !== 0) {
    return { privileges: await works({ noNewPrivileges: true }), covers: false };
  }
  const user = { uid: 1, gid: 1, groups: [1] };
  return {
    privileges: await works({ user, noNewPrivileges: true }),
    covers: await works({ user, covers: [{ directory: '/proc', shows: [] }] }),
  };
}

const tryLimitMs = 10_000;

async function works(how: Omit<CommandSurroundings, 'env' | 'workingDir'>): Promise<boolean> {
  try {
    const command = { path: toolPath('true'), args: [] };
    const { path, args, env } = asUser(command, { ...how, env: {}, workingDir: '/' });
    const limits = { clock: systemClock, limitMs: tryLimitMs, outputLimitBytes: 64 * 1024 };
    const end = await runProgram(CommandLine.given(path, args), { ...limits, env });
    return end.kind === 'exited' && end.exitCode === 0;
  } catch {
    // The tools are missing; without the privileges it fails above.
    return false;
  }
}
