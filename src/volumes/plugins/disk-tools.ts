/** Brings a disk into a state in which it can be mounted, by the tools of the system. */
import { execFile } from 'node:child_process';
import { Cancelled } from '../../async/index.js';
import { checkProblem, diskFormat, diskStep, type ToolOutcome } from './disk-format.js';

/** Runs a tool to its end; rejects only when it cannot be run at all. */
export type RunTool = (
  tool: string,
  arguments_: readonly string[],
  signal: AbortSignal,
) => Promise<ToolOutcome>;

export interface Disk {
  readonly device: string;
  readonly fsType: string;
  readonly readOnly: boolean;
}

export async function prepareDisk(run: RunTool, disk: Disk, signal: AbortSignal): Promise<void> {
  const { device, fsType } = disk;
  const probe = await run('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device], signal);
  const step = diskStep(device, diskFormat(probe, device), disk);
  switch (step.kind) {
    case 'nothing':
      return;
    case 'check': {
      const problem = checkProblem(await run('fsck', ['-a', device], signal), device);
      if (problem !== undefined) throw new Error(problem);
      return;
    }
    case 'format': {
      const { exitCode, output } = await run(step.tool, step.arguments, signal);
      if (exitCode !== 0) {
        throw new Error(
          `cannot format ${device} as ${fsType}: ${step.tool} ended with ${exitCode}: ${output.trim()}`,
        );
      }
    }
  }
}

const outputLimitBytes = 64 * 1024;

/** The tools of this machine. */
export const runDiskTool: RunTool = (tool, arguments_, signal) =>
  new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
    execFile(tool, [...arguments_], { env, maxBuffer: outputLimitBytes, signal }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error === null) resolve({ exitCode: 0, output });
      else if (signal.aborted) reject(new Cancelled());
      else if (typeof error.code === 'number') resolve({ exitCode: error.code, output });
      else reject(new Error(`cannot run ${tool}: ${error.message}; is it installed?`, { cause: error }));
    });
  });
