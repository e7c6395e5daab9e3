/** `nodelet hollow`: many simulated nodes in one process, and the commands that change them while they run. */
import { errorText } from '../../async/error-text.js';
import { commandHelp } from '../client/command.js';
import { CommandFailure, UsageError } from '../client/usage-error.js';
import { hollowSpec, parseHollowArguments } from './options.js';

const controls = ['ps', 'add', 'remove', 'kill', 'cut', 'restore'] as const;

export async function runHollow(argv: readonly string[]): Promise<number> {
  const control = controls.find((name) => name === argv[0]);
  try {
    if (control !== undefined)
      return await (await import('./control.js')).runHollowControl(control, argv.slice(1));
    const options = parseHollowArguments(argv);
    if (options === 'help') {
      process.stdout.write(commandHelp(hollowSpec));
      return 0;
    }
    return await (await import('./run.js')).runFleet(options);
  } catch (error) {
    const name = control === undefined ? 'hollow' : `hollow ${control}`;
    const isExpected = error instanceof UsageError || error instanceof CommandFailure;
    const text =
      isExpected || process.env.NODELET_DEBUG === undefined || !(error instanceof Error)
        ? errorText(error)
        : (error.stack ?? error.message);
    process.stderr.write(`nodelet ${name}: ${text}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write("Run 'nodelet hollow --help' for usage.\n");
    return 2;
  }
}

export type HollowControlName = (typeof controls)[number];
