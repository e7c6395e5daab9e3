/** Prepares a disk for mounting with the system's tools. */
import { asError, type Clock } from '../../async/index.js';
import { type CommandLine, endText, plainEnvironment, runProgram } from '../../programs/index.js';
import { FileSystemMismatch } from '../contracts.js';
import {
  checkProblem,
  type DiskFormat,
  type DiskStep,
  diskFormat,
  diskStep,
  probeCommand,
  type ToolOutcome,
} from './disk-format.js';

/** Runs a tool to its end; rejects only if it cannot be run at all. */
export type RunTool = (command: CommandLine, signal: AbortSignal) => Promise<ToolOutcome>;

export interface Disk {
  readonly device: string;
  readonly fsType: string;
  readonly readOnly: boolean;
}

/** What is on the disk is mounted as it is; only a mount that fails tells that it is something else than was asked for. */
export async function prepareAndMount(
  run: RunTool | undefined,
  disk: Disk,
  mount: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const found = run === undefined ? undefined : await prepareDisk(run, disk, signal);
  try {
    await mount();
  } catch (error) {
    if (found === undefined || found.fsType === disk.fsType) throw error;
    throw new FileSystemMismatch(asError(error));
  }
}

/** What was on the disk before; undefined for one that was empty. */
async function prepareDisk(run: RunTool, disk: Disk, signal: AbortSignal): Promise<DiskFormat | undefined> {
  const { device } = disk;
  const found = diskFormat(await run(probeCommand(device), signal), device);
  await takeStep(run, disk, diskStep(device, found, disk), signal);
  return found;
}

async function takeStep(
  run: RunTool,
  { device, fsType }: Disk,
  step: DiskStep,
  signal: AbortSignal,
): Promise<void> {
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
