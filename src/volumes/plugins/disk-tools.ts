/** Prepares a disk for mounting with the system's tools. */
import type { Clock } from '../../async/index.js';
import { type CommandLine, endText, plainEnvironment, runProgram } from '../../programs/index.js';
import { checkProblem, diskFormat, diskStep, probeCommand, type ToolOutcome } from './disk-format.js';

/** Runs a tool to its end; rejects only if it cannot be run at all. */
export type RunTool = (command: CommandLine, signal: AbortSignal) => Promise<ToolOutcome>;

export interface Disk {
  readonly device: string;
  readonly fsType: string;
  readonly readOnly: boolean;
}

export async function prepareDisk(run: RunTool, disk: Disk, signal: AbortSignal): Promise<void> {
  const { device, fsType } = disk;
  const probe = await run(probeCommand(device), signal);
  const step = diskStep(device, diskFormat(probe, device), disk);
  switch (step.kind) {
    case 'nothing':
      return;
    case 'check': {
      const problem = checkProblem(await run(step.command, signal), device);
      if (problem !== undefined) throw new Error(problem);
      return;
    }
    case 'format': {
      const { exitCode, output } = await run(step.command, signal);
      if (exitCode !== 0) {
        throw new Error(
          `cannot format ${device} as ${fsType}: ${step.command.program} ended with ${exitCode}: ${output.trim()}`,
        );
      }
    }
  }
}

const outputLimitBytes = 1024 * 1024;
/** Checking a large disk takes hours; a caller that no longer wants it aborts. */
const limitMs = 12 * 60 * 60 * 1000;

/** The tools of this machine. */
export function diskTools(clock: Clock): RunTool {
  return async (command, signal) => {
    const env = plainEnvironment();
    const end = await runProgram(command, { clock, limitMs, signal, env, outputLimitBytes });
    if (end.kind === 'exited') return { exitCode: end.exitCode, output: `${end.stdout}${end.stderr}` };
    const hint = end.kind === 'not-started' ? '; is it installed?' : '';
    throw new Error(`cannot run ${command.program}: ${endText(end)}${hint}`);
  };
}
