/** Makes all cluster addresses addresses of this machine, by one route, so that the proxy can listen at them. */
import { type Clock, isCancelled } from '../../async/index.js';
import {
  addressRange,
  CommandLine,
  checkedWord,
  endText,
  type ProgramEnd,
  plainEnvironment,
  runProgram,
} from '../../programs/index.js';
import type { Ipv4Range } from '../addresses/ipv4-range.js';
import { routeConflict } from './route-plan.js';

export type RunRouteCommand = (command: CommandLine, signal?: AbortSignal) => Promise<ProgramEnd>;

export interface LocalRouteOptions {
  readonly range: Ipv4Range;
  readonly run: RunRouteCommand;
}

const commandLimitMs = 10_000;
const outputLimitBytes = 1 << 20;

export function routeCommands(clock: Clock): RunRouteCommand {
  return (command, signal) =>
    runProgram(command, {
      clock,
      limitMs: commandLimitMs,
      signal,
      env: plainEnvironment(),
      outputLimitBytes,
    });
}

export class LocalRoute {
  readonly #options: LocalRouteOptions;
  #isOurs = false;

  constructor(options: LocalRouteOptions) {
    this.#options = options;
  }

  /** Sets the route, also over one that a killed process left; the sentence says why it cannot. */
  async ensure(signal: AbortSignal): Promise<string | undefined> {
    const { range, run } = this.#options;
    try {
      const ip = CommandLine.of('ip').literal('-4', 'route');
      const shown = await run(ip.literal('show', 'table', 'main'), signal);
      const listProblem = problemOf('ip route show', shown);
      if (listProblem !== undefined) return listProblem;
      const conflict = routeConflict(range, shown.stdout);
      if (conflict !== undefined) return conflict;
      const word = checkedWord(addressRange, 'the range of cluster addresses', range.text);
      const command = ip.literal('replace').optionWord('local', word).literal('dev', 'lo');
      // Also when it is cancelled under way: the program may have done it.
      const wasOurs = this.#isOurs;
      this.#isOurs = true;
      const problem = problemOf(String(command), await run(command, signal));
      this.#isOurs = wasOurs || problem === undefined;
      return problem;
    } catch (error) {
      if (isCancelled(error)) throw error;
      return `the program ip cannot be run: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Removes the route if this process has set it. */
  async remove(): Promise<string | undefined> {
    if (!this.#isOurs) return undefined;
    this.#isOurs = false;
    const { range, run } = this.#options;
    const word = checkedWord(addressRange, 'the range of cluster addresses', range.text);
    const command = CommandLine.of('ip')
      .literal('-4', 'route', 'del')
      .optionWord('local', word)
      .literal('dev', 'lo');
    const end = await run(command);
    // Somebody was faster.
    if (end.kind === 'exited' && end.stderr.includes('No such process')) return undefined;
    return problemOf(String(command), end);
  }
}

function problemOf(command: string, end: ProgramEnd): string | undefined {
  if (end.kind === 'exited' && end.exitCode === 0) return undefined;
  const said = end.stderr.trim().slice(0, 300);
  return `${command}: ${endText(end)}${said === '' ? '' : `: ${said}`}`;
}
