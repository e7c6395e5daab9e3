/** What every command that talks to a run has: its description, its help, and the way its failures are told. */

import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/error-text.js';
import { bool, type FlagSpecs, flagHelp, type ParsedFlags, string } from '../../flags/index.js';
import { parseCommandFlags } from './flags.js';
import { CommandFailure, UsageError } from './usage-error.js';

export interface CommandSpec<Specs extends FlagSpecs = FlagSpecs> {
  readonly name: string;
  /** One sentence. */
  readonly about: string;
  /** Behind the name: `POD [CONTAINER] [flags]`. */
  readonly synopsis: readonly string[];
  readonly notes?: string;
  readonly flags: Specs;
  /** Command lines, each with what it does. */
  readonly examples: readonly (readonly [string, string])[];
}

export const runFlags = {
  run: {
    type: string,
    alias: 'name',
    valueName: 'NAME',
    about: 'the run to talk to, if there are several (also --name)',
  },
  socket: { type: string, valueName: 'PATH', about: 'the socket to talk to, instead of the one of a run' },
  help: { type: bool, shorthand: 'h', about: 'show this help' },
} as const satisfies FlagSpecs;

export const namespaceFlag = {
  namespace: { type: string, shorthand: 'n', valueName: 'NAMESPACE', about: "the pod's namespace" },
} as const satisfies FlagSpecs;

export function commandHelp({ name, about, synopsis, notes, flags, examples }: CommandSpec): string {
  const lines = [
    about,
    '',
    'Usage:',
    ...synopsis.map((words) => `  nodelet ${name}${words === '' ? '' : ` ${words}`}`),
    ...(notes === undefined ? [] : ['', notes]),
    '',
    'Flags:',
    ...flagHelp(flags),
    '',
    'Examples:',
    ...examples.flatMap(([line, why]) => [`  # ${why}`, `  ${line}`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Runs a command to its exit code: 0, 1 for a failure, 2 for a command line that is not right. */
export async function runCommand<Specs extends FlagSpecs & typeof runFlags>(
  spec: CommandSpec<Specs>,
  argv: readonly string[],
  run: (parsed: ParsedFlags<Specs>) => Promise<number>,
): Promise<number> {
  endQuietlyWithoutReader();
  try {
    const parsed = parseCommandFlags(argv, spec.flags);
    // Every spec has the flags of a run, so also `help`; the general type cannot show it.
    const { help } = parsed.values as { readonly help: boolean };
    if (help) {
      process.stdout.write(commandHelp(spec));
      return 0;
    }
    return await run(parsed);
  } catch (error) {
    process.stderr.write(`nodelet ${spec.name}: ${failureText(error)}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write(`Run 'nodelet ${spec.name} --help' for usage.\n`);
    return 2;
  }
}

function failureText(error: unknown): string {
  const expected =
    error instanceof UsageError || error instanceof CommandFailure || error instanceof StartFailure;
  if (expected || !(error instanceof Error)) return errorText(error);
  if ('code' in error && error.code === 'ECONNRESET')
    return 'the connection broke off: the run has crashed or was killed. See "nodelet ps" and "nodelet explain POD"';
  return process.env.NODELET_DEBUG === undefined ? error.message : (error.stack ?? error.message);
}

/** `nodelet logs … | head` ends when head does. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // As a program ends that does not handle SIGPIPE.
    process.exit(141);
  });
}
