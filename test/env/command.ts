/** Runs programs for tests, which say their arguments as they like. */
import { CommandLine } from '../../src/programs/index.js';
import {
  type CommandOptions,
  type CommandResult,
  runCommand as run,
  systemEnvironment,
} from '../../src/runtimes/containerd/command.js';

export {
  CommandError,
  type CommandOptions,
  type CommandResult,
  lastLines,
  systemEnvironment,
} from '../../src/runtimes/containerd/command.js';

export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return run(CommandLine.given(file, args), { ...options, env: systemEnvironment(options.env) });
}
