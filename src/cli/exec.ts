/** `nodelet exec`: runs a command in a container, with input, terminal and exit code. */

import { ReadStream, WriteStream } from 'node:tty';
import { bool, type FlagValues, string } from '../flags/index.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { connectTo } from './client/connection.js';
import { chooseContainer, choosePod, listPods, podPath } from './client/pods.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { openRawTerminal, type RawTerminal } from './exec-terminal.js';

const flags = {
  stdin: { type: bool, shorthand: 'i', about: 'pass standard input to the command' },
  tty: { type: bool, shorthand: 't', about: 'give the command a terminal' },
  container: {
    type: string,
    shorthand: 'c',
    valueName: 'NAME',
    about: "the container (default: the pod's first)",
  },
  quiet: { type: bool, shorthand: 'q', about: 'print only the output of the command' },
  ...namespaceFlag,
  ...runFlags,
} as const;

export const execSpec: CommandSpec<typeof flags> = {
  name: 'exec',
  about: 'Runs a command in a container of a pod and exits with its exit code.',
  synopsis: ['[-it] POD [-c CONTAINER] [flags] -- COMMAND [ARGUMENT…]'],
  flags,
  examples: [
    ['nodelet exec web -- ls -l', 'run a command in the first container'],
    ['nodelet exec -it web -c app -- sh', 'open a shell'],
    ['echo hi | nodelet exec -i web -- cat', 'pipe input to a command'],
  ],
};

export function runExec(argv: readonly string[]): Promise<number> {
  return runCommand(execSpec, argv, async ({ values, positionals, rest }) => {
    const { podName, command } = execRequest(positionals, rest);
    const connection = await connectTo(values);
    const pod = choosePod(await listPods(connection), { name: podName, namespace: values.namespace });
    const { name: container, note } = chooseContainer(pod, values.container);
    if (note !== undefined && !values.quiet) process.stderr.write(`${note}\n`);
    const tty = wantsTerminal(values);
    const path = `${podPath('exec', pod, container)}?${execQuery(command, values.stdin, tty)}`;
    const { remoteCommand } = await import('../streaming/index.js');
    const { stdin, stdout, stderr } = process;
    let terminal: RawTerminal | undefined;
    try {
      terminal =
        tty && stdin instanceof ReadStream && stdout instanceof WriteStream
          ? openRawTerminal(stdin, stdout)
          : undefined;
      const { exitCode } = await remoteCommand({
        target: { socketPath: connection.socketPath, path },
        ...(values.stdin ? { stdin } : {}),
        stdout,
        ...(tty ? {} : { stderr }),
        tty,
        ...(terminal === undefined ? {} : { resize: terminal.sizes }),
      });
      terminal?.restore();
      if (exitCode !== 0 && !values.quiet) stderr.write(`command terminated with exit code ${exitCode}\n`);
      return exitCode;
    } catch (error) {
      terminal?.restore();
      throw refusal(error);
    } finally {
      // An open standard input would keep this process alive.
      if (values.stdin) stdin.destroy();
    }
  });
}

export function execRequest(
  positionals: readonly string[],
  rest: readonly string[] | undefined,
): { readonly podName: string; readonly command: readonly string[] } {
  const [podName, ...extra] = positionals;
  if (podName === undefined) throw new UsageError('name a pod: nodelet exec POD -- COMMAND');
  if (extra.length > 0)
    throw new UsageError(
      `put -- before the command: nodelet exec ${podName} -- ${[...extra, ...(rest ?? [])].join(' ')}`,
    );
  if (rest === undefined || rest.length === 0)
    throw new UsageError(
      `you must specify at least one command for the container: nodelet exec ${podName} -- COMMAND`,
    );
  return { podName, command: rest };
}

export function execQuery(command: readonly string[], stdin: boolean, tty: boolean): string {
  const query = new URLSearchParams();
  for (const word of command) query.append('command', word);
  if (stdin) query.set('input', '1');
  query.set('output', '1');
  if (tty) query.set('tty', '1');
  else query.set('error', '1');
  return query.toString();
}

/** The command gets a terminal only if standard input is one. */
function wantsTerminal({ tty, stdin }: Pick<FlagValues<typeof flags>, 'tty' | 'stdin'>): boolean {
  if (!tty) return false;
  if (stdin && process.stdin.isTTY) return true;
  const why = stdin ? 'input is not a terminal or the right kind of file' : 'it needs standard input: add -i';
  process.stderr.write(`Unable to use a TTY - ${why}\n`);
  return false;
}

/** Shows the body of the server's response instead of the error about the failed upgrade. */
function refusal(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('statusCode' in error && 'body' in error)
    return new CommandFailure(String(error.body).trim() || error.message, { cause: error });
  return error;
}
