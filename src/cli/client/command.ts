/** What client commands share: the description, the help and the reporting of failures. */

import { StartFailure } from '../../agent/index.js';
import { errorText } from '../../async/error-text.js';
import { bool, type FlagSpecs, flagHelp, type ParsedFlags, string } from '../../flags/index.js';
import { parseCommandFlags } from './flags.js';
import { CommandFailure, UsageError } from './usage-error.js';

export interface CommandSpec<Specs extends FlagSpecs = FlagSpecs> {
  readonly name: string;
  /** One sentence. */
  readonly about: string;
  /** What follows the name: `POD [CONTAINER] [flags]`. */
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
    about: 'the run to use, if there are several (also --name)',
  },
  socket: { type: string, valueName: 'PATH', about: 'the socket to use instead of the socket of a run' },
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

/** Runs a command and returns its exit code: 0, 1 for a failure, 2 for a wrong command line. */
export async function runCommand<Specs extends FlagSpecs & Pick<typeof runFlags, 'help'>>(
  spec: CommandSpec<Specs>,
  argv: readonly string[],
  run: (parsed: ParsedFlags<Specs>) => Promise<number>,
): Promise<number> {
  exitOnClosedOutput();
  try {
    const parsed = parseCommandFlags(argv, spec.flags);
    // Specs has `help`; TypeScript cannot derive that for a generic type.
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
    return 'lost the connection: the run crashed or was killed. See "nodelet ps" and "nodelet explain POD"';
  return process.env.NODELET_DEBUG === undefined ? error.message : (error.stack ?? error.message);
}

/** `nodelet logs … | head` exits when head exits. */
function exitOnClosedOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // The exit code of a program that SIGPIPE killed.
    process.exit(141);
  });
}
